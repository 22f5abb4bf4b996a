"""Renew and heartbeat: leases that run, that lapsed, and that are lost."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.complete import Completion
from app.coordinator.finish import Failure, LeaseRef, Release, fail, release
from app.coordinator.heartbeat import Beat, heartbeat
from app.coordinator.renew import RenewOutcome
from app.errors import Forbidden, NotFound, StaleFence
from app.fleet import FactoryId, Health, JobId, JobState
from app.runtime.ids import new_id
from app.store import factories
from app.store.session import Database
from tests.strategies import make_class
from tests.support.completing import complete
from tests.support.factories import OPS, database_now, register
from tests.support.jobs import put, somebody_waits, state_of
from tests.support.leases import (
    age,
    claim,
    claim_one,
    inconsistencies,
    last_event,
    lock_holder,
    row_of,
    seats_used,
)
from tests.support.renewing import renew, renew_all

F1, F2 = FactoryId("f1"), FactoryId("f2")


async def completed(db: Database, ref: LeaseRef) -> None:
    await complete(db, F1, [Completion(job_id=ref.job_id, fence=ref.fence)])


async def failed(db: Database, ref: LeaseRef) -> None:
    await fail(db, F1, ref, Failure(error="x", retryable=False))


async def released(db: Database, ref: LeaseRef) -> None:
    await release(db, F1, ref, Release(reason="x"))


@pytest.fixture(autouse=True)
async def fleet(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=2)
        await register(conn, F2)


async def lapse(db: Database, ref: LeaseRef, *, state: JobState = JobState.READY) -> None:
    """Write down the end of a lease as the sweep does."""
    async with db.transaction() as conn:
        await conn.execute(
            "update job set state = $2, seated = false, version = version + 1 where id = $1",
            ref.job_id,
            state,
        )
        await conn.execute("update job_lock set lapsed = true where holder_job = $1", ref.job_id)
        await conn.execute("update factory_seat set used = used - 1 where factory_id = 'f1'")


async def test_renewing_moves_the_end_and_the_version(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    await age(db, ref.job_id, 50)
    before = await row_of(db, ref.job_id)
    answer = await renew(db, F1, ref)
    after = await row_of(db, ref.job_id)
    assert (answer.outcome, answer.expires_at) == (
        RenewOutcome.RENEWED,
        after["lease_expires_at"],
    )
    assert after["lease_expires_at"] == after["updated_at"] + timedelta(seconds=60)
    assert after["wake_at"] == after["lease_expires_at"]
    assert after["version"] == before["version"] + 1
    assert (after["claimed_at"], after["fence"]) == (before["claimed_at"], before["fence"])


async def test_a_renewal_may_change_the_length(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    assert (await renew(db, F1, ref, 300)).lease_s == 300
    assert (await renew(db, F1, ref)).lease_s == 300


async def test_the_loop_is_told_of_the_timeout_before_the_end_of_a_long_lease(
    db: Database,
) -> None:
    await put(db, timeout_s=100)
    ref = await claim_one(db, F1)
    await renew(db, F1, ref, 300)
    row = await row_of(db, ref.job_id)
    assert row["wake_at"] == row["claimed_at"] + timedelta(seconds=100)


async def test_renewing_is_refused_once_the_time_to_run_is_over(db: Database) -> None:
    """C07: a hung job may heartbeat, but not for ever."""
    await put(db, timeout_s=100)
    ref = await claim_one(db, F1, lease_s=60)
    for _ in range(3):
        await renew(db, F1, ref)
        await age(db, ref.job_id, 30)
    await age(db, ref.job_id, 10)
    before = await row_of(db, ref.job_id)
    with pytest.raises(StaleFence):
        await renew(db, F1, ref)
    assert await row_of(db, ref.job_id) == before


async def test_a_lapsed_lease_is_resumed_even_without_a_seat(db: Database) -> None:
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    await lapse(db, ref)
    async with db.connection() as conn:
        await conn.execute("update factory_seat set seat_limit = 0 where factory_id = 'f1'")
    answer = await renew(db, F1, ref)
    assert (answer.outcome, answer.over_committed) == (RenewOutcome.RENEWED, True)
    row = await row_of(db, ref.job_id)
    assert (row["state"], row["seated"], row["attempts"]) == ("leased", True, 1)
    assert await seats_used(db, F1) == 1
    assert await lock_holder(db, "merge") == (ref.job_id, ref.fence, False)
    event = await last_event(db, ref.job_id)
    assert (event["event"], event["fence"]) == ("renew", ref.fence)
    assert event["detail"]["over_committed"] is True
    async with db.connection() as conn:
        assert not await inconsistencies(conn)


async def test_a_lapsed_lease_is_lost_once_its_job_or_its_lock_is_taken(db: Database) -> None:
    """C01: the late worker is told, whatever it tries."""
    await put(db, job_class=make_class(lock="merge"))
    ref = await claim_one(db, F1)
    await lapse(db, ref)
    newer = await claim_one(db, F2)
    assert newer.fence > ref.fence
    with pytest.raises(StaleFence):
        await renew(db, F1, ref)
    assert (await row_of(db, ref.job_id))["holder"] == F2


async def test_only_the_holder_renews(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    with pytest.raises(Forbidden):
        await renew(db, F2, ref)
    with pytest.raises(NotFound):
        await renew(db, F1, LeaseRef(job_id=JobId(new_id()), fence=1))


async def test_the_renewal_that_tells_of_a_cancel_is_the_last(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    await cancel(db, ref.job_id, reason=None, by=OPS)
    first = await renew(db, F1, ref)
    assert first.outcome is RenewOutcome.CANCEL_REQUESTED
    await age(db, ref.job_id, 30)
    second = await renew(db, F1, ref)
    assert second.outcome is RenewOutcome.CANCEL_REQUESTED
    assert first.expires_at is not None
    assert second.expires_at == first.expires_at - timedelta(seconds=30)
    await age(db, ref.job_id, 30)
    with pytest.raises(StaleFence):
        await renew(db, F1, ref)


async def test_a_batch_answers_for_each_lease_in_order(db: Database) -> None:
    for _ in range(3):
        await put(db)
    one, two = await claim(db, F1, 2)
    (foreign,) = await claim(db, F2)
    await lapse(db, two)
    gone = LeaseRef(job_id=JobId(new_id()), fence=1)
    answers = await renew_all(db, F1, [gone, two, foreign, one, two])
    assert [each.outcome for each in answers] == [
        RenewOutcome.LOST,
        RenewOutcome.RENEWED,
        RenewOutcome.LOST,
        RenewOutcome.RENEWED,
        RenewOutcome.RENEWED,
    ]
    assert answers[0].expires_at is None
    assert await seats_used(db, F1) == 2


async def test_a_heartbeat_renews_and_tells_what_the_factory_should_know(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1, lease_s=90)
    async with db.connection() as conn:
        until = await database_now(conn) + timedelta(hours=1)
    beat = Beat(
        health=Health.DEGRADED,
        external_load=3,
        warm_repos=("shop",),
        cooldown_until=until,
        leases=(ref,),
    )
    answer = await heartbeat(db, F1, beat)
    assert [each.outcome for each in answer.leases] == [RenewOutcome.RENEWED]
    assert (answer.drain, answer.next_heartbeat_s) == (False, 30)
    async with db.connection() as conn:
        (facts,) = (await factories.snapshot(conn, [F1])).factories
    factory = facts.factory
    assert (factory.health, factory.external_load) == (Health.DEGRADED, 3)
    assert (set(factory.warm_repos), factory.cooldown_until) == ({"shop"}, until)


async def test_a_heartbeat_without_leases_is_due_every_minute(db: Database) -> None:
    async with db.connection() as conn:
        await conn.execute("update factory set drain_reason = 'upgrade', drain_by = 'ann'")
    answer = await heartbeat(db, F1, Beat())
    assert (answer.leases, answer.drain, answer.next_heartbeat_s) == ((), True, 60)


async def test_a_drain_whose_time_has_passed_is_over(db: Database) -> None:
    async with db.connection() as conn:
        await conn.execute(
            "update factory set drain_reason = 'upgrade', drain_by = 'ann',"
            " drain_until = now() - interval '1 second'"
        )
    assert not (await heartbeat(db, F1, Beat())).drain


async def test_a_heartbeat_of_a_stranger_is_refused(db: Database) -> None:
    with pytest.raises(NotFound):
        await heartbeat(db, FactoryId("nobody"), Beat())


async def test_a_job_that_was_held_after_its_lease_lapsed_may_be_resumed(db: Database) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    await lapse(db, ref, state=JobState.HELD)
    async with db.connection() as conn:
        await conn.execute("update job set hold_reason = 'wait', hold_by = 'ann'")
    assert (await renew(db, F1, ref)).outcome is RenewOutcome.RENEWED
    assert await state_of(db, ref.job_id) is JobState.LEASED
    assert (await row_of(db, ref.job_id))["hold_reason"] == "wait"


@pytest.mark.parametrize("ends", [completed, failed, released])
async def test_a_report_that_waits_for_a_late_renewal_gives_back_the_seat_it_took(
    db: Database, ends: Callable[[Database, LeaseRef], Coroutine[None, None, None]]
) -> None:
    """When it began no seat was taken; it counts what there is when its turn has come."""
    await put(db)
    ref = await claim_one(db, F1)
    await lapse(db, ref)
    async with db.connection() as other:
        renewing = await db.dedicated()
        async with renewing.transaction():
            await renewing.execute("update factory_seat set used = 1 where factory_id = 'f1'")
            await renewing.execute(
                "update job set state = 'leased', seated = true, version = version + 1,"
                " lease_expires_at = now() + interval '1 minute' where id = $1",
                ref.job_id,
            )
            reporting = asyncio.create_task(ends(db, ref))
            await somebody_waits(other)
        await renewing.close()
        await reporting
        assert await seats_used(db, F1) == 0
        assert await inconsistencies(other) == []
