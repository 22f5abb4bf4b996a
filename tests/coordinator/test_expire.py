"""The lease loop: what time alone brings about, one pass at a time."""

from datetime import timedelta

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.complete import Completion
from app.coordinator.expire import sweep
from app.coordinator.finish import Failure, LeaseRef, Release, fail, release
from app.coordinator.receipts import Settled
from app.errors import StaleFence
from app.fleet import FactoryId, Health, JobState, Standing
from app.store.session import Database
from tests.strategies import make_class
from tests.support.completing import complete
from tests.support.factories import OPS, database_now, register
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
from tests.support.renewing import renew

F1, F2 = FactoryId("f1"), FactoryId("f2")


@pytest.fixture(autouse=True)
async def fleet(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=2)
        await register(conn, F2)


async def assert_consistent(db: Database) -> None:
    async with db.connection() as conn:
        assert not await inconsistencies(conn)


async def test_a_pass_with_nothing_to_do_does_nothing(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    before = await row_of(db, ref.job_id)
    report = await sweep(db)
    assert (report.expired, report.unblocked, report.pruned, report.busy) == (0, 0, 0, False)
    assert await row_of(db, ref.job_id) == before


async def test_an_expired_lease_puts_the_job_back_and_goes_elsewhere(db: Database) -> None:
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    await age(db, ref.job_id, 61)
    assert (await sweep(db)).expired == 1
    job = await get(db, ref.job_id)
    assert (job.state, job.attempts, job.fence_open) == (JobState.READY, 1, True)
    assert job.job_class.excluded == {F1}
    assert await seats_used(db, F1) == 0
    assert await lock_holder(db, "merge") == (ref.job_id, ref.fence, True)
    event = await last_event(db, ref.job_id)
    assert (event["event"], event["outcome"]) == ("expire", "expired")
    assert await claim(db, F1) == []
    assert (await claim_one(db, F2)).fence == ref.fence + 1
    await assert_consistent(db)


async def test_a_late_worker_changes_nothing_after_the_next_claim(db: Database) -> None:
    """C01."""
    await put(db)
    old = await claim_one(db, F1)
    await age(db, old.job_id, 61)
    await sweep(db)
    new = await claim_one(db, F2)
    assert new.fence > old.fence
    before = await row_of(db, old.job_id)
    with pytest.raises(StaleFence):
        await renew(db, F1, old)
    with pytest.raises(StaleFence):
        await fail(db, F1, old, Failure(error="late"))
    with pytest.raises(StaleFence):
        await release(db, F1, old, Release(reason="late"))
    late = Completion(job_id=old.job_id, fence=old.fence)
    outcomes = (await complete(db, F1, [late])).outcomes
    assert outcomes[0].outcome is Settled.STALE_FENCE
    assert await row_of(db, old.job_id) == before
    await complete(db, F2, [Completion(job_id=new.job_id, fence=new.fence)])
    outcomes = (await complete(db, F1, [late])).outcomes
    assert outcomes[0].outcome is Settled.STALE_FENCE
    assert (await history(db, old.job_id)).count("complete") == 1


@pytest.mark.parametrize("swept", [False, True])
async def test_expiry_alone_closes_no_fence(db: Database, *, swept: bool) -> None:
    """C01, the rule for its last question: the newest open fence wins, the clock does not."""
    await put(db)
    ref = await claim_one(db, F1)
    await age(db, ref.job_id, 61)
    if swept:
        await sweep(db)
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    (outcome,) = (await complete(db, F1, [done])).outcomes
    assert outcome.outcome is Settled.SUCCEEDED
    assert await seats_used(db, F1) == 0
    await assert_consistent(db)


async def test_a_job_that_runs_too_long_is_failed_although_it_renews(db: Database) -> None:
    """C07."""
    await put(db, timeout_s=100)
    ref = await claim_one(db, F1)
    await age(db, ref.job_id, 50)
    await renew(db, F1, ref)
    await age(db, ref.job_id, 50)
    report = await sweep(db, draw=lambda: 0.0)
    assert (report.timed_out, report.expired, report.died) == (1, 0, 0)
    job = await get(db, ref.job_id)
    assert (job.state, job.fence_open, job.attempts) == (JobState.SCHEDULED, False, 1)
    assert (await last_event(db, ref.job_id))["outcome"] == "timed_out"
    with pytest.raises(StaleFence):
        await fail(db, F1, ref, Failure(error="late"))
    await assert_consistent(db)
    await age(db, ref.job_id, 10)
    assert (await sweep(db)).unblocked == 1
    assert await state_of(db, ref.job_id) is JobState.READY


async def test_a_lapsed_last_attempt_keeps_its_lock_for_a_grace(db: Database) -> None:
    await put(db, attempts_max=1, job_class=make_class(lock="merge"))
    child = await put(db, depends_on=((await claim_one(db, F1)).job_id,))
    ref = LeaseRef(job_id=(await get(db, child.id)).depends_on[0], fence=1)
    await age(db, ref.job_id, 61)
    assert (await sweep(db)).expired == 1
    assert await state_of(db, ref.job_id) is JobState.LEASED
    assert await seats_used(db, F1) == 0
    assert await lock_holder(db, "merge") == (ref.job_id, ref.fence, False)
    await renew(db, F1, ref)
    assert await seats_used(db, F1) == 1
    await age(db, ref.job_id, 61)
    await sweep(db)
    await age(db, ref.job_id, 899)
    assert (await sweep(db)).died == 0
    await age(db, ref.job_id, 1)
    assert (await sweep(db)).died == 1
    assert await state_of(db, ref.job_id) is JobState.DEAD
    assert await state_of(db, child.id) is JobState.CANCELLED
    assert await lock_holder(db, "merge") == (None, None, False)
    await assert_consistent(db)


async def test_a_cancel_that_nobody_heeds_ends_with_the_lease(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    await cancel(db, ref.job_id, reason=None, by=OPS)
    await age(db, ref.job_id, 61)
    await sweep(db)
    assert await state_of(db, ref.job_id) is JobState.CANCELLED
    assert (await last_event(db, ref.job_id))["outcome"] == "cancelled"
    assert await seats_used(db, F1) == 0
    await assert_consistent(db)


async def test_what_was_to_wait_until_now_is_ready(db: Database) -> None:
    async with db.connection() as conn:
        soon = await database_now(conn) + timedelta(minutes=5)
    job = await put(db, run_after=soon)
    assert (await sweep(db)).unblocked == 0
    await age(db, job.id, 301)
    assert (await sweep(db)).unblocked == 1
    assert await state_of(db, job.id) is JobState.READY


async def test_a_hold_ends_at_its_time(db: Database) -> None:
    job = await put(db)
    async with db.connection() as conn:
        until = await database_now(conn) + timedelta(minutes=5)
    hold = Standing(reason="wait", by="ann", until=until)
    async with db.connection() as conn:
        await conn.execute(
            "update job set state = 'held', hold_reason = $1, hold_by = $2, hold_until = $3,"
            " wake_at = $3",
            hold.reason,
            hold.by,
            hold.until,
        )
    await age(db, job.id, 301)
    assert (await sweep(db)).unblocked == 1
    after = await get(db, job.id)
    assert (after.state, after.hold) == (JobState.READY, None)


async def test_a_fence_whose_lock_went_elsewhere_is_not_waited_for(db: Database) -> None:
    first = await put(db, job_class=make_class(lock="merge"), timeout_s=100)
    ref = await claim_one(db, F1)
    other = await put(db, job_class=make_class(lock="merge"))
    await age(db, ref.job_id, 61)
    await sweep(db)
    (second,) = await claim(db, F2)
    if second.job_id == first.id:  # the older one goes first, now under a newer fence
        await release(db, F2, second, Release(reason="x", retry_after_s=600))
        (second,) = await claim(db, F2)
    assert second.job_id == other.id
    await age(db, ref.job_id, 100)
    await sweep(db)
    assert (await lock_holder(db, "merge"))[0] == other.id
    await assert_consistent(db)


async def test_one_at_a_time_per_lock_and_the_next_goes_after_each_ending(db: Database) -> None:
    """C71: two agents never work in one clone."""
    for _ in range(4):
        await put(db, job_class=make_class(lock="clone"), timeout_s=3600)
    ended = set()
    for ending in ("done", "expiry", "cancel"):
        (ref,) = await claim(db, F1, 2)
        ended.add(ref.job_id)
        assert await claim(db, F2) == []
        if ending == "done":
            await complete(db, F1, [Completion(job_id=ref.job_id, fence=ref.fence)])
        else:
            if ending == "cancel":
                await cancel(db, ref.job_id, reason=None, by=OPS)
            await age(db, ref.job_id, 61)
            await sweep(db)
        (following,) = await claim(db, F2)
        assert await claim(db, F1) == []
        await release(db, F2, following, Release(reason="only asking"))
        await assert_consistent(db)
    assert len(ended) == 3


async def test_an_exclusion_that_leaves_nobody_is_dropped(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    await fail(db, F1, ref, Failure(error="x", retry_after_s=0))
    assert await claim(db, F1) == []
    assert (await sweep(db)).unblocked == 0
    async with db.connection() as conn:
        await conn.execute(
            "update factory_pulse set health = $1 where factory_id = 'f2'", Health.DOWN
        )
    assert (await sweep(db)).unblocked == 1
    assert (await last_event(db, ref.job_id))["detail"] == {"factories": ["f1"]}
    assert (await claim_one(db, F1)).job_id == ref.job_id


async def test_a_factory_that_failed_at_once_five_times_is_quarantined(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, "f3")
    for _ in range(5):
        await put(db)
        ref = await claim_one(db, F1)
        await fail(db, F1, ref, Failure(error="x", retryable=False))
    async with db.connection() as conn:
        until = await conn.fetchval("select quarantined_until from factory where id = 'f1'")
        assert until is not None
        await conn.execute("update factory set quarantined_until = null")
    await sweep(db)  # sees to what the reporting call could not
    async with db.connection() as conn:
        assert await conn.fetchval("select quarantined_until from factory where id = 'f1'") == until
