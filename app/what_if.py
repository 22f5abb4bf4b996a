"""What if the weights, a factory or a job were otherwise: what flips, and whose wait grows.

A hypothesis is put before the scheduler beside the facts, over the queue as it is or over recorded
decisions. Nothing is changed by it. Weights that break a theorem are tried as well, with a warning.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from app.fleet import DecisionId, Factory, FactoryId, Job, JobId
from app.replay import Recorded, decide
from app.scheduler import DEFAULT_WEIGHTS, Ranked, Theorem, Weights, theorems_broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """Other weights, a changed factory, a changed job: any of them, with the fields that differ."""

    weights: Weights = DEFAULT_WEIGHTS
    factory_id: FactoryId | None = None
    factory_fields: Mapping[str, Any] = field(default_factory=dict)
    job_id: JobId | None = None
    job_fields: Mapping[str, Any] = field(default_factory=dict)
    class_fields: Mapping[str, Any] = field(default_factory=dict)

    def factory(self, factory: Factory) -> Factory:
        """The factory as it would be."""
        if factory.id != self.factory_id:
            return factory
        return replace(factory, **self.factory_fields)

    def job(self, job: Job) -> Job:
        """The job as it would be."""
        if job.id != self.job_id:
            return job
        job_class = replace(job.job_class, **self.class_fields)
        return replace(job, job_class=job_class, **self.job_fields)


def warnings(weights: Weights) -> tuple[str, ...]:
    """Name the theorems that other weights would give up."""
    return tuple(f"{theorem}: {_LOST[theorem]}" for theorem in theorems_broken(weights))


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A job whose place in a ranking changes; None is a place beyond what was looked at."""

    job_id: JobId
    before: int | None
    after: int | None


def moves(before: Sequence[Ranked], after: Sequence[Ranked]) -> tuple[Move, ...]:
    """Compare two rankings: the jobs whose places differ, those that gain first."""
    old = {one.job.id: place for place, one in enumerate(before, start=1)}
    new = {one.job.id: place for place, one in enumerate(after, start=1)}
    found = [
        Move(job_id=job_id, before=old.get(job_id), after=new.get(job_id))
        for job_id in {**new, **old}
        if old.get(job_id) != new.get(job_id)
    ]
    beyond = len(before) + len(after)
    return tuple(
        sorted(found, key=lambda one: ((one.after or beyond) - (one.before or beyond), one.job_id))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A recorded decision, with the facts read back from it."""

    id: DecisionId
    at: datetime
    facts: Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A recorded decision that would have come out otherwise.

    ``longer`` is how long the job that got it would have waited at least, until that factory's next
    claim; ``shorter`` how much sooner the other would have begun; None where no record tells.
    """

    decision_id: DecisionId
    at: datetime
    factory_id: FactoryId
    job_id: JobId
    instead: JobId | None
    longer: timedelta | None
    shorter: timedelta | None


def flips(past: Iterable[Past], hypothesis: Hypothesis) -> tuple[Flip, ...]:
    """Decide recorded decisions again under a hypothesis; those that come out otherwise."""
    ordered = sorted(past, key=lambda one: (one.at, one.id))
    claimed = {one.facts.picked.id: one.at for one in ordered}
    following: dict[FactoryId, datetime] = {}
    found: list[Flip] = []
    for one in reversed(ordered):
        factory_id = one.facts.factory.id
        instead = _instead(one.facts, hypothesis)
        if instead != one.facts.picked.id:
            then, taken = following.get(factory_id), claimed.get(instead) if instead else None
            found.append(
                Flip(
                    decision_id=one.id,
                    at=one.at,
                    factory_id=factory_id,
                    job_id=one.facts.picked.id,
                    instead=instead,
                    longer=then - one.at if then else None,
                    shorter=taken - one.at if taken and taken > one.at else None,
                )
            )
        following[factory_id] = one.at
    return tuple(reversed(found))


_LOST = {
    Theorem.NO_STARVATION: "a job within its ceiling could wait for ever behind younger ones.",
    Theorem.OVER_BUDGET_IS_LAST: "a job above a factory's ceiling could pass one within it.",
    Theorem.HEALTH_OUTWEIGHS_IDLENESS: "a degraded but idle factory could win over a well one.",
}


def _instead(facts: Recorded, hypothesis: Hypothesis) -> JobId | None:
    changed = replace(
        facts,
        picked=hypothesis.job(facts.picked),
        runners_up=tuple(hypothesis.job(each) for each in facts.runners_up),
    )
    pick = decide(changed, hypothesis.weights, factory=hypothesis.factory(facts.factory))
    return pick.job.id if pick else None
