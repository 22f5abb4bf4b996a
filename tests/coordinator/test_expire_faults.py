"""The lease loop among others: races with finishers, rows that are odd or in use, old work."""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import TypeVar

import asyncpg
import pytest

from app.coordinator import expire
from app.coordinator.complete import Completion
from app.coordinator.expire import sweep
from app.coordinator.finish import LeaseRef
from app.fleet import FactoryId, JobId, JobState
from app.store import sweeping
from app.store.session import Connection, Database
from tests.strategies import make_class
from tests.support.completing import complete, complete_one
from tests.support.factories import register
from tests.support.jobs import make_spec, put, put_all, state_of
from tests.support.leases import (
    age,
    claim,
    claim_one,
    history,
    inconsistencies,
    lock_holder,
    row_of,
    seats_used,
)

F1, F2 = FactoryId("f1"), FactoryId("f2")
T = TypeVar("T")

_COMPLETED = """
    update job
    set state = 'succeeded', version = version + 1, fence_open = false, seated = false,
        wake_at = null, finished_at = now()
    where id = $1
"""
_CLAIMED_ANEW = """
    update job
    set version = version + 1, fence = fence + 1, holder = 'f2', claimed_at = now(),
        lease_expires_at = now() + interval '1 minute', wake_at = now() + interval '1 minute'
    where id = $1
"""


@pytest.fixture(autouse=True)
async def fleet(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=300)
        await register(conn, F2, seat_limit=300)


async def overdue(db: Database, count: int, *, lock: str | None = None) -> list[LeaseRef]:
    """Let F1 hold so many leases that have just ended."""
    await put_all(db, *[make_spec(job_class=make_class(lock=lock)) for _ in range(count)])
    refs = await claim(db, F1, count)
    for ref in refs:
        await age(db, ref.job_id, 61)
    return refs


async def blocked(conn: Connection, work: Awaitable[T]) -> "asyncio.Future[T]":
    """Start something and return as soon as it waits for a lock that somebody holds."""
    running = asyncio.ensure_future(work)
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
    while not await conn.fetchval(waiting):
        assert not running.done(), running
        await asyncio.sleep(0)
    return running


@pytest.mark.parametrize("meanwhile", [_COMPLETED, _CLAIMED_ANEW])
async def test_a_pass_does_not_overwrite_what_happened_meanwhile(
    db: Database, database_url: str, meanwhile: str
) -> None:
    """C03: somebody holds the row, a pass starts, the row is finished or claimed anew."""
    (ref,) = await overdue(db, 1, lock="merge")
    session = await asyncpg.connect(database_url)
    watcher = await asyncpg.connect(database_url)
    hold = session.transaction()
    await hold.start()
    await session.execute("select from job where id = $1 for update", ref.job_id)
    running = await blocked(watcher, sweep(db))
    await session.execute(meanwhile, ref.job_id)
    await hold.commit()
    before = await row_of(db, ref.job_id)
    report = await running
    assert (report.expired, report.odd) == (0, ())
    assert await row_of(db, ref.job_id) == before
    assert await history(db, ref.job_id) == ["submit"]
    assert await seats_used(db, F1) == 1  # the session above did not touch it
    assert await lock_holder(db, "merge") == (ref.job_id, ref.fence, False)
    await session.close()
    await watcher.close()


async def test_a_completion_that_waits_for_a_renewal_succeeds(
    db: Database, database_url: str
) -> None:
    """A row that moved while the statement waited is judged anew, by its fence."""
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    session = await asyncpg.connect(database_url)
    watcher = await asyncpg.connect(database_url)
    hold = session.transaction()
    await hold.start()
    await session.execute("update job set version = version + 1 where id = $1", ref.job_id)
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    running = await blocked(watcher, complete_one(db, F1, done))
    await hold.commit()
    await running
    assert await state_of(db, ref.job_id) is JobState.SUCCEEDED
    assert not await inconsistencies(watcher)
    await session.close()
    await watcher.close()


async def test_a_completion_that_waits_for_a_change_of_class_succeeds(
    db: Database, database_url: str
) -> None:
    """The class was made after the statement began, so its snapshot cannot show it."""
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    session = await asyncpg.connect(database_url)
    watcher = await asyncpg.connect(database_url)
    hold = session.transaction()
    await hold.start()
    await session.execute("select from job where id = $1 for update", ref.job_id)
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    running = await blocked(watcher, complete_one(db, F1, done))
    new_class = await session.fetchval(
        "insert into job_class (digest, cost_class, priority, lock, kin)"
        " values ('x', 'low', 'critical', 'merge', 'k') returning id"
    )
    await session.execute(
        "update job set version = version + 1, class_id = $2, kin = 'k' where id = $1",
        ref.job_id,
        new_class,
    )
    await hold.commit()
    await running
    assert await state_of(db, ref.job_id) is JobState.SUCCEEDED
    assert await lock_holder(db, "merge") == (None, None, False)
    await session.close()
    await watcher.close()


async def make_odd(conn: Connection, job_ids: list[JobId], *, even_postponing: bool) -> None:
    """Make rows that refuse to be put back, or to be changed at all."""
    condition = "true" if even_postponing else "new.state = 'ready'"
    await conn.execute(
        f"""
        create table odd (id uuid primary key);
        create function refuse() returns trigger language plpgsql as $$
        begin
            if {condition} and exists (select from odd where id = new.id) then
                raise exception 'this row is odd';
            end if;
            return new;
        end $$;
        create trigger refuse before update on job for each row execute function refuse();
        """
    )
    await conn.executemany("insert into odd values ($1)", [(job_id,) for job_id in job_ids])


async def test_one_odd_row_is_reported_once_and_the_others_go_on(db: Database) -> None:
    """C43."""
    refs = await overdue(db, 20)
    odd = refs[7].job_id
    async with db.connection() as conn:
        await make_odd(conn, [odd], even_postponing=False)
    report = await sweep(db)
    assert report.expired == 19
    assert [each.job_id for each in report.odd] == [odd]
    assert "this row is odd" in report.odd[0].error
    assert (await sweep(db)).odd == ()
    async with db.connection() as conn:
        assert not await inconsistencies(conn)
        await conn.execute("drop trigger refuse on job")
    await age(db, odd, expire.POSTPONED_S)
    assert (await sweep(db)).expired == 1


async def test_a_whole_batch_of_odd_rows_hides_nobody(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C43, second half: rows that can be neither handled nor put off stand in front."""
    monkeypatch.setattr(expire, "BATCH", 5)
    refs = await overdue(db, 10)
    odd = [ref.job_id for ref in refs[:5]]
    for job_id in odd:
        await age(db, job_id, 1000)
    async with db.connection() as conn:
        await make_odd(conn, odd, even_postponing=True)
    report = await sweep(db)
    assert report.expired == 5
    assert {each.job_id for each in report.odd} == set(odd)


async def test_rows_that_somebody_sits_on_are_passed_over(
    db: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expire, "WAIT_MS", 50)
    monkeypatch.setattr(expire, "WAIT_SINGLY_MS", 20)
    refs = await overdue(db, 10)
    session = await asyncpg.connect(database_url)
    async with session.transaction():
        await session.execute("select from job where id = $1 for update", refs[3].job_id)
        report = await sweep(db)
    await session.close()
    assert (report.expired, report.odd) == (9, ())
    assert (await sweep(db)).expired == 1


async def test_a_pass_beside_another_does_not_wait(db: Database, database_url: str) -> None:
    """C31: nobody waits for the loop's lock, so nobody pins a snapshot."""
    await overdue(db, 1)
    other = await Database.open(database_url)
    async with other.transaction() as conn:
        assert await sweeping.begin(conn, wait_ms=1000)
        report = await sweep(db)
        assert (report.busy, report.expired) == (True, 0)
        left = await conn.fetchval(
            "select count(*) from pg_locks where locktype = 'advisory' and not granted"
        )
        assert left == 0
    assert (await sweep(db)).expired == 1
    await other.close()


async def test_old_work_is_forgotten_and_nothing_else(db: Database) -> None:
    """C31, second half."""
    lock = make_class(lock="old")
    ended = [await put(db, job_class=lock) for _ in range(4)]
    states = [JobState.SUCCEEDED, JobState.CANCELLED, JobState.DEAD, JobState.SUCCEEDED]
    for job, state in zip(ended, states, strict=True):
        async with db.connection() as conn:
            await conn.execute(
                "update job set state = $2, finished_at = now() - interval '31 days' where id = $1",
                job.id,
                state,
            )
    await age(db, ended[3].id, -7 * 86_400)
    waiting = await put(db)
    held = await put(db)
    (ref,) = await claim(db, F1)
    async with db.connection() as conn:
        await conn.execute(
            "insert into claim_key (factory_id, key, leases, expires_at) values"
            " ('f1', 'old', '[]', now() - interval '1 second'),"
            " ('f1', 'new', '[]', now() + interval '1 hour')"
        )
    assert (await sweep(db)).pruned == 2
    async with db.connection() as conn:
        kept = {row["id"] for row in await conn.fetch("select id from job")}
        assert kept == {ended[2].id, ended[3].id, waiting.id, held.id}
        assert ref.job_id in kept
        orphans = "select count(*) from job_event where job_id not in (select id from job)"
        assert await conn.fetchval(orphans) == 0
        assert await conn.fetchval("select array_agg(key) from claim_key") == ["new"]
    assert (await sweep(db, retention=timedelta(days=1))).pruned == 1


async def test_a_class_goes_with_its_last_job(db: Database) -> None:
    job = await put(db, job_class=make_class(lock="old"))
    used = await put(db, job_class=make_class(lock="used"))
    async with db.connection() as conn:
        await conn.execute(
            "update job set state = 'succeeded', finished_at = now() - interval '31 days'"
            " where id = $1",
            job.id,
        )
    await sweep(db)
    async with db.connection() as conn:
        locks = await conn.fetch("select lock from job_class")
    assert [row["lock"] for row in locks] == ["used"]
    assert await state_of(db, used.id) is JobState.READY


async def test_much_old_work_goes_in_small_transactions(db: Database) -> None:
    """C31, second half: what is old goes a bounded batch at a time, and claims go on."""
    await put(db)
    async with db.connection() as conn:
        await conn.execute(
            "insert into job (id, class_id, state, kind, attempts_max, timeout_s,"
            " if_parent_fails, finished_at) select gen_random_uuid(), min(c.id), 'succeeded',"
            " 'test', 3, 3600, 'cancel', now() - interval '31 days'"
            " from job_class c, generate_series(1, 5000) n group by n"
        )
    first = await sweep(db)
    assert 0 < first.pruned < 5000
    ref = await claim_one(db, F2)
    total = first.pruned
    while (report := await sweep(db)).pruned:
        total += report.pruned
    assert total == 5000
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    await complete(db, F2, [done])
