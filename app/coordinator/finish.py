"""Finish: a factory reports the end of a lease: complete, fail or release.

Completing is the hot path and one statement for a whole batch. With ``claim_next`` the claim of the
next jobs follows as a second statement of the same transaction, because one statement must not
touch the factory's seats twice. A report whose fence is not open changes nothing; if it repeats the
one that closed the fence, it gets the first answer again.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from app import lease as law
from app.coordinator import receipts, steps
from app.coordinator.claim import Claim
from app.coordinator.claim_keys import still_current
from app.coordinator.dependants import parent_ended
from app.coordinator.quarantine import quarantine_if_due
from app.coordinator.receipts import FinishOutcome, Settled, insist, settled_as
from app.coordinator.steps import Step
from app.errors import Refusal
from app.fleet import ClassId, FactoryId, JobId, JobState, Json, Outcome
from app.life import Change, Decision, Event, Hand, JobLife
from app.runtime.ids import chance
from app.store import accounts, leases, lives, retrying
from app.store.claims import LeaseId
from app.store.leases import Completed, Completing
from app.store.session import Connection, Database
from app.store.wake import wake

LeaseRef: TypeAlias = LeaseId

Take: TypeAlias = Callable[[Connection, FactoryId, int], Awaitable[tuple[Claim, ...]]]
"""Claims up to so many jobs for a factory inside the caller's transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A job that succeeded under this fence."""

    job_id: JobId
    fence: int
    result: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What went wrong, and what should happen next.

    ``exclude_me``: another factory should try next, if there is one.
    """

    error: str
    retryable: bool = True
    retry_after_s: int | None = None
    exclude_me: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """Why a job is given back without a verdict.

    ``cooldown_until``: until when the usage limit of the factory's account holds.
    """

    reason: str
    retry_after_s: int | None = None
    cooldown_until: datetime | None = None


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
    """Complete leases of a factory, each on its own, and claim its next jobs.

    Nothing is claimed if nothing was completed: a repeat gets the leases that the first call
    claimed, as far as they are current, and a stale report gets none.
    """
    wanted = {_lease(each): each for each in completions}
    earlier: dict[LeaseId, None] = {}

    async def act(conn: Connection) -> Finished:
        done = await leases.complete(
            conn,
            [
                Completing(lease=lease, factory_id=factory_id, result=each.result)
                for lease, each in wanted.items()
            ],
        )
        claims = await _go_on(conn, take, factory_id, done.values(), claim_next)
        missed = [lease for lease in wanted if lease not in done]
        repeated = await receipts.look_up(conn, factory_id, missed, Event.COMPLETE)
        earlier.clear()
        earlier.update((ref, None) for each in repeated.values() for ref in each.claimed)
        outcomes = {lease: each.outcome for lease, each in repeated.items()}
        outcomes |= {lease: _succeeded(each) for lease, each in done.items()}
        return Finished(
            outcomes=tuple(outcomes[_lease(each)] for each in completions), claims=claims
        )

    finished = await retrying.settled(db, act)
    if earlier:
        # Afterwards, since it renews: jobs locked by now would be locked out of order.
        async with db.connection() as conn:
            again = await still_current(conn, factory_id, list(earlier))
        finished = replace(finished, claims=finished.claims + again)
    return finished


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


async def fail(
    db: Database,
    factory_id: FactoryId,
    ref: LeaseRef,
    failure: Failure,
    *,
    draw: Callable[[], float] = chance,
) -> FinishOutcome:
    """End an attempt badly.

    Args:
        db: where.
        factory_id: whose attempt it was.
        ref: the lease.
        failure: what went wrong.
        draw: chance, for the jitter of the wait: a number from 0 to below 1.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the fence is not open.
    """
    jitter_permille = int(draw() * 1000)

    def decide(life: JobLife, by: Hand, now: datetime) -> Decision:
        return law.fail(
            life,
            by,
            retryable=failure.retryable,
            retry_after_s=failure.retry_after_s,
            jitter_permille=jitter_permille,
            now=now,
        )

    async def act(conn: Connection) -> FinishOutcome:
        end = _End(call=Event.FAIL, decide=decide, failure=failure)
        return await _settle(conn, factory_id, ref, end)

    outcome = await retrying.settled(db, act)
    if not outcome.replayed and outcome.outcome is Settled.FAILED:
        await _quarantine(db, factory_id)
    return outcome


async def release(
    db: Database, factory_id: FactoryId, ref: LeaseRef, released: Release
) -> FinishOutcome:
    """Give a job back for a reason that is not its own; the attempt does not count.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the fence is not open.
    """

    def decide(life: JobLife, by: Hand, now: datetime) -> Decision:
        return law.release(life, by, retry_after_s=released.retry_after_s, now=now)

    async def act(conn: Connection) -> FinishOutcome:
        end = _End(call=Event.RELEASE, decide=decide, reason=released.reason)
        outcome = await _settle(conn, factory_id, ref, end)
        if released.cooldown_until is not None and not outcome.replayed:
            await accounts.cool_factory(conn, factory_id, released.cooldown_until)
        return outcome

    return await retrying.settled(db, act)


async def _quarantine(db: Database, factory_id: FactoryId) -> None:
    async def act(conn: Connection) -> None:
        await quarantine_if_due(conn, [factory_id])

    # The report is written and must be answered; the lease loop asks again.
    with suppress(Refusal):
        await retrying.settled(db, act)


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    call: Event
    decide: Callable[[JobLife, Hand, datetime], Decision]
    failure: Failure | None = None
    reason: str | None = None


async def _settle(
    conn: Connection, factory_id: FactoryId, ref: LeaseRef, end: _End
) -> FinishOutcome:
    """Read, decide, write; a report that may not write is answered from the receipts."""
    reading = (await lives.read(conn, [ref.job_id])).get(ref.job_id)
    by = Hand(factory=factory_id, fence=ref.fence)
    decided = end.decide(reading.life, by, reading.now) if reading else None
    if reading is None or not isinstance(decided, Change):
        answers = await receipts.look_up(conn, factory_id, [ref], end.call)
        return insist(answers[ref].outcome)
    step = Step(
        reading=reading,
        change=decided,
        excludes=end.failure is not None and end.failure.exclude_me,
        error=end.failure.error if end.failure else None,
        detail={"reason": end.reason} if end.reason is not None else {},
    )
    moved = (await steps.write(conn, [step])).get(ref.job_id)
    if moved is None:
        raise retrying.Moved
    return FinishOutcome(
        job_id=ref.job_id,
        outcome=settled_as(decided.outcome or Outcome.CANCELLED),
        state=decided.after.state,
        version=moved.version,
    )


async def _go_on(
    conn: Connection,
    take: Take,
    factory_id: FactoryId,
    done: Iterable[Completed],
    claim_next: int,
) -> tuple[Claim, ...]:
    """Move the dependants of what was completed, claim what is next, and wake who may go on."""
    ended = list(done)
    if not ended:
        return ()
    parents = [each.lease.job_id for each in ended if each.has_dependants]
    woken = frozenset[ClassId]()
    if parents:
        woken = await parent_ended(conn, [(parent, JobState.SUCCEEDED) for parent in parents])
    claims: tuple[Claim, ...] = ()
    if claim_next > 0:
        claims = await take(conn, factory_id, claim_next)
    if claims:
        claimed = [LeaseId(job_id=claim.job.id, fence=claim.fence) for claim in claims]
        await leases.note_claims(conn, [each.event_id for each in ended], claimed)
    if any(each.frees_lock for each in ended) or _has_room(ended, len(claims), claim_next):
        await wake(conn)
    else:
        await wake(conn, woken)
    return claims


def _has_room(ended: Sequence[Completed], claimed: int, claim_next: int) -> bool:
    """Whether a full factory now has a seat that a request of its own, still waiting, could use.

    If it asked for more than there was to claim, then such a request would get nothing either.
    """
    return claimed == claim_next and claimed < sum(each.opens_seat for each in ended)


def _lease(completion: Completion) -> LeaseId:
    return LeaseId(job_id=completion.job_id, fence=completion.fence)


def _succeeded(completed: Completed) -> FinishOutcome:
    return FinishOutcome(
        job_id=completed.lease.job_id,
        outcome=Settled.SUCCEEDED,
        state=JobState.SUCCEEDED,
        version=completed.version,
    )
