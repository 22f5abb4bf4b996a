"""Cancel: at once what nobody is running, the dead too; of what somebody is, ask for the end.

Against a completion at the same instant exactly one wins, by the version of the row; whoever lost
reads again and answers what became of the job.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app import lease
from app.coordinator.dependants import parent_ended
from app.coordinator.moving import move, reading_of
from app.fleet import JobId, JobRecord, JobState, JsonObject, Principal
from app.life import Change
from app.store import jobs
from app.store.lives import Reading
from app.store.retrying import settled
from app.store.session import Connection, Database
from app.store.wake import wake

_OVER: Final = frozenset({JobState.SUCCEEDED, JobState.CANCELLED})
"""What a cancel comes too late for."""


class CancelOutcome(StrEnum):
    """What a cancel came to."""

    CANCELLED = "cancelled"
    CANCEL_REQUESTED = "cancel_requested"
    ALREADY_FINISHED = "already_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The outcome, and the job as it is now."""

    outcome: CancelOutcome
    job: JobRecord


async def cancel(db: Database, job_id: JobId, *, reason: str | None, by: Principal) -> Cancelled:
    """Cancel a job and, unless they say otherwise, what depends on it.

    A dead one leaves the dead letter by it: what depends on it was told when it died.

    Raises:
        NotFound: there is no such job.
        LostRace: others kept changing it.
    """

    async def once(conn: Connection) -> Cancelled:
        outcome = await cancel_once(conn, await reading_of(conn, job_id), reason, by)
        return Cancelled(outcome=outcome, job=(await jobs.by_ids(conn, [job_id]))[job_id])

    return await settled(db, once)


async def cancel_once(
    conn: Connection, reading: Reading, reason: str | None, by: Principal
) -> CancelOutcome:
    """Cancel a job as it was read, in the caller's transaction.

    Raises:
        Moved: it changed since.
    """
    if reading.life.state in _OVER:
        return CancelOutcome.ALREADY_FINISHED
    decision = lease.cancel(reading.life, now=reading.now)
    if not isinstance(decision, Change):
        # Asked for before, by a call or because a parent failed: it stands.
        return CancelOutcome.CANCEL_REQUESTED
    detail: JsonObject = {} if reason is None else {"reason": reason}
    has_dependants = await move(conn, reading, decision, by=by, detail=detail)
    if decision.after.state is JobState.LEASED:
        return CancelOutcome.CANCEL_REQUESTED
    if decision.finished and has_dependants:
        await wake(conn, await parent_ended(conn, [(reading.id, decision.after.state)]))
    return CancelOutcome.CANCELLED
