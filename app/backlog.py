"""What waits, counted: why a factory that asks gets nothing, in numbers.

Counting every job for every empty answer would cost more than the answer is worth, so a backlog
counts by class and state, and stops at ``COUNT_MAX`` in each. The reasons come from the filter that
claims use, asked once per class.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.eligibility import Reason, factory_rejections, pair_rejections
from app.fleet import Context, Factory, JobClass, JobState

COUNT_MAX = 1000
"""Where the count of one class, or of one state, stops: a number like it means "at least"."""

_WAITING = {
    JobState.BLOCKED: Reason.PARENT_UNFINISHED,
    JobState.SCHEDULED: Reason.NOT_BEFORE,
    JobState.HELD: Reason.ON_HOLD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyClass:
    """The ready jobs of a class, counted."""

    job_class: JobClass
    ready: int
    lock_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """All unfinished jobs that nobody has: the ready ones by class, the others by state."""

    classes: Sequence[ReadyClass] = ()
    waiting: Mapping[JobState, int] = field(default_factory=dict)


def counted_reasons(backlog: Backlog, factory: Factory, ctx: Context) -> dict[Reason, int]:
    """Count, per reason, the jobs that ``factory`` cannot take now because of it.

    A job counts under each of its reasons. What refuses the factory as a whole is always named, and
    counts the ready jobs.
    """
    counts: Counter[Reason] = Counter()
    for each in backlog.classes:
        for rejection in pair_rejections(each.job_class, factory):
            counts[rejection.reason] += each.ready
        if each.lock_held:
            counts[Reason.LOCK_HELD] += each.ready
    for state, reason in _WAITING.items():
        counts[reason] += backlog.waiting.get(state, 0)
    found = {reason: counts[reason] for reason in Reason if counts[reason]}
    ready = sum(each.ready for each in backlog.classes)
    return found | {rejection.reason: ready for rejection in factory_rejections(factory, ctx)}
