"""Renew: a factory says that it is still at work.

A running lease is prolonged by one statement. What that leaves out is looked at one by one: a lease
that has lapsed is resumed if nobody has taken the job or its lock meanwhile, even if its factory
has no free seat any more; everything else is lost. A factory that was removed resumes nothing
before it has registered again, as nothing would count the seat.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from app import lease as law
from app.coordinator import receipts, steps
from app.coordinator.finish import LeaseRef
from app.coordinator.steps import Step
from app.fleet import FactoryId, JobId
from app.life import Change, Event, Hand
from app.store import enlisting, leases, lives, retrying
from app.store.leases import Renewed, Renewing
from app.store.lives import Reading
from app.store.session import Connection, Database


class RenewOutcome(StrEnum):
    """What became of a lease."""

    RENEWED = "renewed"
    LOST = "lost"
    CANCEL_REQUESTED = "cancel_requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseAnswer:
    """What became of one lease; a lost one has no end and no length.

    ``over_committed``: it was resumed although its factory has no seat left for it.
    """

    job_id: JobId
    fence: int
    outcome: RenewOutcome
    expires_at: datetime | None = None
    lease_s: int | None = None
    over_committed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """The leases that one factory is still at work on; ``lease_s``: their new length, if any."""

    factory_id: FactoryId
    refs: Sequence[LeaseRef]
    lease_s: int | None = None


async def insist_on(db: Database, factory_id: FactoryId, answer: LeaseAnswer) -> LeaseAnswer:
    """Return the answer if the lease is not lost.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the lease is lost, or its job's time to run is over.
    """
    if answer.outcome is RenewOutcome.LOST:
        ref = LeaseRef(job_id=answer.job_id, fence=answer.fence)
        async with db.connection() as conn:
            refused = await receipts.look_up(conn, factory_id, [ref], Event.RENEW)
        receipts.insist(refused[ref])
    return answer


async def renew_for_all(db: Database, renewals: Sequence[Renewal]) -> list[tuple[LeaseAnswer, ...]]:
    """Renew leases of several factories, no lease for two of them, each lease on its own.

    Running leases are prolonged together, by a statement that commits by itself. For each renewal
    there is one answer a lease, in their order.
    """
    wanted = [
        Renewing(lease=ref, factory_id=each.factory_id, lease_s=each.lease_s)
        for each in renewals
        for ref in each.refs
    ]
    if not wanted:
        return [()] * len(renewals)
    running = await retrying.settled_by_itself(db, lambda conn: leases.renew_all(conn, wanted))
    return [await _answers(db, each, running) for each in renewals]


async def _answers(
    db: Database, renewal: Renewal, running: Mapping[LeaseRef, Renewed]
) -> tuple[LeaseAnswer, ...]:
    """Answer one factory; what does not run is looked at more closely."""
    answers = {ref: _renewed(running[ref]) for ref in renewal.refs if ref in running}
    left = [ref for ref in dict.fromkeys(renewal.refs) if ref not in running]

    async def lapsed(conn: Connection) -> dict[LeaseRef, LeaseAnswer]:
        return await _resume(conn, renewal.factory_id, left, renewal.lease_s)

    if left:
        answers |= await retrying.settled(db, lapsed)
    return tuple(answers.get(ref, _lost(ref)) for ref in renewal.refs)


async def _resume(
    conn: Connection, factory_id: FactoryId, refs: Iterable[LeaseRef], lease_s: int | None
) -> dict[LeaseRef, LeaseAnswer]:
    """Resume what has lapsed; left out is what is lost."""
    readings = await lives.read(conn, {ref.job_id for ref in refs})
    wanted: dict[LeaseRef, Step] = {}
    for ref in refs:
        step = _resumption(readings.get(ref.job_id), factory_id, ref, lease_s)
        if step is not None:
            wanted[ref] = step
    # Who was removed meanwhile has no seat to resume it on, until it registers again.
    if not wanted or await enlisting.lock_seats(conn, factory_id) is None:
        return {}
    moved = await steps.write(conn, list(wanted.values()))
    if len(moved) < len(wanted):
        raise retrying.Moved
    return {
        ref: LeaseAnswer(
            job_id=ref.job_id,
            fence=ref.fence,
            outcome=_told(cancel_requested=step.change.after.cancel_requested_at is not None),
            expires_at=step.change.after.lease_expires_at,
            lease_s=step.change.after.lease_s,
            over_committed=moved[ref.job_id].over_committed,
        )
        for ref, step in wanted.items()
    }


def _resumption(
    reading: Reading | None, factory_id: FactoryId, ref: LeaseRef, lease_s: int | None
) -> Step | None:
    if reading is None:
        return None
    life = replace(reading.life, lease_s=lease_s or reading.life.lease_s)
    decided = law.renew(life, Hand(factory=factory_id, fence=ref.fence), now=reading.now)
    if not isinstance(decided, Change):
        return None
    return Step(reading=reading, change=decided, detail={"late": not reading.life.seated})


def _renewed(renewed: Renewed) -> LeaseAnswer:
    return LeaseAnswer(
        job_id=renewed.lease.job_id,
        fence=renewed.lease.fence,
        outcome=_told(cancel_requested=renewed.cancel_requested),
        expires_at=renewed.expires_at,
        lease_s=renewed.lease_s,
    )


def _told(*, cancel_requested: bool) -> RenewOutcome:
    return RenewOutcome.CANCEL_REQUESTED if cancel_requested else RenewOutcome.RENEWED


def _lost(ref: LeaseRef) -> LeaseAnswer:
    return LeaseAnswer(job_id=ref.job_id, fence=ref.fence, outcome=RenewOutcome.LOST)
