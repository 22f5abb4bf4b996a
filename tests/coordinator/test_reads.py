"""Reading jobs and their history: whole, filtered, and page by page while rows come in (C73)."""

import base64
from datetime import datetime, timedelta

import orjson
import pytest

from app.coordinator.hold import hold, unhold
from app.coordinator.reads import JobEvent, JobFilter, get_job, job_events, list_jobs
from app.errors import Invalid, NotFound
from app.fleet import FactoryId, JobId, JobState
from app.runtime.ids import new_id
from app.store.session import Connection, Database
from tests.support.factories import OPS, database_now
from tests.support.jobs import end, lease, make_spec, put, put_all


async def ids_of(db: Database, wanted: JobFilter) -> list[JobId]:
    return [job.id for job in (await list_jobs(db, wanted, None, 100)).items]


async def test_a_job_is_read_whole_or_not_found(db: Database) -> None:
    job = await put(db)
    assert await get_job(db, job.id) == job
    with pytest.raises(NotFound):
        await get_job(db, JobId(new_id()))


async def test_the_newest_comes_first(db: Database) -> None:
    jobs = [(await put(db)).id for _ in range(5)]
    assert await ids_of(db, JobFilter()) == jobs[::-1]


async def test_filters_are_all_to_apply(db: Database) -> None:
    first, second, third = await put_all(
        db,
        make_spec(kind="a", repo="shop", labels={"team": "x", "env": "prod"}),
        make_spec(kind="b", repo="shop", labels={"team": "x"}),
        make_spec(kind="a", repo="blog"),
    )
    await lease(db, first.id, "f1")
    await lease(db, third.id, "f2")
    await end(db, third.id, JobState.DEAD)
    for wanted, expected in (
        (JobFilter(state=JobState.DEAD), [third]),
        (JobFilter(kind="a"), [third, first]),
        (JobFilter(repo="shop"), [second, first]),
        (JobFilter(kind="a", repo="shop"), [first]),
        (JobFilter(factory_id=FactoryId("f1")), [first]),
        (JobFilter(factory_id=FactoryId("f2"), state=JobState.DEAD), [third]),
        (JobFilter(labels={"team": "x"}), [second, first]),
        (JobFilter(labels={"team": "x", "env": "prod"}), [first]),
        (JobFilter(labels={"team": "y"}), []),
    ):
        assert await ids_of(db, wanted) == [job.id for job in expected]


async def test_time_is_a_filter_from_and_before(db: Database) -> None:
    job = await put(db)
    at, later = job.created_at, job.created_at + timedelta(microseconds=1)
    assert await ids_of(db, JobFilter(since=at, until=later)) == [job.id]
    assert await ids_of(db, JobFilter(since=later)) == []
    assert await ids_of(db, JobFilter(until=at)) == []


async def insert(conn: Connection, ids: list[JobId], at: datetime) -> None:
    """Store ready jobs, all of one moment."""
    await conn.execute(
        "insert into job (id, class_id, state, kind, created_at, attempts_max, timeout_s,"
        " if_parent_fails) select id, (select min(id) from job_class), 'ready', 'test', $2, 3, 60,"
        " 'cancel' from unnest($1::uuid[]) as new (id)",
        ids,
        at,
    )


@pytest.mark.parametrize("wanted", [JobFilter(), JobFilter(state=JobState.READY, kind="test")])
async def test_pages_show_every_job_once_while_others_come_in(
    db: Database, wanted: JobFilter
) -> None:
    await put(db)
    early = [JobId(new_id()) for _ in range(499)]
    async with db.connection() as conn:
        now = await database_now(conn)
        for start in (*range(0, 399, 7), 399):
            moment = now - timedelta(seconds=1000 - start)
            await insert(conn, early[start : 499 if start == 399 else min(start + 7, 399)], moment)
    before = set(await all_ids(db))
    seen: list[JobId] = []
    cursor: str | None = None
    while True:
        page = await list_jobs(db, wanted, cursor, 50)
        assert len(page.items) <= 50
        seen += [job.id for job in page.items]
        async with db.connection() as conn:
            await insert(conn, [JobId(new_id()) for _ in range(5)], now)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(before) == 500
    assert len(seen) == len(set(seen))
    assert before <= set(seen)
    assert seen == sorted(seen, reverse=True)


async def all_ids(db: Database) -> list[JobId]:
    async with db.connection() as conn:
        return [JobId(row["id"]) for row in await conn.fetch("select id from job")]


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


BAD = (
    "",
    "x",
    "%%%",
    "ü",
    encoded(7),
    encoded([]),
    encoded("no-id"),
    encoded({}),
    encoded(None),
    encoded(["2026-01-01", 1, 2]),
    encoded(["2026-01-01T00:00:00Z", 1, 1, 2**63]),
    encoded(["2026-01-01T00:00:00Z", 1, 5, 1]),
    encoded(["2026-01-01T00:00:00Z", 1, 1, True]),
    encoded(["0001-01-01T00:00:00+14:00", 1, 1, 1]),
    encoded(["x", 1, 1, 1]),
)


async def test_a_cursor_of_somebody_else_is_refused(db: Database) -> None:
    job = await put(db)
    for cursor in BAD:
        with pytest.raises(Invalid):
            await list_jobs(db, JobFilter(), cursor, 5)
        with pytest.raises(Invalid):
            await job_events(db, job.id, cursor, 5)


async def test_a_history_tells_claims_among_events_in_order(db: Database) -> None:
    job = await put(db)
    await hold(db, job.id, reason="wait", until=None, by=OPS)
    await unhold(db, job.id, by=OPS)
    async with db.transaction() as conn:
        decision = new_id()
        # All of one transaction, hence of one time: released under fence 1, claimed again.
        await conn.execute(
            "insert into job_event (job_id, event, factory_id, fence, outcome)"
            " values ($1, 'release', 'f1', 1, 'released'), ($1, 'complete', 'f1', 2, 'succeeded')",
            job.id,
        )
        await conn.execute(
            "insert into decision (id, factory_id, job_id, fence, total, record)"
            " values ($1, 'f1', $2, 2, 42, '{}')",
            decision,
            job.id,
        )
    whole = (await job_events(db, job.id, None, 100)).items
    told = ["submit", "hold", "unhold", "release", "claimed", "complete"]
    assert [event.event for event in whole] == told
    claim = whole[4]
    assert claim.detail == {"decision_id": str(decision), "score": 42}
    assert (claim.factory_id, claim.fence, claim.claimed_at) == ("f1", 2, claim.at)
    assert (whole[1].by, whole[5].outcome) == (OPS.name, "succeeded")
    for limit in range(1, 7):
        pages: list[JobEvent] = []
        cursor = None
        while True:
            page = await job_events(db, job.id, cursor, limit)
            pages += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        assert tuple(pages) == whole


async def test_a_job_that_never_was_has_no_history(db: Database) -> None:
    with pytest.raises(NotFound):
        await job_events(db, JobId(new_id()), None, 5)
