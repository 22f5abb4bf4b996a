"""Complete: factories report that leases ended well, and take their next jobs in the same call.

Completing is the hot path: the reports of all factories that arrive together are one statement,
which commits by itself. Only jobs that others wait for are in a transaction, as their dependants
move with them. A report whose fence is not open changes nothing; if it repeats the one that closed
the fence, it gets the first answer again.

The next jobs are claimed at the desk, among all others who claim, as soon as the completions are
committed. The claim bears a key that is made of the report, so that a repeat of the report gets the
leases of the first, as far as they are current, even if the first is still being answered; and if
it never came to claim, the repeat does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from app.coordinator import receipts
from app.coordinator.claim import Claim
from app.coordinator.dependants import parent_ended
from app.coordinator.receipts import FinishOutcome, Settled
from app.fleet import ClassId, FactoryId, JobId, JobState, Json
from app.life import Event
from app.store import completing, retrying
from app.store.claims import LeaseId
from app.store.completing import Completed, Completing
from app.store.session import Connection, Database
from app.store.wake import wake

_CLAIM_NEXT = "\x1fnext:"
"""Before the keys of reports: no key that a caller can send begins like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A job that succeeded under this fence."""

    job_id: JobId
    fence: int
    result: Json = None

    @property
    def lease(self) -> LeaseId:
        """The lease that it ends."""
        return LeaseId(job_id=self.job_id, fence=self.fence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one factory completed."""

    factory_id: FactoryId
    completions: Sequence[Completion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One outcome for each completion, in their order, and the jobs claimed in the same call."""

    outcomes: tuple[FinishOutcome, ...]
    claims: tuple[Claim, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether anything was completed, by this report or by the one that it repeats."""
        return any(each.outcome is Settled.SUCCEEDED for each in self.outcomes)


def touches(report: Report) -> Iterable[LeaseId]:
    """Name the leases of a report: no two reports of a batch may have one in common."""
    return (each.lease for each in report.completions)


def claim_key(report: Report) -> str:
    """Make the idempotency key under which the next jobs of a report are claimed."""
    named = sorted(f"{lease.job_id}:{lease.fence}" for lease in touches(report))
    return _CLAIM_NEXT + sha256(" ".join(named).encode()).hexdigest()


async def complete_all(db: Database, reports: Sequence[Report]) -> tuple[Finished, ...]:
    """Complete leases of several factories, each on its own.

    Args:
        db: where.
        reports: what was completed, no lease in two of them.
    """
    done, parents = await retrying.settled_by_itself(
        db, lambda conn: completing.complete_childless(conn, _completing(reports))
    )
    if parents:
        left = [_within(report, parents) for report in reports]
        done |= await retrying.settled(db, lambda conn: _with_dependants(conn, left))
    return tuple([await _finished(db, report, done) for report in reports])


def _completing(reports: Iterable[Report]) -> list[Completing]:
    wanted = {
        each.lease: Completing(lease=each.lease, factory_id=report.factory_id, result=each.result)
        for report in reports
        for each in report.completions
    }
    return list(wanted.values())


def _within(report: Report, parents: frozenset[LeaseId]) -> Report:
    """Return what of a report has to be written within a transaction."""
    kept = [each for each in report.completions if each.lease in parents]
    return replace(report, completions=kept)


async def _with_dependants(conn: Connection, reports: Sequence[Report]) -> dict[LeaseId, Completed]:
    """Complete leases, move their dependants, and wake who may go on."""
    done = await completing.complete(conn, _completing(reports))
    await wake(conn, await _parents_ended(conn, done.values()))
    return done


async def _parents_ended(conn: Connection, done: Iterable[Completed]) -> frozenset[ClassId]:
    parents = [each.lease.job_id for each in done if each.has_dependants]
    if not parents:
        return frozenset()
    return await parent_ended(conn, [(parent, JobState.SUCCEEDED) for parent in parents])


async def _finished(db: Database, report: Report, done: dict[LeaseId, Completed]) -> Finished:
    """Put the answer to a report together; what it missed is looked up."""
    outcomes = {lease: _succeeded(done[lease]) for lease in touches(report) if lease in done}
    missed = [lease for lease in dict.fromkeys(touches(report)) if lease not in done]
    if missed:
        async with db.connection() as conn:
            outcomes |= await receipts.look_up(conn, report.factory_id, missed, Event.COMPLETE)
    return Finished(outcomes=tuple(outcomes[lease] for lease in touches(report)))


def _succeeded(completed: Completed) -> FinishOutcome:
    return FinishOutcome(
        job_id=completed.lease.job_id,
        outcome=Settled.SUCCEEDED,
        state=JobState.SUCCEEDED,
        version=completed.version,
    )
