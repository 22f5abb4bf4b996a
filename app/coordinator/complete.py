"""Complete: factories report that leases ended well, and take their next jobs in the same call.

Completing is the hot path: the reports of all factories that arrive together are one statement,
which commits by itself. Only what has to happen together with more is in a transaction: jobs that
others wait for, whose dependants move, and reports that ask for next jobs. These are claimed by
later statements of the same transaction, for all who ask at once, because one statement must not
touch a factory's seats twice. A report whose fence is not open changes nothing; if it repeats the
one that closed the fence, it gets the first answer again.
"""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.coordinator import receipts
from app.coordinator.claim import Claim
from app.coordinator.claim_keys import still_current
from app.coordinator.dependants import parent_ended
from app.coordinator.receipts import FinishOutcome, Settled, insist
from app.fleet import ClassId, FactoryId, JobId, JobState, Json
from app.life import Event
from app.store import completing, leases, retrying
from app.store.claims import LeaseId
from app.store.completing import Completed, Completing
from app.store.session import Connection, Database
from app.store.wake import wake

Take: TypeAlias = Callable[
    [Connection, Mapping[FactoryId, int]], Awaitable[Mapping[FactoryId, Sequence[Claim]]]
]
"""Claims up to so many jobs for each of some factories, inside the caller's transaction."""


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
    """What one factory completed, and how many jobs it takes next."""

    factory_id: FactoryId
    completions: Sequence[Completion]
    claim_next: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """One outcome for each completion, in their order, and the jobs claimed in the same call."""

    outcomes: tuple[FinishOutcome, ...]
    claims: tuple[Claim, ...] = ()


async def complete(
    db: Database,
    take: Take,
    factory_id: FactoryId,
    completions: Sequence[Completion],
    claim_next: int = 0,
) -> Finished:
    """Complete leases of a factory, each on its own, and claim its next jobs."""
    report = Report(factory_id=factory_id, completions=completions, claim_next=claim_next)
    return (await complete_all(db, take, [report]))[0]


async def complete_one(
    db: Database, take: Take, factory_id: FactoryId, completion: Completion, claim_next: int = 0
) -> Finished:
    """Complete one lease, and claim the factory's next jobs.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the fence is not open.
    """
    finished = await complete(db, take, factory_id, [completion], claim_next)
    insist(finished.outcomes[0])
    return finished


def touches(report: Report) -> Iterable[LeaseId]:
    """Name the leases of a report: no two reports of a batch may have one in common."""
    return (each.lease for each in report.completions)


async def complete_all(db: Database, take: Take, reports: Sequence[Report]) -> tuple[Finished, ...]:
    """Complete leases of several factories, each on its own, and claim their next jobs.

    Nothing is claimed by a report that completed nothing: a repeat gets the leases that the first
    call claimed, as far as they are current, and a stale report gets none.

    Args:
        db: where.
        take: claims the next jobs.
        reports: what was completed, no lease in two of them.
    """
    done: dict[LeaseId, Completed] = {}
    parents: frozenset[LeaseId] = frozenset()
    alone = [report for report in reports if report.claim_next == 0]
    if alone:
        done, parents = await retrying.settled_by_itself(
            db, lambda conn: completing.complete_childless(conn, _completing(alone))
        )
    together = [_within(report, parents) for report in reports]
    claims: Sequence[tuple[Claim, ...]] = [()] * len(reports)
    if any(report.completions for report in together):
        more, claims = await retrying.settled(db, lambda conn: _together(conn, take, together))
        done = {**done, **more}
    return tuple(
        [
            await _finished(db, report, done, claimed)
            for report, claimed in zip(reports, claims, strict=True)
        ]
    )


def _completing(reports: Iterable[Report]) -> list[Completing]:
    wanted = {
        each.lease: Completing(lease=each.lease, factory_id=report.factory_id, result=each.result)
        for report in reports
        for each in report.completions
    }
    return list(wanted.values())


def _within(report: Report, parents: frozenset[LeaseId]) -> Report:
    """Return what of a report has to be written within a transaction."""
    if report.claim_next:
        return report
    kept = [each for each in report.completions if each.lease in parents]
    return replace(report, completions=kept)


async def _together(
    conn: Connection, take: Take, reports: Sequence[Report]
) -> tuple[dict[LeaseId, Completed], list[tuple[Claim, ...]]]:
    """Complete leases, move their dependants, claim what is next, and wake who may go on."""
    done = await completing.complete(conn, _completing(reports))
    woken = await _parents_ended(conn, done.values())
    ended = [
        [done[lease] for lease in dict.fromkeys(touches(report)) if lease in done]
        for report in reports
    ]
    asked: Counter[FactoryId] = Counter()
    for report, mine in zip(reports, ended, strict=True):
        asked[report.factory_id] += report.claim_next if mine else 0
    wants = {factory_id: count for factory_id, count in asked.items() if count}
    claimed = await take(conn, wants) if wants else {}
    left = {factory_id: deque(claims) for factory_id, claims in claimed.items()}
    shares: list[tuple[Claim, ...]] = []
    for report, mine in zip(reports, ended, strict=True):
        theirs = left.get(report.factory_id, deque()) if mine else deque()
        share = tuple(theirs.popleft() for _ in range(min(report.claim_next, len(theirs))))
        shares.append(share)
        if share:
            leased = [LeaseId(job_id=claim.job.id, fence=claim.fence) for claim in share]
            await leases.note_claims(conn, [each.event_id for each in mine], leased)
    frees_lock = any(each.frees_lock for each in done.values())
    if frees_lock or _has_room(done.values(), asked, claimed):
        await wake(conn)
    else:
        await wake(conn, woken)
    return done, shares


async def _parents_ended(conn: Connection, done: Iterable[Completed]) -> frozenset[ClassId]:
    parents = [each.lease.job_id for each in done if each.has_dependants]
    if not parents:
        return frozenset()
    return await parent_ended(conn, [(parent, JobState.SUCCEEDED) for parent in parents])


def _has_room(
    done: Iterable[Completed],
    asked: Mapping[FactoryId, int],
    claimed: Mapping[FactoryId, Sequence[Claim]],
) -> bool:
    """Whether a full factory now has a seat that a request of its own, still waiting, could use.

    If it asked for more than there was to claim, then such a request would get nothing either.
    """
    opened = Counter(each.factory_id for each in done if each.opens_seat)
    for factory_id, seats in opened.items():
        got = len(claimed.get(factory_id, ()))
        if got == asked.get(factory_id, 0) and got < seats:
            return True
    return False


async def _finished(
    db: Database, report: Report, done: Mapping[LeaseId, Completed], claims: tuple[Claim, ...]
) -> Finished:
    """Put the answer to a report together; what it missed is looked up."""
    outcomes = {lease: _succeeded(done[lease]) for lease in touches(report) if lease in done}
    missed = [lease for lease in dict.fromkeys(touches(report)) if lease not in done]
    if missed:
        async with db.connection() as conn:
            repeated = await receipts.look_up(conn, report.factory_id, missed, Event.COMPLETE)
            outcomes |= {lease: each.outcome for lease, each in repeated.items()}
            earlier = dict.fromkeys(ref for each in repeated.values() for ref in each.claimed)
            if earlier:
                claims += await still_current(conn, report.factory_id, list(earlier))
    return Finished(outcomes=tuple(outcomes[lease] for lease in touches(report)), claims=claims)


def _succeeded(completed: Completed) -> FinishOutcome:
    return FinishOutcome(
        job_id=completed.lease.job_id,
        outcome=Settled.SUCCEEDED,
        state=JobState.SUCCEEDED,
        version=completed.version,
    )
