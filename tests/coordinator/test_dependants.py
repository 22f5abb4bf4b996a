"""What the end of a job does to those that wait for it, through the calls that end jobs."""

import asyncio
from collections import Counter

import pytest

from app.coordinator.complete import Completion
from app.coordinator.dependants import parent_ended
from app.coordinator.finish import Failure, fail
from app.coordinator.receipts import Settled
from app.fleet import FactoryId, IfParentFails, JobState
from app.store import classes
from app.store.session import Database, Limits
from tests.strategies import make_class
from tests.support.completing import complete
from tests.support.desks import open_reports
from tests.support.factories import register
from tests.support.jobs import make_spec, put, put_all, state_of
from tests.support.leases import (
    claim,
    claim_one,
    history,
    last_event,
    row_of,
)

F1 = FactoryId("f1")


@pytest.fixture(autouse=True)
async def fleet(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=50)


async def finish(db: Database) -> None:
    """Complete the one job that is ready."""
    ref = await claim_one(db, F1)
    (outcome,) = (await complete(db, F1, [Completion(job_id=ref.job_id, fence=1)])).outcomes
    assert outcome.outcome is Settled.SUCCEEDED


async def test_success_lets_the_dependant_go_and_nobody_further(db: Database) -> None:
    first = await put(db)
    second = await put(db, depends_on=(first.id,))
    third = await put(db, depends_on=(second.id,))
    await finish(db)
    assert await state_of(db, second.id) is JobState.READY
    assert await state_of(db, third.id) is JobState.BLOCKED
    assert await history(db, second.id) == ["submit", "parents_done"]
    await finish(db)
    await finish(db)
    assert await state_of(db, third.id) is JobState.SUCCEEDED


async def test_the_freed_dependant_may_be_what_claim_next_gets(db: Database) -> None:
    first = await put(db)
    second = await put(db, depends_on=(first.id,))
    ref = await claim_one(db, F1)
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    async with open_reports(db) as reports:
        finished = await reports.complete(F1, [done], claim_next=1)
    assert [each.job.id for each in finished.claims] == [second.id]


async def test_parents_that_end_at_the_same_instant_leave_nobody_blocked(
    db: Database, database_url: str
) -> None:
    parents = [await put(db) for _ in range(8)]
    child = await put(db, depends_on=tuple(parent.id for parent in parents))
    refs = await claim(db, F1, 8)
    crowd = await Database.open(database_url, Limits(size=8))
    await asyncio.gather(
        *(complete(crowd, F1, [Completion(job_id=ref.job_id, fence=ref.fence)]) for ref in refs)
    )
    await crowd.close()
    row = await row_of(db, child.id)
    assert (row["state"], row["parents_left"]) == ("ready", 0)
    assert (await history(db, child.id)).count("parents_done") == 1


async def test_death_cancels_dependants_and_theirs_but_not_those_who_run_anyway(
    db: Database,
) -> None:
    first = await put(db)
    child = await put(db, depends_on=(first.id,))
    grandchild = await put(db, depends_on=(child.id,))
    stubborn = await put(db, depends_on=(first.id,), if_parent_fails=IfParentFails.RUN)
    ref = await claim_one(db, F1)
    await fail(db, F1, ref, Failure(error="x", retryable=False))
    assert await state_of(db, child.id) is JobState.CANCELLED
    assert await state_of(db, grandchild.id) is JobState.CANCELLED
    assert await state_of(db, stubborn.id) is JobState.READY
    assert (await row_of(db, grandchild.id))["cancelled_by_parent"] == child.id
    event = await last_event(db, child.id)
    assert (event["event"], event["detail"]["parent"]) == ("parent_failed", str(first.id))


async def test_a_held_dependant_stays_held_and_is_counted(db: Database) -> None:
    first = await put(db)
    child = await put(db, depends_on=(first.id,))
    async with db.connection() as conn:
        await conn.execute(
            "update job set state = 'held', hold_reason = 'x', hold_by = 'ann' where id = $1",
            child.id,
        )
    await finish(db)
    row = await row_of(db, child.id)
    assert (row["state"], row["parents_left"]) == ("held", 0)


async def test_a_dependant_that_runs_is_asked_to_stop(db: Database) -> None:
    """A parent that was retried and dies again meets a dependant which was leased meanwhile."""
    first = await put(db)
    child = await put(db, depends_on=(first.id,))
    await finish(db)
    ref = await claim_one(db, F1)
    assert ref.job_id == child.id
    async with db.transaction() as conn:
        await conn.execute("update job set state = 'dead' where id = $1", first.id)
        assert await parent_ended(conn, [(first.id, JobState.DEAD)]) == frozenset()
    row = await row_of(db, child.id)
    assert (row["state"], row["cancel_requested_at"] is not None) == ("leased", True)
    assert row["fence_open"]
    assert (await last_event(db, child.id))["detail"]["cancel_requested"] is True


async def test_the_classes_of_freed_dependants_are_named(db: Database) -> None:
    special = make_class(required=frozenset({"gpu"}))
    first = await put(db)
    await put(db, depends_on=(first.id,), job_class=special)
    async with db.transaction() as conn:
        await conn.execute("update job set state = 'succeeded' where id = $1", first.id)
        woken = await parent_ended(conn, [(first.id, JobState.SUCCEEDED)])
        assert woken == set((await classes.intern(conn, [special])).values())


async def test_a_thousand_descendants_are_few_statements_a_level(db: Database) -> None:
    first = await put(db)
    specs = [make_spec(ref="a", depends_on=(first.id,))]
    specs += [make_spec(ref=f"b{n}", depends_on_refs=("a",)) for n in range(500)]
    specs += [make_spec(depends_on_refs=(f"b{n}",)) for n in range(499)]
    await put_all(db, *specs)
    async with db.transaction() as conn:
        await conn.execute("update job set state = 'dead' where id = $1", first.id)
        counted: Counter[str] = Counter()
        conn.add_query_logger(lambda query: counted.update([query.query]))
        await parent_ended(conn, [(first.id, JobState.DEAD)])
        assert counted.total() <= 6 * 4  # three levels, and the look below the last
        states = await conn.fetch("select state, count(*) from job group by state order by state")
    assert [tuple(row) for row in states] == [("cancelled", 1000), ("dead", 1)]
