"""Receipts: what to answer a factory whose fence is not open (any more).

It may be repeating the call that closed the fence, because the first answer was lost: then it gets
that answer again. Everything else is stale, or none of its business; nothing changes either way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app import lease as law
from app.errors import Forbidden, NotFound, StaleFence
from app.fleet import FactoryId, JobId, JobState, Outcome
from app.life import Event, Reason
from app.store import leases, lives
from app.store.claims import LeaseId
from app.store.leases import Receipt
from app.store.lives import Reading
from app.store.session import Connection


class Settled(StrEnum):
    """What became of a report on a lease."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RELEASED = "released"
    CANCELLED = "cancelled"
    STALE_FENCE = "stale_fence"
    NOT_FOUND = "not_found"
    NOT_YOURS = "not_yours"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishOutcome:
    """What became of a report, and where the job stands by it; ``replayed``: it was a repeat."""

    job_id: JobId
    outcome: Settled
    state: JobState | None = None
    version: int | None = None
    replayed: bool = False


async def look_up(
    conn: Connection, factory_id: FactoryId, wanted: Sequence[LeaseId], call: Event
) -> dict[LeaseId, FinishOutcome]:
    """Answer reports whose fences are not open to this factory."""
    if not wanted:
        return {}
    receipts = await leases.receipts(conn, wanted)
    readings = await lives.read(conn, {lease.job_id for lease in wanted})
    answers = {}
    for lease in wanted:
        receipt = receipts.get(lease)
        reading = readings.get(lease.job_id)
        if receipt is not None and _repeats(receipt, factory_id, call):
            answers[lease] = _first_answer(lease, receipt)
        else:
            answers[lease] = _refusal(lease, factory_id, reading)
    return answers


def insist(outcome: FinishOutcome) -> FinishOutcome:
    """Turn an outcome that is a refusal into one.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the fence is not open.
    """
    match outcome.outcome:
        case Settled.NOT_FOUND:
            detail = f"There is no job {outcome.job_id}."
            raise NotFound(detail)
        case Settled.NOT_YOURS:
            detail = "The lease belongs to another factory."
            raise Forbidden(detail)
        case Settled.STALE_FENCE:
            detail = "The job, or its lock, went on without this lease. Stop working on it."
            raise StaleFence(
                detail,
                state=outcome.state and outcome.state.value,
                current_version=outcome.version,
            )
        case Settled.SUCCEEDED | Settled.FAILED | Settled.RELEASED | Settled.CANCELLED:
            return outcome


def _repeats(receipt: Receipt, factory_id: FactoryId, call: Event) -> bool:
    judged = law.repeated(receipt.event, call)
    return receipt.factory_id == factory_id and judged.reason is Reason.ALREADY


def _first_answer(lease: LeaseId, receipt: Receipt) -> FinishOutcome:
    return FinishOutcome(
        job_id=lease.job_id,
        outcome=settled_as(receipt.outcome),
        state=receipt.state,
        version=receipt.version,
        replayed=True,
    )


def settled_as(outcome: Outcome) -> Settled:
    """Name a report by how its lease ended."""
    return Settled(outcome.value)


def _refusal(lease: LeaseId, factory_id: FactoryId, reading: Reading | None) -> FinishOutcome:
    if reading is None:
        return FinishOutcome(job_id=lease.job_id, outcome=Settled.NOT_FOUND)
    life = reading.life
    if life.fence == lease.fence and life.holder not in {None, factory_id}:
        return FinishOutcome(job_id=lease.job_id, outcome=Settled.NOT_YOURS)
    return FinishOutcome(
        job_id=lease.job_id,
        outcome=Settled.STALE_FENCE,
        state=life.state,
        version=reading.version,
    )
