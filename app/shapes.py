"""Shapes: what ranking sees of a class. Classes that differ in their lock alone are one shape.

The locks of the ticks make a class per clone, so that there may be ten thousand classes and one
shape. A ranking that lists jobs, and takes none, asks of a lock only whether it is free; so the law
of :mod:`app.heads` holds of shapes as it does of classes: for one factory, and with the repo warm
or not warm in both cases, an older job of a shape never ranks below a younger one. And all warm
repos of a factory count alike, hence

    the best ``n`` jobs are among the ``n`` oldest of each shape, and the ``n`` oldest of each shape
    in the warm repos taken together.

No warm job of a shape ranks before what the shape's oldest job would be, were its repo warm
(:func:`warm_bound`): where that is not enough for the best few, the repos need not be looked at.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from app.eligibility import may_ever_take
from app.fleet import ClassId, Context, CostClass, Factory, FactoryId, Job, JobClass, JobId
from app.scheduler import Ranked, Weights, tie_break
from app.scoring import (
    WARM_REPO,
    class_score,
    standing_score,
    starvation_penalty,
    within_ceiling,
)

Place: TypeAlias = tuple[int, tuple[int, datetime, int, JobId]]
"""A place in a ranking, the best smallest: the score, then the tie-break."""

Profile: TypeAlias = tuple[
    frozenset[str], frozenset[str], frozenset[str], CostClass, FactoryId | None
]


@dataclass(eq=False, slots=True, kw_only=True)
class Shape:
    """Classes that differ in their lock alone; there is one of each, so it is told by identity."""

    job_class: JobClass
    class_ids: list[ClassId] = field(default_factory=list)


def shape_of(job_class: JobClass) -> JobClass:
    """What ranking sees of a class."""
    return replace(job_class, lock=None)


def takeable(shapes: Iterable[Shape], factory: Factory) -> list[Shape]:
    """The shapes that nothing permanent keeps from a factory."""
    offered = factory.offered
    return [one for one in shapes if may_ever_take(one.job_class, factory.id, offered)]


def profile(factory: Factory, shapes: Iterable[Shape]) -> Profile:
    """What decides in which order a factory wants things: equal profiles want the same."""
    named = any(factory.id in one.job_class.excluded for one in shapes)
    return (
        factory.capabilities,
        factory.engines,
        factory.warm_repos,
        factory.cost_ceiling,
        factory.id if named else None,
    )


def place_of(one: Ranked) -> Place:
    """Where a ranked job stands."""
    return (-one.score.total, tie_break(one.job))


def warm_bound(oldest: Job, factory: Factory, ctx: Context, weights: Weights) -> Place:
    """The best place that a job of this shape may have at all: its oldest job, and warm."""
    job_class = oldest.job_class
    penalty = starvation_penalty(oldest.created_at, ctx.now)
    if not within_ceiling(job_class, factory):
        penalty = max(0, penalty)
    total = (
        class_score(job_class, factory, factory.offered, weights)
        + standing_score(factory, weights)
        + weights.affinity * WARM_REPO
        - weights.starvation * penalty
    )
    return (-total, tie_break(oldest))
