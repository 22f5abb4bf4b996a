"""Complete, fail and release: what they do to job, seat, lock, history and those that wait."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from app.coordinator.complete import Completion
from app.coordinator.finish import Failure, LeaseRef, Release, fail, release
from app.coordinator.receipts import Settled
from app.coordinator.reports import Reports
from app.errors import Forbidden, NotFound, StaleFence
from app.fleet import FactoryId, JobId, JobState, Json
from app.life import BACKOFF_CAP_S
from app.runtime.ids import new_id
from app.store import factories
from app.store.session import Database
from tests.strategies import make_class
from tests.support.completing import complete, complete_one
from tests.support.desks import open_reports
from tests.support.factories import database_now, register
from tests.support.jobs import get, put, state_of
from tests.support.leases import (
    age,
    claim,
    claim_one,
    history,
    inconsistencies,
    last_event,
    lock_holder,
    row_of,
    seats_used,
)

F1, F2 = FactoryId("f1"), FactoryId("f2")


@pytest.fixture(autouse=True)
async def fleet(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=2)
        await register(conn, F2)


@pytest.fixture
async def reports(db: Database) -> AsyncIterator[Reports]:
    async with open_reports(db) as opened:
        yield opened


def done(ref: LeaseRef, result: Json = None) -> Completion:
    return Completion(job_id=ref.job_id, fence=ref.fence, result=result)


async def assert_consistent(db: Database) -> None:
    async with db.connection() as conn:
        assert not await inconsistencies(conn)


async def test_complete_ends_the_job_and_gives_back_seat_and_lock(db: Database) -> None:
    await put(db, job_class=make_class(lock="merge"), repo="shop")
    ref = await claim_one(db, F1)
    finished = await complete_one(db, F1, done(ref, {"pr_url": "x"}))
    (outcome,) = finished.outcomes
    assert (outcome.outcome, outcome.state) == (Settled.SUCCEEDED, JobState.SUCCEEDED)
    job = await get(db, ref.job_id)
    assert (job.state, job.result, job.version) == (
        JobState.SUCCEEDED,
        {"pr_url": "x"},
        outcome.version,
    )
    assert job.finished_at is not None
    assert not job.fence_open
    assert await lock_holder(db, "merge") == (None, None, False)
    assert await seats_used(db, F1) == 0
    event = await last_event(db, ref.job_id)
    assert (event["event"], event["outcome"], event["fence"]) == ("complete", "succeeded", 1)
    assert event["claimed_at"] == job.claimed_at
    async with db.connection() as conn:
        (facts,) = (await factories.snapshot(conn, [F1])).factories
    assert facts.factory.warm_repos == {"shop"}
    await assert_consistent(db)


async def test_repeating_complete_returns_the_first_answer_and_changes_nothing(
    db: Database,
) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    first = (await complete(db, F1, [done(ref, 1)])).outcomes[0]
    before = await row_of(db, ref.job_id)
    again = (await complete(db, F1, [done(ref, 2)])).outcomes[0]
    assert again.replayed
    assert (again.outcome, again.state, again.version) == (
        first.outcome,
        first.state,
        first.version,
    )
    assert await row_of(db, ref.job_id) == before
    assert await history(db, ref.job_id) == ["submit", "complete"]


async def test_a_batch_settles_each_lease_on_its_own(db: Database) -> None:
    for _ in range(3):
        await put(db)
    one, two = await claim(db, F1, 2)
    (foreign,) = await claim(db, F2)
    unknown = LeaseRef(job_id=JobId(new_id()), fence=1)
    stale = LeaseRef(job_id=two.job_id, fence=two.fence + 7)
    batch = [done(ref) for ref in (one, foreign, unknown, stale, one)]
    finished = await complete(db, F1, batch)
    assert [each.outcome for each in finished.outcomes] == [
        Settled.SUCCEEDED,
        Settled.NOT_YOURS,
        Settled.NOT_FOUND,
        Settled.STALE_FENCE,
        Settled.SUCCEEDED,
    ]
    assert await state_of(db, two.job_id) is JobState.LEASED
    assert await state_of(db, foreign.job_id) is JobState.LEASED
    await assert_consistent(db)


async def test_one_lease_that_is_not_open_is_a_refusal(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F2)
    with pytest.raises(Forbidden):
        await complete_one(db, F1, done(ref))
    with pytest.raises(NotFound):
        await complete_one(db, F1, Completion(job_id=JobId(new_id()), fence=1))
    with pytest.raises(StaleFence):
        await fail(db, F2, LeaseRef(job_id=ref.job_id, fence=9), Failure(error="x"))
    await release(db, F2, ref, Release(reason="drain"))
    with pytest.raises(StaleFence):
        await complete_one(db, F2, done(ref))


async def test_claim_next_is_told_again_as_far_as_it_is_current(
    db: Database, reports: Reports
) -> None:
    for _ in range(3):
        await put(db)
    ref = await claim_one(db, F2)
    first = await reports.complete(F2, [done(ref)], claim_next=5)
    assert len(first.claims) == 1  # as many as it has seats
    assert await seats_used(db, F2) == 1
    again = await reports.complete(F2, [done(ref)], claim_next=5)
    assert again.outcomes[0].replayed
    assert [each.job.id for each in again.claims] == [each.job.id for each in first.claims]
    assert again.claims[0].fence == first.claims[0].fence
    next_one = LeaseRef(job_id=first.claims[0].job.id, fence=first.claims[0].fence)
    await complete(db, F2, [done(next_one)])
    spent = await reports.complete(F2, [done(ref)], claim_next=5)
    assert spent.outcomes[0].replayed
    assert spent.claims == ()
    await assert_consistent(db)


async def test_a_stale_report_claims_nothing(db: Database, reports: Reports) -> None:
    await put(db)
    await put(db)
    ref = await claim_one(db, F2)
    stale = Completion(job_id=ref.job_id, fence=ref.fence + 1)
    finished = await reports.complete(F2, [stale], claim_next=1)
    assert finished.outcomes[0].outcome is Settled.STALE_FENCE
    assert finished.claims == ()


async def test_a_failure_waits_and_goes_to_another_factory(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    outcome = await fail(db, F1, ref, Failure(error="tests failed"), draw=lambda: 0.0)
    assert (outcome.outcome, outcome.state) == (Settled.FAILED, JobState.SCHEDULED)
    job = await get(db, ref.job_id)
    assert job.job_class.excluded == {F1}
    assert (job.error, job.attempts, job.finished_at) == ("tests failed", 1, None)
    assert job.run_after is not None
    row = await row_of(db, ref.job_id)
    assert row["wake_at"] == job.run_after == row["updated_at"] + timedelta(seconds=10)
    again = await fail(db, F1, ref, Failure(error="other"), draw=lambda: 0.9)
    assert again.replayed
    assert (again.outcome, again.state, again.version) == (
        outcome.outcome,
        outcome.state,
        outcome.version,
    )
    assert await history(db, ref.job_id) == ["submit", "fail"]
    await assert_consistent(db)


async def test_exclude_me_is_dropped_when_nobody_else_could_take_the_job(db: Database) -> None:
    job_id = (await put(db)).id
    for factory_id in (F1, F2):
        ref = await claim_one(db, factory_id)
        await fail(db, factory_id, ref, Failure(error="x", retry_after_s=0))
    job = await get(db, job_id)
    assert job.state is JobState.READY
    assert job.job_class.excluded == frozenset()
    event = await last_event(db, job_id)
    assert (event["event"], event["detail"]) == (
        "exclusion_dropped",
        {"factories": ["f1", "f2"]},
    )


async def test_exclude_me_may_be_declined(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    await fail(db, F1, ref, Failure(error="x", exclude_me=False, retry_after_s=0))
    assert (await get(db, ref.job_id)).job_class.excluded == frozenset()
    assert (await claim_one(db, F1)).fence == ref.fence + 1


async def test_a_failure_that_no_retry_helps_is_the_end(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    outcome = await fail(db, F1, ref, Failure(error="no such branch", retryable=False))
    assert outcome.state is JobState.DEAD
    assert (await get(db, ref.job_id)).finished_at is not None
    await assert_consistent(db)


@pytest.mark.parametrize("attempts", [2_000, 100_000])
async def test_backoff_of_very_many_attempts_is_capped(db: Database, attempts: int) -> None:
    """C35."""
    await put(db, attempts_max=1_000_000)
    ref = await claim_one(db, F1)
    async with db.connection() as conn:
        await conn.execute("update job set attempts = $1", attempts)
    await fail(db, F1, ref, Failure(error="x"), draw=lambda: 0.0)
    row = await row_of(db, ref.job_id)
    assert row["run_after"] == row["updated_at"] + timedelta(seconds=BACKOFF_CAP_S)


@pytest.mark.parametrize("asked_s", [10**18, -5, 0])
async def test_a_wait_that_makes_no_sense_is_bounded(db: Database, asked_s: int) -> None:
    """C35."""
    await put(db)
    ref = await claim_one(db, F1)
    await fail(db, F1, ref, Failure(error="x", retry_after_s=asked_s))
    row = await row_of(db, ref.job_id)
    assert row["run_after"] >= row["updated_at"]
    assert row["run_after"] <= row["updated_at"] + timedelta(days=30)
    assert row["state"] == ("scheduled" if asked_s > 0 else "ready")


async def test_released_jobs_can_be_claimed_at_once(db: Database) -> None:
    """C09: a factory that restarts gives its jobs back."""
    for lock in ("one", "two"):
        await put(db, job_class=make_class(lock=lock))
    held = await claim(db, F1, 2)
    for ref in held:
        outcome = await release(db, F1, ref, Release(reason="drain"))
        assert (outcome.outcome, outcome.state) == (Settled.RELEASED, JobState.READY)
        job = await get(db, ref.job_id)
        assert (job.attempts, job.job_class.excluded) == (0, frozenset())
    assert await seats_used(db, F1) == 0
    assert {await lock_holder(db, lock) for lock in ("one", "two")} == {(None, None, False)}
    assert (await claim_one(db, F2)).job_id in {ref.job_id for ref in held}
    assert (await last_event(db, held[0].job_id))["detail"]["reason"] == "drain"
    await assert_consistent(db)


async def test_a_release_may_cool_the_account_down_and_wait(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    async with db.connection() as conn:
        until = await database_now(conn) + timedelta(hours=1)
    released = Release(reason="usage limit", retry_after_s=60, cooldown_until=until)
    assert (await release(db, F1, ref, released)).state is JobState.SCHEDULED
    async with db.connection() as conn:
        (facts,) = (await factories.snapshot(conn, [F1])).factories
    assert facts.factory.cooldown_until == until
    assert (await release(db, F1, ref, released)).replayed


async def test_the_holder_of_a_lapsed_lease_may_still_settle_it(db: Database) -> None:
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    await age(db, ref.job_id, 61)
    async with db.transaction() as conn:  # as the sweep leaves it
        await conn.execute("update job set state = 'ready', seated = false")
        await conn.execute("update job_lock set lapsed = true")
        await conn.execute("update factory_seat set used = 0")
    await complete_one(db, F1, done(ref))
    assert await state_of(db, ref.job_id) is JobState.SUCCEEDED
    assert await lock_holder(db, "merge") == (None, None, False)
    await assert_consistent(db)


async def test_a_lapsed_lease_whose_lock_was_taken_is_over(db: Database) -> None:
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    other = await put(db, job_class=make_class(lock="merge"))
    async with db.transaction() as conn:  # as the sweep and the next claim leave it
        await conn.execute(
            "update job set state = 'ready', seated = false where id = $1", ref.job_id
        )
        await conn.execute("update job_lock set holder_job = $1, holder_fence = 1", other.id)
    with pytest.raises(StaleFence):
        await complete_one(db, F1, done(ref))
    with pytest.raises(StaleFence):
        await fail(db, F1, ref, Failure(error="x"))
    with pytest.raises(StaleFence):
        await release(db, F1, ref, Release(reason="x"))
    assert await state_of(db, ref.job_id) is JobState.READY
    assert (await lock_holder(db, "merge"))[0] == other.id
