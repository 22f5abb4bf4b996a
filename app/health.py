"""What a factory's recent outcomes say about it: degraded, or in quarantine.

A machine that fails fast is always idle, so any preference for idle machines feeds it the whole
queue. Two answers, of two strengths. *Degraded* lowers its score below that of every healthy peer
(the third theorem of :mod:`app.scheduler`) while it may still take what nobody else takes.
*Quarantine* takes it out for a while that doubles with every repetition, but never more than a
third of the fleet at once: when everything fails, the fault is not the machines'.

Only ends that say something about the machine count. A lease that was released or cancelled ended
by somebody's wish, and is passed over.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.fleet import Health, Outcome

COUNTED = frozenset({Outcome.SUCCEEDED, Outcome.FAILED, Outcome.EXPIRED, Outcome.TIMED_OUT})
DEGRADED_WINDOW = timedelta(hours=24)
DEGRADED_OUTCOMES_MAX = 10
DEGRADED_OUTCOMES_MIN = 4
QUARANTINE_OUTCOMES = 5
QUARANTINE_FAST = timedelta(seconds=60)
QUARANTINE_FIRST = timedelta(minutes=10)
QUARANTINE_LONGEST = timedelta(hours=4)
QUARANTINE_SHARE = 3
"""At most one factory in so many is in quarantine at once."""

_DOUBLINGS_MAX = 5  # 10 minutes doubled five times are already more than 4 hours.
_SEVERITY = {Health.OK: 0, Health.DEGRADED: 1, Health.DOWN: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLease:
    """One lease that a factory held: how it ended, and when it began and ended."""

    outcome: Outcome
    claimed_at: datetime
    ended_at: datetime


def derived_health(outcomes: Iterable[PastLease], now: datetime) -> Health:
    """Degraded if at least half of the last 10 outcomes within 24 h, of at least 4, were bad.

    This is the law. Where a thousand factories are read at once PostgreSQL does the counting, in
    ``factory_read``, and :func:`health_shown` judges by it; a property test holds the two together.
    """
    recent = [past for past in _latest(outcomes) if now - past.ended_at <= DEGRADED_WINDOW]
    seen = recent[:DEGRADED_OUTCOMES_MAX]
    bad = sum(past.outcome is not Outcome.SUCCEEDED for past in seen)
    return health_shown(len(seen), bad)


def health_shown(seen: int, bad: int) -> Health:
    """Judge by how many of the last 10 outcomes within 24 h there were, and were bad."""
    if seen >= DEGRADED_OUTCOMES_MIN and 2 * bad >= seen:
        return Health.DEGRADED
    return Health.OK


def worse(one: Health, other: Health) -> Health:
    """The worse of two: a factory's report can only lower what its outcomes show, and reversely."""
    return max(one, other, key=_SEVERITY.__getitem__)


def quarantine(outcomes: Iterable[PastLease], now: datetime, strikes: int) -> datetime | None:
    """Until when the factory is in quarantine, if its last 5 outcomes all failed fast.

    It counts from the newest failure, so asking again changes nothing. ``strikes`` is how often it
    has been in quarantine since its last success, this time not counted.
    """
    last = _latest(outcomes)[:QUARANTINE_OUTCOMES]
    if len(last) < QUARANTINE_OUTCOMES or not all(_failed_fast(past) for past in last):
        return None
    until = last[0].ended_at + _quarantine_length(strikes)
    return until if until > now else None


def quarantine_room(registered: int, quarantined: int) -> int:
    """How many more of ``registered`` factories may enter quarantine beside those in it."""
    return max(0, registered // QUARANTINE_SHARE - quarantined)


def _latest(outcomes: Iterable[PastLease]) -> list[PastLease]:
    """Those that count, the newest first."""
    counted = (past for past in outcomes if past.outcome in COUNTED)
    return sorted(counted, key=lambda past: (past.ended_at, past.claimed_at), reverse=True)


def _failed_fast(past: PastLease) -> bool:
    return past.outcome is Outcome.FAILED and past.ended_at - past.claimed_at <= QUARANTINE_FAST


def _quarantine_length(strikes: int) -> timedelta:
    # The cap comes before the power: a factory that fails for weeks must not overflow a timedelta.
    return min(QUARANTINE_LONGEST, QUARANTINE_FIRST * (1 << min(strikes, _DOUBLINGS_MAX)))
