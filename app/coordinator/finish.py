"""Finish: a factory reports the end of a lease that did not succeed: fail or release.

A report whose fence is not open changes nothing; if it repeats the one that closed the fence, it
gets the first answer again. Success is reported by :mod:`app.coordinator.complete`.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from app import lease as law
from app.coordinator import receipts, steps
from app.coordinator.cooling import cool
from app.coordinator.quarantine import quarantine_if_due
from app.coordinator.receipts import FinishOutcome, Settled, insist, settled_as
from app.coordinator.steps import Step
from app.errors import Refusal
from app.fleet import FactoryId, Outcome
from app.life import Change, Decision, Event, Hand, JobLife
from app.runtime.ids import chance
from app.store import lives, retrying
from app.store.claims import LeaseId
from app.store.session import Connection, Database

LeaseRef: TypeAlias = LeaseId


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
        Invalid: the cool-down is too long; nothing was changed.
        Forbidden: the lease is another factory's.
        StaleFence: the fence is not open.
    """

    def decide(life: JobLife, by: Hand, now: datetime) -> Decision:
        return law.release(life, by, retry_after_s=released.retry_after_s, now=now)

    async def act(conn: Connection) -> FinishOutcome:
        end = _End(call=Event.RELEASE, decide=decide, reason=released.reason)
        outcome = await _settle(conn, factory_id, ref, end)
        if released.cooldown_until is not None and not outcome.replayed:
            await cool(conn, factory_id, released.cooldown_until)
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
        return insist(answers[ref])
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
