"""Changes that people can make to a job or a factory, as values that can be tried out.

Each is one thing that one call of the API does. :func:`apply` makes the job and the factory that
would be there after it, so that the scheduler can be asked about them before anybody does it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.eligibility import Reason, Rejection
from app.fleet import (
    ENGINE_PREFIX,
    CostClass,
    Factory,
    Health,
    Job,
    JobId,
    JobState,
    Priority,
)

WARM_REPOS_MAX = 16


class ChangeKind(StrEnum):
    """What is changed, in the order of what people would rather do."""

    UNHOLD = "unhold"
    RUN_NOW = "run_now"
    RESUME = "resume"
    HEALTH = "health"
    SEATS = "seats"
    OFFER = "offer"
    PRIORITY = "priority"
    WARM_REPO = "warm_repo"
    PREFERS_ENGINE = "prefers_engine"
    COST_CLASS = "cost_class"
    COST_CEILING = "cost_ceiling"
    REQUIRE_LESS = "require_less"
    DROP_LOCK = "drop_lock"
    DROP_PARENTS = "drop_parents"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change, in words, and the fields that it sets."""

    kind: ChangeKind
    message: str
    job: Mapping[str, Any] = field(default_factory=dict)
    job_class: Mapping[str, Any] = field(default_factory=dict)
    factory: Mapping[str, Any] = field(default_factory=dict)


def apply(
    changes: Iterable[Change], job: Job, factory: Factory, *, now: datetime
) -> tuple[Job, Factory]:
    """Make the job and the factory that would be there after ``changes``."""
    moved = False
    for each in changes:
        job = replace(job, job_class=replace(job.job_class, **each.job_class), **each.job)
        factory = replace(factory, **each.factory)
        moved = moved or bool(each.job)
    waits = (
        bool(job.unfinished_parents)
        or (job.hold is not None and job.hold.in_force(now))
        or (job.run_after is not None and job.run_after > now)
    )
    if moved and not waits and job.state in _PLACED_ANEW:
        job = replace(job, state=JobState.READY)
    return job, factory


def repairs(
    rejection: Rejection, job: Job, factory: Factory, *, retriable: bool
) -> tuple[Change, ...]:
    """What would clear a reason, each of them by itself; nothing if no call does.

    Args:
        rejection: the reason.
        job: the job it is about.
        factory: the factory it is about.
        retriable: whether a dead or cancelled job could be retried, its parents being as they are.
    """
    match rejection.reason:
        case Reason.NOT_READY:
            return _state_repairs(job, retriable=retriable)
        case Reason.PARENT_UNFINISHED:
            return (_drop_parents(rejection.parents),)
        case Reason.MISSING_CAPABILITY:
            return _capability_repairs(rejection, job, factory)
        case Reason.LOCK_HELD | Reason.NOT_BEFORE | Reason.ON_HOLD:
            return (_OF_JOB[rejection.reason],)
        case _:
            return _factory_repairs(rejection.reason, factory)


def levers(job: Job, factory: Factory) -> tuple[Change, ...]:
    """What would move a job up in a factory's ranking, the smaller steps of a kind first."""
    return (
        *_priorities(job),
        *_warm_repo(job, factory),
        *_engines(job, factory),
        *_cost_classes(job),
        *_ceilings(factory),
    )


_PLACED_ANEW = frozenset({JobState.BLOCKED, JobState.SCHEDULED, JobState.HELD})

_RUN_NOW = Change(
    kind=ChangeKind.RUN_NOW, message="the job's run_after is removed", job={"run_after": None}
)
_UNHOLD = Change(kind=ChangeKind.UNHOLD, message="the hold is lifted", job={"hold": None})
_OF_JOB = {
    Reason.LOCK_HELD: Change(
        kind=ChangeKind.DROP_LOCK, message="the job drops its lock", job_class={"lock": None}
    ),
    Reason.NOT_BEFORE: _RUN_NOW,
    Reason.ON_HOLD: _UNHOLD,
}
_LIFTED_BY_RESUME = frozenset(
    {Reason.DRAINING, Reason.PAUSED, Reason.QUARANTINED, Reason.ACCOUNT_COOLDOWN}
)
_RESUME = Change(
    kind=ChangeKind.RESUME,
    message="the factory is resumed",
    factory={"drain": None, "pause": None, "quarantined_until": None, "cooldown_until": None},
)


def _state_repairs(job: Job, *, retriable: bool) -> tuple[Change, ...]:
    if job.state is JobState.HELD:
        return (_UNHOLD,)
    if job.state is JobState.SCHEDULED:
        return (_RUN_NOW,)
    if job.state is JobState.BLOCKED and job.unfinished_parents:
        return (_drop_parents(job.unfinished_parents),)
    if job.state in {JobState.DEAD, JobState.CANCELLED} and retriable:
        ready = {"state": JobState.READY}
        return (Change(kind=ChangeKind.RETRY, message="the job is retried", job=ready),)
    return ()


def _drop_parents(parents: tuple[JobId, ...]) -> Change:
    names = ", ".join(str(parent) for parent in parents)
    return Change(
        kind=ChangeKind.DROP_PARENTS,
        message=f"the job no longer depends on {names}",
        job={"unfinished_parents": ()},
    )


def _capability_repairs(rejection: Rejection, job: Job, factory: Factory) -> tuple[Change, ...]:
    missing = frozenset(rejection.missing)
    names = ", ".join(rejection.missing)
    engines = {
        each.removeprefix(ENGINE_PREFIX) for each in missing if each.startswith(ENGINE_PREFIX)
    }
    plain = {each for each in missing if not each.startswith(ENGINE_PREFIX)}
    offers: dict[str, Any] = {}
    if plain:
        offers["capabilities"] = factory.capabilities | plain
    if engines:
        offers["engines"] = factory.engines | engines
    return (
        Change(kind=ChangeKind.OFFER, message=f"the factory offers {names}", factory=offers),
        Change(
            kind=ChangeKind.REQUIRE_LESS,
            message=f"the job no longer requires {names}",
            job_class={"required": job.job_class.required - missing},
        ),
    )


def _factory_repairs(reason: Reason, factory: Factory) -> tuple[Change, ...]:
    if reason in _LIFTED_BY_RESUME:
        return (_RESUME,)
    if reason is Reason.DOWN:
        healthy = {"health": Health.OK}
        message = "the factory reports that it is well"
        return (Change(kind=ChangeKind.HEALTH, message=message, factory=healthy),)
    if reason is Reason.NO_SEAT:
        limit = factory.seats_used + 1
        message = f"the factory gets a seat more: {limit}"
        return (Change(kind=ChangeKind.SEATS, message=message, factory={"seat_limit": limit}),)
    return ()


def _priorities(job: Job) -> tuple[Change, ...]:
    order = list(Priority)
    higher = order[: order.index(job.job_class.priority)]
    return tuple(
        Change(
            kind=ChangeKind.PRIORITY,
            message=f"the job's priority is {priority}",
            job_class={"priority": priority},
        )
        for priority in reversed(higher)
    )


def _warm_repo(job: Job, factory: Factory) -> tuple[Change, ...]:
    full = len(factory.warm_repos) >= WARM_REPOS_MAX
    if job.repo is None or job.repo in factory.warm_repos or full:
        return ()
    return (
        Change(
            kind=ChangeKind.WARM_REPO,
            message=f"the factory keeps {job.repo} warm",
            factory={"warm_repos": factory.warm_repos | {job.repo}},
        ),
    )


def _engines(job: Job, factory: Factory) -> tuple[Change, ...]:
    if job.job_class.prefers_engine in factory.engines or not factory.engines:
        return ()
    engine = min(factory.engines)
    return (
        Change(
            kind=ChangeKind.PREFERS_ENGINE,
            message=f"the job prefers the engine {engine}",
            job_class={"prefers_engine": engine},
        ),
    )


def _cost_classes(job: Job) -> tuple[Change, ...]:
    return tuple(
        Change(
            kind=ChangeKind.COST_CLASS,
            message=f"the job's cost class is {cost}",
            job_class={"cost_class": cost},
        )
        for cost in _others(job.job_class.cost_class)
    )


def _ceilings(factory: Factory) -> tuple[Change, ...]:
    return tuple(
        Change(
            kind=ChangeKind.COST_CEILING,
            message=f"the factory's cost ceiling is {ceiling}",
            factory={"cost_ceiling": ceiling},
        )
        for ceiling in _others(factory.cost_ceiling)
    )


def _others(cost: CostClass) -> list[CostClass]:
    """The other cost classes, the nearest first."""
    order = list(CostClass)
    here = order.index(cost)
    return sorted(
        (each for each in order if each is not cost), key=lambda each: abs(order.index(each) - here)
    )
