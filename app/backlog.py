"""What waits, counted: why a factory that asks gets nothing, in numbers.

Counting every job for every empty answer would cost more than the answer is worth, so a backlog
counts by class and state, and stops at ``COUNT_MAX`` in each. The reasons come from the filter that
claims use, asked once per class.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.eligibility import PERMANENT, Reason, factory_rejections, pair_rejections
from app.fleet import Context, Factory, JobClass, JobState

COUNT_MAX = 1000
"""Where the count of one class, or of one state, stops: a number like it means "at least"."""

UNLOCKS_MAX = 20
CLAIMABLE = "claimable"
"""What a job is pending for that some factory may take now: its turn."""

_MISSING_SETS_MAX = 200

_WAITING = {
    JobState.BLOCKED: Reason.PARENT_UNFINISHED,
    JobState.SCHEDULED: Reason.NOT_BEFORE,
    JobState.HELD: Reason.ON_HOLD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyClass:
    """The ready jobs of a class, counted; together with those of classes of other such locks."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterStep:
    """One step of the filter: how many jobs it keeps from a factory, and how many are left."""

    reason: Reason
    dropped: int
    left: int


def survivors(backlog: Backlog, factory: Factory, ctx: Context) -> tuple[FilterStep, ...]:
    """Put the backlog through the filter, check by check: who survives each.

    A job is dropped by its first failing check. What refuses the factory as a whole comes last and
    drops all that is left.
    """
    dropped: Counter[Reason] = Counter()
    for state, reason in _WAITING.items():
        dropped[reason] += backlog.waiting.get(state, 0)
    for each in backlog.classes:
        against = [rejection.reason for rejection in pair_rejections(each.job_class, factory)]
        if each.lock_held:
            against.insert(0, Reason.LOCK_HELD)
        if against:
            dropped[against[0]] += each.ready
    order = [*_WAITING.values(), Reason.LOCK_HELD, Reason.MISSING_CAPABILITY, Reason.EXCLUDED]
    left = sum(backlog.waiting.values()) + sum(each.ready for each in backlog.classes)
    steps = []
    for reason in order:
        left -= dropped[reason]
        steps.append(FilterStep(reason=reason, dropped=dropped[reason], left=left))
    for rejection in factory_rejections(factory, ctx):
        steps.append(FilterStep(reason=rejection.reason, dropped=left, left=0))
        left = 0
    return tuple(steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlock:
    """What a factory would gain by offering more: ready jobs that only these keep from it."""

    capabilities: tuple[str, ...]
    jobs: int


def unlocks(backlog: Backlog, factory: Factory) -> tuple[Unlock, ...]:
    """The value of what ``factory`` lacks: single capabilities first, the most valuable first.

    Counted are ready jobs whose lock is free and that the factory is not excluded from. Several
    capabilities are listed together if some job needs all of them; the number then includes the
    jobs that fewer of them would unlock.
    """
    offered = factory.offered
    lacking: Counter[frozenset[str]] = Counter()
    for each in backlog.classes:
        missing = each.job_class.required - offered
        if missing and not each.lock_held and factory.id not in each.job_class.excluded:
            lacking[missing] += each.ready
    known = dict(lacking.most_common(_MISSING_SETS_MAX))
    found = [
        Unlock(
            capabilities=tuple(sorted(wanted)),
            jobs=sum(count for missing, count in known.items() if missing <= wanted),
        )
        for wanted in known
    ]
    found.sort(key=lambda one: (len(one.capabilities), -one.jobs, one.capabilities))
    return tuple(found[:UNLOCKS_MAX])


def pending(backlog: Backlog, factories: Sequence[Factory], ctx: Context) -> dict[str, int]:
    """Count what waits by the one thing it waits for first; every job counts once.

    A job that some factory may take now is :data:`CLAIMABLE`. Else its own side is named before a
    permanent reason of all factories, and that before what only keeps the able factories busy.
    """
    counts = dict.fromkeys([CLAIMABLE, *(reason.value for reason in Reason)], 0)
    for state, reason in _WAITING.items():
        counts[reason] += backlog.waiting.get(state, 0)
    refused = {each.id: factory_rejections(each, ctx) for each in factories}
    for each in backlog.classes:
        if each.lock_held:
            counts[Reason.LOCK_HELD] += each.ready
            continue
        against = [
            [rejection.reason for rejection in pair_rejections(each.job_class, factory)]
            or [rejection.reason for rejection in refused[factory.id]]
            for factory in factories
        ]
        counts[_first_in_the_way(against)] += each.ready
    return counts


def _first_in_the_way(against: Sequence[Sequence[Reason]]) -> str:
    if not against:
        return Reason.MISSING_CAPABILITY
    if not all(against):
        return CLAIMABLE
    order = list(Reason)
    # Of factories that could take it the least refused one speaks; failing those, the others.
    able = [each for each in against if not PERMANENT & set(each)]
    nearest = min(able or against, key=lambda each: (len(each), order.index(each[0])))
    return nearest[0]
