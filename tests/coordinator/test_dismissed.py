"""A factory that was removed has no seats: what it held is counted when it is back, or not."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from app.coordinator.complete import Completion, Report, complete_all
from app.coordinator.enlist import dismiss, enlist
from app.coordinator.expire import sweep
from app.coordinator.finish import Failure, LeaseRef, Release, fail, release
from app.coordinator.heartbeat import Beat, heartbeat
from app.coordinator.renew import RenewOutcome
from app.errors import NotFound, StaleFence
from app.fleet import FactoryId, FactorySpec, JobState
from app.store import enlisting
from app.store.session import Database
from tests.support.factories import OPS, factory_principal, register
from tests.support.jobs import lease, put, somebody_waits, state_of
from tests.support.leases import age, claim, claim_one, inconsistencies, seats_used
from tests.support.renewing import renew, renew_all

F1 = FactoryId("f1")
MINUTE = 60

End: TypeAlias = Callable[[Database, LeaseRef], Awaitable[object]]


async def completing(db: Database, ref: LeaseRef) -> None:
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    await complete_all(db, [Report(factory_id=F1, completions=[done])])


async def failing(db: Database, ref: LeaseRef) -> None:
    await fail(db, F1, ref, Failure(error="boom"))


async def releasing(db: Database, ref: LeaseRef) -> None:
    await release(db, F1, ref, Release(reason="disk full"))


async def expiring(db: Database, ref: LeaseRef) -> None:
    await age(db, ref.job_id, MINUTE + 1)
    await sweep(db)


async def timing_out(db: Database, ref: LeaseRef) -> None:
    await age(db, ref.job_id, 5 * 3600)
    await sweep(db)


ENDS: tuple[End, ...] = (completing, failing, releasing, expiring, timing_out)


async def lapsed_in_a_partition(db: Database) -> LeaseRef:
    """The lease of f1 on the only job ends while nothing is heard of it."""
    async with db.transaction() as conn:
        await register(conn, F1)
    await put(db)
    ref = await claim_one(db, F1, lease_s=MINUTE)
    await expiring(db, ref)
    return ref


async def lapsed_and_dismissed(db: Database) -> LeaseRef:
    """A lease of f1 lapses in a partition, and ops remove the factory meanwhile."""
    ref = await lapsed_in_a_partition(db)
    await dismiss(db, F1, by=OPS)
    return ref


async def back_again(db: Database) -> None:
    spec = FactorySpec(id=F1)
    await enlist(db, spec, fields_set=frozenset(), by=factory_principal(F1))


async def contradictions(db: Database) -> list[str]:
    async with db.connection() as conn:
        return list(await inconsistencies(conn))


@pytest.mark.parametrize("end", ENDS)
async def test_no_end_of_a_lease_gives_back_a_seat_that_was_never_taken(
    db: Database, end: End
) -> None:
    ref = await lapsed_and_dismissed(db)
    # The heartbeat that comes too late is not that of a factory any more, and takes no seat.
    with pytest.raises(NotFound):
        await heartbeat(db, F1, Beat(leases=(ref,)))
    await back_again(db)
    try:
        await end(db, ref)
    finally:
        assert await seats_used(db, F1) == 0
        assert await contradictions(db) == []
    await put(db)
    await put(db)
    assert len(await claim(db, F1, 2)) == 1


@pytest.mark.parametrize("end", ENDS)
async def test_a_factory_that_is_back_goes_on_with_what_nobody_else_took(
    db: Database, end: End
) -> None:
    ref = await lapsed_and_dismissed(db)
    await back_again(db)
    (answer,) = await renew_all(db, F1, [ref])
    assert (answer.outcome, answer.over_committed) == (RenewOutcome.RENEWED, False)
    assert await seats_used(db, F1) == 1
    await end(db, ref)
    assert await seats_used(db, F1) == 0
    assert await contradictions(db) == []


async def test_a_removal_in_the_moment_of_a_late_heartbeat_comes_first_or_last(
    db: Database,
) -> None:
    ref = await lapsed_in_a_partition(db)
    async with db.connection() as other:
        removing = await db.dedicated()
        async with removing.transaction():
            assert await enlisting.lock_seats(removing, F1) == 0
            renewing = asyncio.create_task(renew_all(db, F1, [ref]))
            await somebody_waits(other)
            await enlisting.remove(removing, F1)
        await removing.close()
    (answer,) = await renewing
    assert answer.outcome is RenewOutcome.LOST
    assert await contradictions(db) == []


async def test_a_seat_that_an_older_build_forgot_is_counted_when_its_factory_is_back(
    db: Database,
) -> None:
    job = await put(db)
    fence = await lease(db, job.id, F1)  # f1 has no row to count it in
    await back_again(db)
    assert await seats_used(db, F1) == 1
    await completing(db, LeaseRef(job_id=job.id, fence=fence))
    assert await seats_used(db, F1) == 0


async def test_who_is_not_registered_resumes_nothing(db: Database) -> None:
    ref = await lapsed_and_dismissed(db)
    (answer,) = await renew_all(db, F1, [ref])
    assert answer.outcome is RenewOutcome.LOST
    with pytest.raises(StaleFence):
        await renew(db, F1, ref)
    assert await state_of(db, ref.job_id) is JobState.READY
    assert await contradictions(db) == []
