"""How well a job suits a factory: six whole percents, six whole weights, one sum.

The arithmetic of :mod:`app.scheduler`, where the terms and the theorems are explained. Split in
three by what a term depends on, so that ranking a crowd works each part out as rarely as it may:

- the (class, factory) pair: capability fit, the preferred engine, cost fit;
- the job itself: its age and its repo;
- the factory alone: load and health.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.fleet import Context, CostClass, Factory, Health, Job, JobClass, JobId, Priority

STARVATION_LEVEL = timedelta(hours=6)
"""Jobs whose ages fall into one level tie in age, so that priority decides between them."""

STARVATION_STEP = 25
PREFERRED_ENGINE = 50
WARM_REPO = 50

_PRIORITY_RANK = {
    Priority.CRITICAL: 0,
    Priority.HIGH: 1,
    Priority.NORMAL: 2,
    Priority.LOW: 3,
}
_COST_RANK = {CostClass.LOW: 0, CostClass.MEDIUM: 1, CostClass.HIGH: 2}
_HEALTH_PERCENT = {Health.OK: 100, Health.DEGRADED: 50, Health.DOWN: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What a percent of each term is worth. Fixed for real claims; what-if passes others."""

    capability: int = 2
    affinity: int = 2
    load: int = 1
    cost: int = 6
    health: int = 3
    starvation: int = 6

    def __post_init__(self) -> None:
        """Refuse a negative weight: it would turn a term round, and the law of heads with it."""
        if any(weight < 0 for weight in asdict(self).values()):
            message = "a weight is never negative"
            raise ValueError(message)


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """One whole number for each of the six terms: percents, or what they weigh."""

    capability_fit: int
    affinity: int
    load: int
    cost_fit: int
    health: int
    starvation_penalty: int

    def as_dict(self) -> dict[str, int]:
        """The terms by name, in the order of the formula."""
        return {
            "capability_fit": self.capability_fit,
            "affinity": self.affinity,
            "load": self.load,
            "cost_fit": self.cost_fit,
            "health": self.health,
            "starvation_penalty": self.starvation_penalty,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score that shows its working: ``total`` is the sum of ``breakdown``, exactly.

    ``breakdown`` holds the weighted terms with the penalty negated, as it is subtracted;
    ``percents`` holds the plain terms, the penalty positive while it is a penalty.
    """

    total: int
    breakdown: Terms
    percents: Terms


class Theorem(StrEnum):
    """What the weights guarantee, whatever the queue and the fleet look like."""

    NO_STARVATION = "no_starvation"
    OVER_BUDGET_IS_LAST = "over_budget_is_last"
    HEALTH_OUTWEIGHS_IDLENESS = "health_outweighs_idleness"


def score_candidate(
    job: Job, factory: Factory, ctx: Context, weights: Weights = DEFAULT_WEIGHTS
) -> Score:
    """How well ``job`` suits ``factory`` at ``ctx.now``, whether or not it is eligible."""
    job_class = job.job_class
    age_penalty = starvation_penalty(job.created_at, ctx.now)
    within = within_ceiling(job_class, factory)
    percents = Terms(
        capability_fit=capability_fit(job_class, factory.offered),
        affinity=engine_affinity(job_class, factory) + repo_affinity(job.repo, factory),
        load=idleness(factory.load),
        cost_fit=cost_fit(job_class, factory),
        health=_HEALTH_PERCENT[factory.health],
        starvation_penalty=age_penalty if within else max(0, age_penalty),
    )
    breakdown = weigh(percents, weights)
    return Score(total=total(breakdown), breakdown=breakdown, percents=percents)


def tie_break(job: Job) -> tuple[int, datetime, int, JobId]:
    """The order of jobs with equal scores, smallest first; it is total, since ids are unique."""
    job_class = job.job_class
    return (
        _PRIORITY_RANK[job_class.priority],
        job.created_at,
        _COST_RANK[job_class.cost_class],
        job.id,
    )


def theorems_broken(weights: Weights) -> tuple[Theorem, ...]:
    """The theorems that do not hold for every queue and fleet under ``weights``.

    Exact: each inequality compares what one term gains at least with what the others may lose at
    most, and both ends are reached by real jobs and factories.
    """
    fit_and_affinity = 100 * (weights.capability + weights.affinity)
    day = 4 * STARVATION_STEP * weights.starvation
    holds = {
        Theorem.NO_STARVATION: day > fit_and_affinity + 20 * weights.cost,
        Theorem.OVER_BUDGET_IS_LAST: 190 * weights.cost > fit_and_affinity + day,
        Theorem.HEALTH_OUTWEIGHS_IDLENESS: 50 * weights.health > 100 * weights.load,
    }
    return tuple(theorem for theorem, held in holds.items() if not held)


def capability_fit(job_class: JobClass, offered: frozenset[str]) -> int:
    """The share of what a factory offers that the job needs; 100 if it offers nothing.

    A specialised machine so prefers the work that only it can do.
    """
    return 100 * len(job_class.required & offered) // len(offered) if offered else 100


def engine_affinity(job_class: JobClass, factory: Factory) -> int:
    """50 if the factory has the engine that the job prefers."""
    return PREFERRED_ENGINE if job_class.prefers_engine in factory.engines else 0


def repo_affinity(repo: str | None, factory: Factory) -> int:
    """50 if the job's repo is warm at the factory."""
    return WARM_REPO if repo in factory.warm_repos else 0


def idleness(load: int) -> int:
    """The load term: 100 for an idle factory, less with every job it is busy with."""
    return 100 // (1 + load)


def within_ceiling(job_class: JobClass, factory: Factory) -> bool:
    """Whether the job costs no more than the factory is meant to run."""
    return _COST_RANK[job_class.cost_class] <= _COST_RANK[factory.cost_ceiling]


def cost_fit(job_class: JobClass, factory: Factory) -> int:
    """Near 100 within the factory's ceiling, best at the ceiling; far below zero above it."""
    room = _COST_RANK[factory.cost_ceiling] - _COST_RANK[job_class.cost_class]
    return 100 - 10 * room if room >= 0 else 100 * room


def starvation_penalty(created_at: datetime, now: datetime) -> int:
    """100, less 25 for every full six hours of age; below zero it is a bonus.

    For a job within the factory's ceiling there is no floor: with one, all old jobs would tie in
    age, and a stream of better fitting ones could pass an older one for ever. Above the ceiling
    the caller puts the floor at 0, since no age may lift such a job over one within.
    """
    return 100 - STARVATION_STEP * max(0, (now - created_at) // STARVATION_LEVEL)


def class_score(
    job_class: JobClass, factory: Factory, offered: frozenset[str], weights: Weights
) -> int:
    """What the (class, factory) pair brings to the score of each job of the class alike."""
    return (
        weights.capability * capability_fit(job_class, offered)
        + weights.affinity * engine_affinity(job_class, factory)
        + weights.cost * cost_fit(job_class, factory)
    )


def wish_score(job: Job, factory: Factory, ctx: Context, weights: Weights = DEFAULT_WEIGHTS) -> int:
    """What tells jobs apart for one factory: the score without load and health."""
    penalty = starvation_penalty(job.created_at, ctx.now)
    if not within_ceiling(job.job_class, factory):
        penalty = max(0, penalty)
    return (
        class_score(job.job_class, factory, factory.offered, weights)
        + weights.affinity * repo_affinity(job.repo, factory)
        - weights.starvation * penalty
    )


def standing_score(factory: Factory, weights: Weights, *, busier: int = 0) -> int:
    """What the factory brings to the score of every job alike, ``busier`` by so many jobs."""
    return (
        weights.load * idleness(factory.load + busier)
        + weights.health * _HEALTH_PERCENT[factory.health]
    )


def weigh(percents: Terms, weights: Weights) -> Terms:
    """Each term times its weight; the penalty with the sign with which it enters the sum."""
    return Terms(
        capability_fit=weights.capability * percents.capability_fit,
        affinity=weights.affinity * percents.affinity,
        load=weights.load * percents.load,
        cost_fit=weights.cost * percents.cost_fit,
        health=weights.health * percents.health,
        starvation_penalty=-weights.starvation * percents.starvation_penalty,
    )


def total(terms: Terms) -> int:
    """The sum of the six."""
    return (
        terms.capability_fit
        + terms.affinity
        + terms.load
        + terms.cost_fit
        + terms.health
        + terms.starvation_penalty
    )
