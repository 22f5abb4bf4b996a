"""May this factory take this job now? If not: every reason why, and when each clears.

The filter of the scheduler. Three sides can say no, and each is a function of its own, because a
claim asks them at different granularity: the *job* side once per job, the *pair* side once per
(class, factory), the *factory* side once per factory. :func:`rejections` puts them together.

Every failing check yields a :class:`Rejection`; none hides another. A reason is *permanent* if
waiting does not help (the factory lacks a capability, or the job was taken from it), else
*transient*. Each says when it clears: ``clears_at`` is a time that lies ahead, ``clears_when`` the
event. Both may be set, for what ends by itself unless an event ends it sooner.

"No" is a value here, never an exception, and carries facts only; the sentences are made in
:mod:`app.sentences`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.fleet import (
    Context,
    Factory,
    FactoryId,
    Health,
    Job,
    JobClass,
    JobId,
    JobState,
    LockHolder,
    Standing,
)

STALE_AFTER = timedelta(seconds=180)
"""Three missed heartbeats of 60 seconds."""


class Reason(StrEnum):
    """Why a factory may not take a job: a closed vocabulary, in the order of reporting."""

    NOT_READY = "not_ready"
    PARENT_UNFINISHED = "parent_unfinished"
    LOCK_HELD = "lock_held"
    NOT_BEFORE = "not_before"
    ON_HOLD = "on_hold"
    MISSING_CAPABILITY = "missing_capability"
    EXCLUDED = "excluded"
    DRAINING = "draining"
    PAUSED = "paused"
    DOWN = "down"
    QUARANTINED = "quarantined"
    STALE = "stale"
    NO_SEAT = "no_seat"
    ACCOUNT_COOLDOWN = "account_cooldown"

    @property
    def permanent(self) -> bool:
        """Whether waiting alone cannot clear it: the factory or the job has to change."""
        return self in PERMANENT


PERMANENT = frozenset({Reason.MISSING_CAPABILITY, Reason.EXCLUDED})


class ClearsWhen(StrEnum):
    """The event that clears a reason."""

    PARENT_ENDS = "parent_ends"
    LOCK_FREED = "lock_freed"
    LEASE_ENDS = "lease_ends"
    RUN_AFTER = "run_after"
    UNHOLD = "unhold"
    RETRY = "retry"
    NEVER = "never"
    CAPABILITY_OFFERED = "capability_offered"
    EXCLUSION_DROPPED = "exclusion_dropped"
    RESUME = "resume"
    HEALTH_REPORTED = "health_reported"
    QUARANTINE_LIFTED = "quarantine_lifted"
    HEARTBEAT = "heartbeat"
    SEAT_FREED = "seat_freed"
    COOLDOWN_LIFTED = "cooldown_lifted"


_STATE_CLEARS = {
    JobState.BLOCKED: ClearsWhen.PARENT_ENDS,
    JobState.SCHEDULED: ClearsWhen.RUN_AFTER,
    JobState.HELD: ClearsWhen.UNHOLD,
    JobState.LEASED: ClearsWhen.LEASE_ENDS,
    JobState.SUCCEEDED: ClearsWhen.NEVER,
    JobState.DEAD: ClearsWhen.RETRY,
    JobState.CANCELLED: ClearsWhen.RETRY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """One reason, with the facts behind it; a fact that does not belong to the reason is unset."""

    reason: Reason
    clears_when: ClearsWhen
    clears_at: datetime | None = None
    state: JobState | None = None
    parents: tuple[JobId, ...] = ()
    lock: str | None = None
    holder: LockHolder | None = None
    missing: tuple[str, ...] = ()
    standing: Standing | None = None

    @property
    def permanent(self) -> bool:
        """Whether waiting alone cannot clear it."""
        return self.reason.permanent


def rejections(job: Job, factory: Factory, ctx: Context) -> tuple[Rejection, ...]:
    """Every reason why ``factory`` may not take ``job`` now, in the order of the vocabulary."""
    return (
        job_rejections(job, ctx)
        + pair_rejections(job.job_class, factory)
        + factory_rejections(factory, ctx)
    )


def job_rejections(job: Job, ctx: Context) -> tuple[Rejection, ...]:
    """Why no factory at all may take ``job`` now."""
    return _found(
        _not_ready(job, ctx),
        _parent_unfinished(job),
        _lock_held(job, ctx),
        _until(Reason.NOT_BEFORE, ClearsWhen.RUN_AFTER, job.run_after, ctx),
        _standing(Reason.ON_HOLD, ClearsWhen.UNHOLD, job.hold, ctx),
    )


def free_to_take(job: Job, ctx: Context) -> bool:
    """Whether :func:`job_rejections` is empty; of a job that is plainly ready, at a glance."""
    lock = job.job_class.lock
    plain = job.state is JobState.READY and (lock is None or lock not in ctx.locks)
    if plain and not job.unfinished_parents and job.hold is None and job.run_after is None:
        return True
    return not job_rejections(job, ctx)


def pair_rejections(job_class: JobClass, factory: Factory) -> tuple[Rejection, ...]:
    """Why ``factory`` could never take a job of ``job_class``, as both are."""
    return _found(
        _missing_capability(job_class, factory.offered),
        _excluded(job_class, factory.id),
    )


def factory_rejections(factory: Factory, ctx: Context) -> tuple[Rejection, ...]:
    """Why ``factory`` may take nothing now.

    A factory that is claiming is alive: its caller passes ``last_seen_at=now``, so that staleness
    is told of the absent and never refuses a factory's own claim.
    """
    return _found(
        _standing(Reason.DRAINING, ClearsWhen.RESUME, factory.drain, ctx),
        _standing(Reason.PAUSED, ClearsWhen.RESUME, factory.pause, ctx),
        _down(factory),
        _until(Reason.QUARANTINED, ClearsWhen.QUARANTINE_LIFTED, factory.quarantined_until, ctx),
        _stale(factory, ctx),
        _no_seat(factory),
        _until(Reason.ACCOUNT_COOLDOWN, ClearsWhen.COOLDOWN_LIFTED, factory.cooldown_until, ctx),
    )


def may_ever_take(
    job_class: JobClass, factory_id: FactoryId | None, offered: frozenset[str]
) -> bool:
    """Whether :func:`pair_rejections` is empty, at the price of two set operations.

    ``offered`` is the factory's, worked out once by a caller who asks about many classes.
    """
    return job_class.required <= offered and factory_id not in job_class.excluded


def exclusion_stands(job_class: JobClass, factories: Iterable[Factory]) -> bool:
    """Whether the exclusions of ``job_class`` leave it a factory among all registered ones.

    They stand while some factory that is not excluded, and not down, passes the permanent checks.
    Otherwise they must be dropped, or the job would wait for ever for a second factory that does
    not exist. Without exclusions there is nothing to drop.
    """
    return not job_class.excluded or any(
        factory.health is not Health.DOWN and may_ever_take(job_class, factory.id, factory.offered)
        for factory in factories
    )


def _found(*checks: Rejection | None) -> tuple[Rejection, ...]:
    return tuple(filter(None, checks))


def _ahead(time: datetime | None, ctx: Context) -> datetime | None:
    """Drop a time that is past: whatever should have happened then waits for an event now."""
    return time if time is not None and time > ctx.now else None


def _until(
    reason: Reason, clears_when: ClearsWhen, until: datetime | None, ctx: Context
) -> Rejection | None:
    clears_at = _ahead(until, ctx)
    if clears_at is None:
        return None
    return Rejection(reason=reason, clears_when=clears_when, clears_at=clears_at)


def _not_ready(job: Job, ctx: Context) -> Rejection | None:
    if job.state is JobState.READY:
        return None
    ends = {
        JobState.SCHEDULED: job.run_after,
        JobState.HELD: job.hold.until if job.hold else None,
        JobState.LEASED: job.lease_expires_at,
    }
    return Rejection(
        reason=Reason.NOT_READY,
        clears_when=_STATE_CLEARS[job.state],
        clears_at=_ahead(ends.get(job.state), ctx),
        state=job.state,
    )


def _parent_unfinished(job: Job) -> Rejection | None:
    if not job.unfinished_parents:
        return None
    return Rejection(
        reason=Reason.PARENT_UNFINISHED,
        clears_when=ClearsWhen.PARENT_ENDS,
        parents=job.unfinished_parents,
    )


def _lock_held(job: Job, ctx: Context) -> Rejection | None:
    lock = job.job_class.lock
    holder = None if lock is None else ctx.locks.get(lock)
    if holder is None or (job.state is JobState.LEASED and holder.job_id == job.id):
        # A leased job does not wait for the lock that it holds itself.
        return None
    return Rejection(
        reason=Reason.LOCK_HELD,
        clears_when=ClearsWhen.LOCK_FREED,
        clears_at=_ahead(holder.expires_at, ctx),
        lock=lock,
        holder=holder,
    )


def _missing_capability(job_class: JobClass, offered: frozenset[str]) -> Rejection | None:
    missing = job_class.required - offered
    if not missing:
        return None
    return Rejection(
        reason=Reason.MISSING_CAPABILITY,
        clears_when=ClearsWhen.CAPABILITY_OFFERED,
        missing=tuple(sorted(missing)),
    )


def _excluded(job_class: JobClass, factory_id: FactoryId) -> Rejection | None:
    if factory_id not in job_class.excluded:
        return None
    return Rejection(reason=Reason.EXCLUDED, clears_when=ClearsWhen.EXCLUSION_DROPPED)


def _standing(
    reason: Reason, clears_when: ClearsWhen, standing: Standing | None, ctx: Context
) -> Rejection | None:
    if standing is None or not standing.in_force(ctx.now):
        return None
    return Rejection(
        reason=reason, clears_when=clears_when, clears_at=standing.until, standing=standing
    )


def _down(factory: Factory) -> Rejection | None:
    if factory.health is not Health.DOWN:
        return None
    return Rejection(reason=Reason.DOWN, clears_when=ClearsWhen.HEALTH_REPORTED)


def _stale(factory: Factory, ctx: Context) -> Rejection | None:
    if factory.last_seen_at is None or ctx.now - factory.last_seen_at <= STALE_AFTER:
        return None
    return Rejection(reason=Reason.STALE, clears_when=ClearsWhen.HEARTBEAT)


def _no_seat(factory: Factory) -> Rejection | None:
    if factory.seats_free > 0:
        return None
    return Rejection(reason=Reason.NO_SEAT, clears_when=ClearsWhen.SEAT_FREED)
