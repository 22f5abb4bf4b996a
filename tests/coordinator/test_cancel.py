"""Cancelling: at once, on request, or too late; and against a completion exactly one wins (C33)."""

import asyncio
from datetime import timedelta

import pytest

from app.coordinator.cancel import Cancelled, CancelOutcome, cancel
from app.coordinator.complete import Completion, Finished
from app.coordinator.forget import forget
from app.coordinator.hold import hold
from app.coordinator.retry import retry
from app.errors import NotFound
from app.fleet import FactoryId, IfParentFails, JobClass, JobId, JobState
from app.runtime.ids import new_id
from app.store.session import Database
from tests.support.completing import complete
from tests.support.factories import OPS, register
from tests.support.jobs import end, get, lapse, lease, make_spec, put, put_all, state_of
from tests.support.leases import age

F1 = FactoryId("f1")
DAY = 86_400
CANCELLED, SUCCEEDED, READY = JobState.CANCELLED, JobState.SUCCEEDED, JobState.READY


async def cancelled(db: Database, job_id: JobId) -> Cancelled:
    return await cancel(db, job_id, reason="no longer wanted", by=OPS)


async def completed(db: Database, job_id: JobId) -> Finished:
    return await complete(db, F1, [Completion(job_id=job_id, fence=1)])


async def test_a_job_nobody_runs_is_cancelled_at_once(db: Database) -> None:
    parent = await put(db)
    blocked = await put(db, depends_on=(parent.id,))
    held = await put(db)
    await hold(db, held.id, reason="wait", until=None, by=OPS)
    for job in (blocked, held, await put(db)):
        answer = await cancelled(db, job.id)
        assert answer.outcome is CancelOutcome.CANCELLED
        assert answer.job == await get(db, job.id)
        assert (answer.job.state, answer.job.hold) == (CANCELLED, None)
        assert answer.job.finished_at is not None
    async with db.connection() as conn:
        told = await conn.fetchrow(
            "select \"by\", detail from job_event where event = 'cancel' and job_id = $1",
            blocked.id,
        )
    assert told is not None
    assert tuple(told) == (OPS.name, {"reason": "no longer wanted"})


async def test_of_a_job_that_runs_the_end_is_asked_for_once(db: Database) -> None:
    job = await put(db)
    await lease(db, job.id)
    for _ in range(2):
        answer = await cancelled(db, job.id)
        assert answer.outcome is CancelOutcome.CANCEL_REQUESTED
        assert (answer.job.state, answer.job.cancel_requested) == (JobState.LEASED, True)
        assert (answer.job.version, answer.job.fence_open) == (3, True)


@pytest.mark.parametrize("state", [SUCCEEDED, CANCELLED])
async def test_a_finished_job_stays_as_it_is(db: Database, state: JobState) -> None:
    job = await put(db)
    await end(db, job.id, state)
    before = await get(db, job.id)
    answer = await cancelled(db, job.id)
    assert (answer.outcome, answer.job) == (CancelOutcome.ALREADY_FINISHED, before)


async def test_a_dead_job_leaves_the_dead_letter_and_is_forgotten_in_time(db: Database) -> None:
    """Its retention begins with the cancel, and its dedupe key is free once it is over."""
    job, child, regardless = await put_all(
        db,
        make_spec(ref="a", dedupe_key="nightly"),
        make_spec(depends_on_refs=("a",)),
        make_spec(depends_on_refs=("a",), if_parent_fails=IfParentFails.RUN),
    )
    await end(db, job.id, JobState.DEAD)
    family = [await get(db, each.id) for each in (child, regardless)]
    await age(db, job.id, 40 * DAY)
    await forget(db, timedelta(days=30))
    assert await state_of(db, job.id) is JobState.DEAD

    answer = await cancelled(db, job.id)

    assert (answer.outcome, answer.job.state) == (CancelOutcome.CANCELLED, CANCELLED)
    assert (await cancelled(db, job.id)).outcome is CancelOutcome.ALREADY_FINISHED
    assert [await get(db, each.id) for each in (child, regardless)] == family
    await forget(db, timedelta(days=30))
    assert (await put(db, dedupe_key="nightly")).id == job.id
    await age(db, job.id, 31 * DAY)
    await forget(db, timedelta(days=30))
    assert (await put(db, dedupe_key="nightly")).id != job.id


async def test_what_was_cancelled_because_of_a_dead_job_is_revived_by_its_retry(
    db: Database,
) -> None:
    job, child = await put_all(db, make_spec(ref="a"), make_spec(depends_on_refs=("a",)))
    await end(db, job.id, JobState.DEAD)
    await cancelled(db, job.id)
    assert (await retry(db, job.id, by=OPS)).state is READY
    assert await state_of(db, child.id) is JobState.BLOCKED


async def test_a_job_that_does_not_exist_cannot_be_cancelled(db: Database) -> None:
    with pytest.raises(NotFound):
        await cancelled(db, JobId(new_id()))


async def test_a_lapsed_lease_is_over_and_its_lock_free(db: Database) -> None:
    job = await put(db, job_class=JobClass(lock="main"))
    await lease(db, job.id)
    await lapse(db, job.id)
    answer = await cancelled(db, job.id)
    assert answer.outcome is CancelOutcome.CANCELLED
    assert (answer.job.fence, answer.job.fence_open) == (1, False)
    async with db.connection() as conn:
        assert await conn.fetchval("select count(*) from job_lock where holder_job is null") == 1


async def test_dependants_go_with_it_unless_they_say_otherwise(db: Database) -> None:
    job, child, grandchild, stays, leased = await put_all(
        db,
        make_spec(ref="a"),
        make_spec(ref="b", depends_on_refs=("a",)),
        make_spec(ref="c", depends_on_refs=("b",)),
        make_spec(ref="d", depends_on_refs=("a",), if_parent_fails=IfParentFails.RUN),
        make_spec(),
    )
    await cancelled(db, job.id)
    states = [await state_of(db, each.id) for each in (job, child, grandchild, stays, leased)]
    assert states == [CANCELLED, CANCELLED, CANCELLED, READY, READY]


async def test_two_hundred_rounds_against_a_completion(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, "f1", seat_limit=1_000)
    for turn in range(200):
        job, child = await put_all(db, make_spec(ref="a"), make_spec(depends_on_refs=("a",)))
        await lease(db, job.id)
        lapsed = turn % 2 == 0
        if lapsed:
            await lapse(db, job.id)
        calls = [cancelled(db, job.id), completed(db, job.id)]
        answer, finished = await asyncio.gather(*(calls if turn % 4 < 2 else calls[::-1]))
        if isinstance(answer, Finished):
            answer, finished = finished, answer
        assert isinstance(answer, Cancelled)
        assert isinstance(finished, Finished)
        await check_round(db, answer, finished, lapsed=lapsed)
        won = answer.outcome is not CancelOutcome.CANCELLED
        assert await state_of(db, child.id) is (READY if won else CANCELLED)


async def check_round(db: Database, answer: Cancelled, finished: Finished, *, lapsed: bool) -> None:
    """Both answers, the row and the history agree on who won."""
    (outcome,) = finished.outcomes
    after = await get(db, answer.job.id)
    async with db.connection() as conn:
        rows = await conn.fetch("select event from job_event where job_id = $1", after.id)
    told = {row["event"] for row in rows}
    if answer.outcome is CancelOutcome.CANCELLED:
        assert lapsed
        assert (outcome.outcome, after.state) == ("stale_fence", CANCELLED)
        assert {"cancel", "complete"} & told == {"cancel"}
        return
    # A cancel that was only asked for does not overrule a success: its answer says it is pending.
    assert (outcome.outcome, after.state) == ("succeeded", SUCCEEDED)
    assert "complete" in told
    asked = answer.outcome is CancelOutcome.CANCEL_REQUESTED
    assert ("cancel" in told) == asked
    assert answer.job.state is (JobState.LEASED if asked else SUCCEEDED)
