"""Ticks take turns: one at a time over any number of processes, whatever dies halfway."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest

from app.coordinator.ticking import (
    BUSY,
    SUPERSEDED,
    Occasion,
    Ticked,
    TickKind,
    Turn,
    last_tick,
    take_turn,
)
from app.store import projects
from app.store.session import Database, Limits
from tests.support.api import Fleet, body_of, fleet_in_process
from tests.support.command import PROGRAM
from tests.support.environment import child_environment
from tests.support.replicas import replicas
from tests.support.ticks import nothing_heard
from tests.support.workflows import Workshop, workshop

TICK_LOCK = 0x7469636B
OCCASION = Occasion(kind=TickKind.WORKFLOWS)


@pytest.fixture
async def fleet(database_url: str) -> AsyncIterator[Fleet]:
    async with fleet_in_process(database_url) as running:
        yield running


@asynccontextmanager
async def connected(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
    finally:
        await connection.close()


async def crowded(fleet: Fleet) -> Workshop:
    """Something for every phase, with more waiting than may start."""
    shop = await workshop(fleet)
    for number in range(3):
        project = await shop.project(f"p{number}")
        await shop.workflow(f"a{number}", project_id=project)
        await shop.workflow(f"b{number}", project_id=project)
    await shop.workflow("uat", status="uat_testing")
    return shop


async def rows(database_url: str) -> dict[str, list[Any]]:
    """Everything that is stored, table by table, but for what calls and heartbeats leave behind."""
    async with connected(database_url) as connection:
        tables = await connection.fetch(
            "select tablename from pg_tables where schemaname = 'public' order by 1"
        )
        return {
            name: await connection.fetch(f"select t::text from {name} t order by 1")  # noqa: S608
            for (name,) in tables
            if name not in {"token", "factory_pulse"}
        }


async def test_ten_concurrent_ticks_equal_one(fleet: Fleet) -> None:
    """C29: dispatched once; the others say at once that another is at it, or find no change."""
    shop = await crowded(fleet)

    reports = await asyncio.gather(*(shop.tick() for _ in range(10)))

    served = [each for each in reports if each["skipped"] is None]
    assert all(each == {"skipped": BUSY} for each in reports if each["skipped"])
    assert served
    assert sum(len(each["phases"]["active"]["started"]) for each in served) == 3
    jobs = await shop.jobs()
    assert len({job["dedupe_key"] for job in jobs}) == len(jobs) == 3
    stored = body_of(await fleet.ops.get("/ticks", params={"kind": "workflows"}))
    assert len(stored["items"]) == len(served)


async def test_ten_concurrent_ticks_over_two_processes_equal_one(
    fleet: Fleet, database_url: str
) -> None:
    shop = await crowded(fleet)
    headers = {"Authorization": f"Bearer {fleet.tokens['cron']}"}
    async with (
        replicas(2, database_url) as urls,
        httpx.AsyncClient(headers=headers, trust_env=False, timeout=60) as cron,
    ):
        answers = await asyncio.gather(
            *(cron.post(f"{urls[n % 2]}/tick/workflows") for n in range(10))
        )
    assert {each.status_code for each in answers} == {200}
    reports = [body_of(each) for each in answers]
    started = [each["phases"]["active"]["started"] for each in reports if each["skipped"] is None]
    assert sum(map(len, started)) == 3
    assert len(await shop.jobs()) == 3


async def test_a_held_lock_is_answered_at_once_and_nobody_waits(
    fleet: Fleet, database_url: str
) -> None:
    """C31 (1): a try-lock; no backend waits with a snapshot that keeps vacuum from its work."""
    shop = await crowded(fleet)
    async with connected(database_url) as holder, connected(database_url) as watcher:
        async with holder.transaction():
            await holder.execute("select pg_advisory_xact_lock($1)", TICK_LOCK)
            answers = await asyncio.gather(*(shop.tick() for _ in range(20)))
            waiting = await watcher.fetch(
                "select pid from pg_stat_activity where wait_event_type = 'Lock'"
                " and datname = current_database()"
            )
        assert answers == [{"skipped": BUSY}] * 20
        assert waiting == []
        before = await fleet.ops.get("/metrics")
        assert 'fleet_tick_last_success{tick="workflows"} 0.0' in before.text
    assert len((await shop.phases())["active"]["started"]) == 3
    after = await fleet.ops.get("/metrics")
    assert 'fleet_tick_last_success{tick="workflows"} 0.0' not in after.text


async def test_ticks_that_fall_leave_no_lock_behind(db: Database) -> None:
    """C27: the lock is its transaction's; with half of the ticks falling midway, none is left."""

    async def fall(_turn: Turn, _news: None) -> Ticked:
        message = "midway"
        raise RuntimeError(message)

    async def stand(_turn: Turn, _news: None) -> Ticked:
        return Ticked()

    occasion = Occasion(kind=TickKind.WORKFLOWS, window="w")
    for _ in range(5):
        with pytest.raises(RuntimeError, match="midway"):
            await take_turn(db, occasion, nothing_heard, fall)
        assert (await take_turn(db, OCCASION, nothing_heard, stand)).skipped is None
        async with db.connection() as conn:
            left = await conn.fetchval("select count(*) from pg_locks where locktype = 'advisory'")
        assert left == 0
    assert (await take_turn(db, occasion, nothing_heard, stand)).skipped is None


async def test_a_window_is_served_once(fleet: Fleet) -> None:
    shop = await crowded(fleet)
    dry = await shop.tick(window="2026-03-01T09:30", dry_run="true")
    first = await shop.tick(window="2026-03-01T09:30")
    again = await shop.tick(window="2026-03-01T09:30")
    assert first == dry
    assert again == {"skipped": "this window was served already"}
    assert (await shop.tick(window="2026-03-01T09:33"))["skipped"] is None
    stored = body_of(await fleet.ops.get("/ticks", params={"limit": "1"}))
    assert stored["items"][0]["window"] == "2026-03-01T09:33"
    rest = await fleet.ops.get("/ticks", params={"cursor": stored["next_cursor"]})
    (older,) = body_of(rest)["items"]
    assert older["report"] == first


async def test_a_dry_run_changes_nothing_and_says_what_a_tick_then_does(
    fleet: Fleet, database_url: str
) -> None:
    shop = await crowded(fleet)
    before = await rows(database_url)
    promised = body_of(await fleet.cron.post("/tick", params={"dry_run": "true"}))
    assert await rows(database_url) == before
    assert promised["leases"] is None
    done = body_of(await fleet.cron.post("/tick"))
    assert done["workflows"] == promised["workflows"]
    assert done["leases"]["expired"] == 0
    assert len(await shop.jobs()) == 3


async def test_a_tick_with_nothing_changed_changes_nothing(fleet: Fleet, database_url: str) -> None:
    shop = await crowded(fleet)
    await shop.phases()
    before = await rows(database_url)
    report = await shop.phases()
    after = await rows(database_url)
    assert report["active"]["started"] == []
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"tick", "tick_epoch"}


async def test_a_tick_whose_lock_was_lost_commits_nothing_beside_its_successor(
    db: Database, database_url: str
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def stands_still(turn: Turn, _news: None) -> Ticked:
        begun.set()
        await go_on.wait()
        await turn.write(lambda conn: projects.by_ids(conn, []))
        return Ticked(report={"by": "the one that was overtaken"})

    async def passes(turn: Turn, _news: None) -> Ticked:
        del turn
        return Ticked(report={"by": "the successor"})

    first = asyncio.create_task(take_turn(db, OCCASION, nothing_heard, stands_still))
    await begun.wait()
    async with connected(database_url) as killer:
        await killer.execute(
            "select pg_terminate_backend(pid) from pg_locks"
            " where locktype = 'advisory' and objid = $1",
            TICK_LOCK,
        )
    other = await Database.open(database_url, Limits(size=2))
    while (second := await take_turn(other, OCCASION, nothing_heard, passes)).skipped is not None:
        assert second.skipped == BUSY
    go_on.set()
    assert (await first).skipped == SUPERSEDED
    kept = await last_tick(db, TickKind.WORKFLOWS)
    assert kept is not None
    assert kept.report["by"] == "the successor"
    await other.close()


async def test_killed_between_submit_and_save_never_starts_a_stage_twice(
    fleet: Fleet, database_url: str
) -> None:
    """Killed with the job submitted and the workflow's row not yet written: both or neither."""
    shop = await workshop(fleet)
    flow = await shop.workflow()
    async with connected(database_url) as holder, connected(database_url) as watcher:
        row = holder.transaction()
        await row.start()
        await holder.execute("select from workflow where id = $1 for update", flow)
        process = await serving(database_url)
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().partition("serves at ")[2].strip()
        headers = {"Authorization": f"Bearer {fleet.tokens['cron']}"}
        async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=60) as cron:
            calling = asyncio.create_task(cron.post(f"{url}/tick/workflows"))
            await until_saving(watcher)
            process.kill()
            await asyncio.gather(calling, return_exceptions=True)
        assert await process.wait() == -signal.SIGKILL
        await row.rollback()

    while (report := await shop.tick())["skipped"] is not None:
        assert report == {"skipped": BUSY}
    await shop.phases()

    (job,) = await shop.jobs()
    after = await shop.read(flow)
    assert (after["processing"], after["job_id"], after["stage_attempt"]) == (True, job["id"], 1)


async def serving(database_url: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(*PROGRAM, "serve", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(FLEET_DATABASE_URL=database_url, FLEET_LOG_LEVEL="error"),
    )


async def until_saving(watcher: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Wait until the tick waits for the workflow's row, its job submitted."""
    async with asyncio.timeout(60):
        # Each question is a turn for the others: it goes to the database and back.
        while not await watcher.fetchval(
            "select exists (select from pg_stat_activity where wait_event_type = 'Lock'"
            " and query like '%update workflow%' and pid <> pg_backend_pid())"
        ):
            pass
