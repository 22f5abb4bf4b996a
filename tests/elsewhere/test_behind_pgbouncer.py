"""Behind PgBouncer in transaction mode: each transaction may meet another server process."""

import asyncio
from typing import Any

import asyncpg
import httpx
import pytest

from app.coordinator.desk import SLOW_POLL_S
from app.coordinator.expire import sweep
from app.coordinator.ticking import Occasion, Ticked, TickKind, Turn, take_turn
from app.errors import Unavailable
from app.store.direct import leads_directly
from app.store.migrate import PoolerInTheWayError, migrate
from app.store.session import Connection, Database, Limits
from tests.support.api import body_of, fleet_on_port
from tests.support.command import fleet
from tests.support.crowds import crowd_at
from tests.support.replicas import replica
from tests.support.ticks import nothing_heard
from tests.support.whole_path import walk

REPOS, WORKFLOWS = Occasion(kind=TickKind.REPOS), Occasion(kind=TickKind.WORKFLOWS)
CROWD, ROUNDS, TICKS, KILLS = 200, 20, 50, 5
POOLED = Limits(statement_cache=0, timeout_s=30)

KILL_OTHERS = (
    "select count(pg_terminate_backend(pid)) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)
ADVISORY = (
    "select count(*) from pg_locks l join pg_database d on d.oid = l.database"
    " where l.locktype = 'advisory' and d.datname = current_database()"
)
RUNS_ON = (
    "select exists (select from pg_stat_activity where state = 'active'"
    " and query ~ '^select pg_sleep')"
)


async def test_a_job_goes_all_its_way(database_url: str, pooled_url: str) -> None:
    async with fleet_on_port(database_url, pooled_url=pooled_url) as running:
        await walk(running)


async def test_a_burst_of_claims_meets_no_foreign_statement(
    database_url: str, pooled_url: str
) -> None:
    async with fleet_on_port(database_url, pooled_url=pooled_url) as running:
        seen = set()
        async with crowd_at(running, CROWD, seat_limit=ROUNDS) as crowd:
            for _ in range(ROUNDS):
                jobs = {"jobs": [{"kind": "test"}] * CROWD}
                assert (await running.client.post("/jobs/batch", json=jobs)).status_code == 201
                for answer in (await crowd.claims()).values():
                    assert answer.status == 200, answer
                    seen.add(answer.json["claims"][0]["job"]["id"])
        assert len(seen) == CROWD * ROUNDS


async def test_no_tick_leaves_a_lock_behind(database_url: str, pooled_url: str) -> None:
    direct = await asyncpg.connect(database_url)
    db = await Database.open(pooled_url, POOLED)
    for _ in range(TICKS // 2):
        assert not (await sweep(db)).busy
        assert (await take_turn(db, REPOS, nothing_heard, in_vain)).skipped is None
        assert await direct.fetchval(ADVISORY) == 0
        with pytest.raises(ZeroDivisionError):
            await take_turn(db, WORKFLOWS, nothing_heard, midway)
        assert await direct.fetchval(ADVISORY) == 0
    await db.close()
    await direct.close()


async def test_who_waits_is_woken_by_another_replica(database_url: str, pooled_url: str) -> None:
    ways = {"FLEET_LISTEN_URL": database_url, "FLEET_DATABASE_STATEMENT_CACHE": "0"}
    async with (
        fleet_on_port(database_url, pooled_url=pooled_url) as here,
        replica(pooled_url, **ways) as there,
    ):
        f1 = await here.factory("f1")
        waiting = asyncio.create_task(f1.post("/claim", json={"factory_id": "f1", "wait_s": 50}))
        while here.app.state.services.desk.waiting() != {"f1"}:
            await here.anonymous.get("/healthz")
        async with asyncio.timeout(5):
            job = await here.client.post(f"{there}/jobs", json={"kind": "test"})
            (claim,) = body_of(await waiting)["claims"]
        assert claim["job"]["id"] == body_of(job)["id"]


async def test_killed_server_connections_are_made_anew(database_url: str, pooled_url: str) -> None:
    """C25, by way of the pooler: whoever waits gets the job, a few 503 at most in between."""
    direct = await asyncpg.connect(database_url)
    async with fleet_on_port(database_url, pooled_url=pooled_url) as running:
        f1 = await running.factory("f1", seat_limit=KILLS)
        desk = running.app.state.services.desk
        for _ in range(KILLS):
            waiting = asyncio.create_task(until_served(f1, "/claim", factory_id="f1", wait_s=50))
            while not desk.waiting():
                await running.anonymous.get("/healthz")
            await desk.idle.wait()
            assert await direct.fetchval(KILL_OTHERS) >= 1
            async with asyncio.timeout(SLOW_POLL_S * 1.25):
                job = await until_served(running.client, "/jobs", kind="test")
                (claim,) = (await waiting)["claims"]
            assert claim["job"]["id"] == job["id"]
    await direct.close()


async def test_a_statement_that_runs_too_long_is_given_up_on_both_sides(
    database_url: str, pooled_url: str
) -> None:
    direct = await asyncpg.connect(database_url)
    db = await Database.open(pooled_url, Limits(statement_cache=0, statement_timeout_s=0.3))
    with pytest.raises(Unavailable):
        async with db.connection() as conn:
            await conn.fetchval("select pg_sleep($1)", 600)
    async with asyncio.timeout(30):
        while await direct.fetchval(RUNS_ON):
            pass
    async with db.connection() as conn:
        assert await conn.fetchval("select $1::text", "goes on") == "goes on"
    await db.close()
    await direct.close()


async def test_migrations_refuse_a_pooler(
    database_url: str, empty_database_url: str, pooled_url: str
) -> None:
    assert await leads_directly(database_url)
    assert not await leads_directly(pooled_url)
    with pytest.raises(PoolerInTheWayError, match="FLEET_LISTEN_URL"):
        await migrate(pooled_url)
    ways = {"FLEET_DATABASE_URL": pooled_url, "FLEET_DATABASE_STATEMENT_CACHE": "0"}
    done = await fleet("migrate", FLEET_LISTEN_URL=empty_database_url, **ways)
    assert done.code == 0, done.err
    made = await fleet("token", "create", "--role", "ops", FLEET_LISTEN_URL=database_url, **ways)
    assert made.code == 0, made.err


@pytest.mark.parametrize(
    ("cache", "listen", "hint"),
    [
        ("256", None, "FLEET_DATABASE_STATEMENT_CACHE=0"),
        ("256", "direct", "FLEET_DATABASE_STATEMENT_CACHE=0"),
        ("0", None, "set FLEET_LISTEN_URL"),
        ("0", "pooled", "FLEET_LISTEN_URL leads through a pooler"),
    ],
)
async def test_settings_that_would_fail_in_bursts_are_refused_at_the_start(
    database_url: str, pooled_url: str, cache: str, listen: str | None, hint: str
) -> None:
    ways = {"FLEET_DATABASE_URL": pooled_url, "FLEET_DATABASE_STATEMENT_CACHE": cache}
    if listen is not None:
        ways["FLEET_LISTEN_URL"] = database_url if listen == "direct" else pooled_url
    refused = await fleet("serve", "--port", "0", **ways)
    assert (refused.code, refused.out) == (1, "")
    assert hint in refused.err


async def until_served(caller: httpx.AsyncClient, path: str, **body: object) -> dict[str, Any]:
    """Call as clients do: again after a 503."""
    for _ in range(10):
        answer = await caller.post(path, json=body)
        if answer.status_code in {200, 201}:
            return body_of(answer)
        assert answer.status_code == 503, answer.text
    raise AssertionError


async def in_vain(turn: Turn, _news: None) -> Ticked:
    async with turn.reading() as conn:
        await conn.fetchval("select count(*) from job")
    return Ticked()


async def midway(turn: Turn, _news: None) -> Ticked:
    async def act(conn: Connection) -> None:
        await conn.execute("update token set name = 'half done'")
        raise ZeroDivisionError

    await turn.write(act)
    return Ticked()
