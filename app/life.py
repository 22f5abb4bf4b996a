"""The life of a job: what the law of leases knows of it, what can happen to it, and when.

The nouns, the transition table and the arithmetic of :mod:`app.lease`, which explains the terms
and decides. Nothing here judges a call; it only says what can be, and what time alone will bring.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from app.fleet import FINISHED, FactoryId, JobState, Outcome, Standing

LEASE_S_MIN: Final = 5
LEASE_S_MAX: Final = 86_400
LEASE_S_DEFAULT: Final = 60
GRACE_S_MAX: Final = 900
BACKOFF_BASE_S: Final = 10
BACKOFF_CAP_S: Final = 3_600
RETRY_AFTER_S_MAX: Final = 30 * 86_400
COOLDOWN_S_MAX: Final = 7 * 86_400

# Ten seconds doubled nine times is past the cap. The exponent is capped, not only the power: two
# to the number of attempts is a number without bound, in time and memory too.
_DOUBLINGS_MAX: Final = 9


class Event(StrEnum):
    """What can happen to a job after its submission; also its name in the job's history."""

    CLAIM = "claim"
    RENEW = "renew"
    COMPLETE = "complete"
    FAIL = "fail"
    RELEASE = "release"
    EXPIRE = "expire"
    TIME_OUT = "time_out"
    GRACE_OVER = "grace_over"
    DUE = "due"
    CANCEL = "cancel"
    HOLD = "hold"
    UNHOLD = "unhold"
    EDIT = "edit"
    RETRY = "retry"
    PARENTS_DONE = "parents_done"
    PARENT_FAILED = "parent_failed"
    PARENT_REVIVED = "parent_revived"


class LockAction(StrEnum):
    """What becomes of the row of the job's lock, if it has one.

    ``TAKE`` makes it name (job, fence), not lapsed; ``LAPSE`` lets any job take it; ``FREE`` makes
    it name nobody. But for the claim's ``TAKE`` they apply only while the row names (job, fence).
    """

    KEEP = "keep"
    TAKE = "take"
    LAPSE = "lapse"
    FREE = "free"


class Reason(StrEnum):
    """Why nothing changed.

    ``STALE_FENCE`` and ``OVERDUE`` (a renewal past the timeout) are a lost lease to the caller;
    ``ALREADY`` means that what was asked for is so: repeat the recorded answer.
    """

    STALE_FENCE = "stale_fence"
    OVERDUE = "overdue"
    IMPOSSIBLE = "impossible"
    PARENT_FAILED = "parent_failed"
    ALREADY = "already"
    NOT_DUE = "not_due"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLife:
    """What the law needs to know of a job.

    ``fence``, ``holder`` and ``claimed_at`` are the newest lease's and stay when it is over.
    ``fence_open`` already includes that the job's lock, if it has one, still names this fence.
    ``seated`` is whether it occupies a seat of its holder. ``parent_failed``: a parent is dead or
    cancelled and the job does not run regardless. ``cancel_deadline_at`` is set by the renewal that
    tells the holder of the cancel, and bounds all further ones.
    """

    state: JobState
    fence: int = 0
    fence_open: bool = False
    holder: FactoryId | None = None
    seated: bool = False
    attempts: int = 0
    attempts_max: int = 3
    claimed_at: datetime | None = None
    lease_s: int = LEASE_S_DEFAULT
    lease_expires_at: datetime | None = None
    timeout_s: int = 4 * 3600
    run_after: datetime | None = None
    unfinished_parents: int = 0
    parent_failed: bool = False
    cancelled_by_parent: bool = False
    cancel_requested_at: datetime | None = None
    cancel_deadline_at: datetime | None = None
    hold: Standing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """Whose call it is: the factory it comes from and the fence it names."""

    factory: FactoryId
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of a job's life; ``outcome`` is what its holder's record keeps of it, if any."""

    event: Event
    before: JobLife
    after: JobLife
    lock: LockAction = LockAction.KEEP
    outcome: Outcome | None = None

    @property
    def seat_delta(self) -> int:
        """What to add to the seats its holder uses; +1 by a renewal may over-commit the factory."""
        return int(self.after.seated) - int(self.before.seated)

    @property
    def finished(self) -> bool:
        """Whether the job ended by this step, so that its dependants have to move."""
        return self.after.state in FINISHED and self.before.state not in FINISHED

    @property
    def fence_closed(self) -> bool:
        """Whether a fence that was open is not any more."""
        return self.before.fence_open and not (
            self.after.fence_open and self.after.fence == self.before.fence
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing changes, and why."""

    reason: Reason


Decision = Change | Refused


_BLOCKED, _SCHEDULED = JobState.BLOCKED, JobState.SCHEDULED
_READY, _HELD, _LEASED = JobState.READY, JobState.HELD, JobState.LEASED
_SUCCEEDED, _DEAD, _CANCELLED = JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED

SETTLING: Final = frozenset({Event.COMPLETE, Event.FAIL, Event.RELEASE})
"""The calls by which a holder closes its fence."""

RESTING: Final = frozenset({_BLOCKED, _SCHEDULED, _READY, _HELD})
"""Unfinished and without a running lease."""

_FENCED: Final = frozenset({_LEASED, _READY, _HELD, _BLOCKED})
"""Where a fence can be open: the last three after a lapse. To be scheduled takes closing it."""

_ROWS: Final[tuple[tuple[Event, AbstractSet[JobState], AbstractSet[JobState]], ...]] = (
    (Event.CLAIM, {_READY}, {_LEASED}),
    (Event.RENEW, _FENCED, {_LEASED}),
    (Event.COMPLETE, _FENCED, {_SUCCEEDED}),
    (Event.FAIL, {_LEASED}, RESTING | {_DEAD, _CANCELLED}),
    (Event.FAIL, {_READY}, {_READY, _SCHEDULED, _DEAD}),
    (Event.FAIL, {_HELD}, {_HELD, _DEAD}),
    (Event.FAIL, {_BLOCKED}, {_BLOCKED, _DEAD}),
    (Event.RELEASE, {_LEASED}, RESTING | {_CANCELLED}),
    (Event.RELEASE, {_READY}, {_READY, _SCHEDULED}),
    (Event.RELEASE, {_HELD}, {_HELD}),
    (Event.RELEASE, {_BLOCKED}, {_BLOCKED}),
    (Event.EXPIRE, {_LEASED}, {_READY, _HELD, _BLOCKED, _LEASED, _CANCELLED}),
    (Event.TIME_OUT, {_LEASED}, {_SCHEDULED, _HELD, _BLOCKED, _DEAD, _CANCELLED}),
    (Event.TIME_OUT, {_READY}, {_READY}),
    (Event.TIME_OUT, {_HELD}, {_HELD}),
    (Event.TIME_OUT, {_BLOCKED}, {_BLOCKED}),
    (Event.GRACE_OVER, {_LEASED}, {_DEAD, _CANCELLED}),
    (Event.DUE, {_SCHEDULED}, {_READY}),
    (Event.CANCEL, {_LEASED}, {_LEASED}),
    (Event.CANCEL, RESTING | {_DEAD}, {_CANCELLED}),
    (Event.HOLD, RESTING, {_HELD}),
    (Event.UNHOLD, {_HELD}, {_BLOCKED, _SCHEDULED, _READY}),
    (Event.UNHOLD, {_LEASED}, {_LEASED}),
    (Event.EDIT, {_HELD}, {_HELD, _CANCELLED}),
    (Event.EDIT, RESTING - {_HELD}, RESTING - {_HELD} | {_CANCELLED}),
    (Event.RETRY, {_DEAD, _CANCELLED}, {_BLOCKED, _SCHEDULED, _READY}),
    (Event.PARENTS_DONE, {_BLOCKED}, {_SCHEDULED, _READY}),
    (Event.PARENT_FAILED, {_LEASED}, {_LEASED}),
    (Event.PARENT_FAILED, RESTING, {_CANCELLED}),
    (Event.PARENT_REVIVED, {_SCHEDULED, _READY}, {_BLOCKED}),
)

TRANSITIONS: Final = {(state, event): to for event, states, to in _ROWS for state in states}
"""Where each event may lead from each state. What is not in it does not happen."""


def rest_state(
    *, on_hold: bool = False, unfinished_parents: int, run_after: datetime | None, now: datetime
) -> JobState:
    """Return where a job without a running lease belongs: the one rule for every way to get there.

    A hold stands until it is lifted, by a call or by the sweep once its ``until`` has passed.
    """
    if on_hold:
        return JobState.HELD
    if unfinished_parents > 0:
        return JobState.BLOCKED
    if run_after is not None and run_after > now:
        return JobState.SCHEDULED
    return JobState.READY


def backoff(attempts: int, jitter_permille: int) -> timedelta:
    """Return how long a job waits after its ``attempts``-th attempt has failed.

    Ten seconds, doubled with each attempt, at most an hour; jitter takes away up to half of that,
    so it can neither exceed the cap nor bring the wait near nothing.
    """
    doublings = min(max(attempts, 1) - 1, _DOUBLINGS_MAX)
    longest_ms = min(BACKOFF_BASE_S << doublings, BACKOFF_CAP_S) * 1000
    jitter = min(max(jitter_permille, 0), 1000)
    return timedelta(milliseconds=longest_ms - longest_ms * jitter // 2000)


def retry_after(asked_s: int) -> timedelta:
    """Return the wait a factory asked for, never negative and at most 30 days.

    The HTTP border refuses nonsense with a 422; this is the bound for every other way in.
    """
    return timedelta(seconds=min(max(asked_s, 0), RETRY_AFTER_S_MAX))


def next_heartbeat_s(lease_s: int) -> int:
    """Return when to renew: after a third of the lease, so that two may be lost on the way."""
    return max(1, lease_s // 3)


def grace_s(timeout_s: int) -> int:
    """Return how long a lapsed last attempt may still come back before the job is dead."""
    return min(GRACE_S_MAX, timeout_s)


def timeout_at(life: JobLife) -> datetime | None:
    """Return when the newest lease's time to run is over, whatever its renewals."""
    return life.claimed_at and life.claimed_at + timedelta(seconds=life.timeout_s)


def next_due_at(life: JobLife) -> datetime | None:
    """Return when the sweep has to look at the job next, if nothing else happens to it.

    Stored beside every change, it is what the sweep's statement selects its candidates by. A sweep
    that finds nothing due (the lock, and so the fence, went elsewhere) has to store it anew.
    """
    return min((at for at, _ in _dues(life)), default=None)


def due_event(life: JobLife, now: datetime) -> Event | None:
    """Return what time alone has brought about by ``now``; of several, the gravest."""
    return next((event for at, event in _dues(life) if at <= now), None)


def _dues(life: JobLife) -> list[tuple[datetime, Event]]:
    """List what time will bring, the gravest first: a run past its timeout has not just lapsed."""
    candidates = [(timeout_at(life), Event.TIME_OUT)] if life.fence_open else []
    if life.state is JobState.LEASED:
        ending = Event.EXPIRE if life.seated else Event.GRACE_OVER
        candidates.append((_lease_ends_at(life), ending))
    elif life.state is JobState.SCHEDULED:
        candidates.append((life.run_after, Event.DUE))
    elif life.state is JobState.HELD and life.hold is not None:
        candidates.append((life.hold.until, Event.UNHOLD))
    return [(at, event) for at, event in candidates if at is not None]


def _lease_ends_at(life: JobLife) -> datetime | None:
    """Return when a running lease ends, or the grace of a lapsed one that keeps its job."""
    if life.seated or life.lease_expires_at is None:
        return life.lease_expires_at
    ends_at = life.lease_expires_at + timedelta(seconds=grace_s(life.timeout_s))
    return min(ends_at, life.cancel_deadline_at or ends_at)
