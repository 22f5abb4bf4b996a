"""A past decision, decided again by today's scheduler: identical, or what differs.

A record holds what :func:`app.explanation.decision_record` wrote: the time, the factory as it was
at that pick, the job it got and the next best ones. Better jobs that went elsewhere in the same
batch are not in it, and so neither is the place in the whole ranking replayed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.explanation import score_document
from app.fleet import (
    Context,
    CostClass,
    Factory,
    FactoryId,
    Health,
    Job,
    JobClass,
    JobId,
    Json,
    Priority,
)
from app.scheduler import DEFAULT_WEIGHTS, Pick, Seeker, Weights, match


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The facts of a decision, as values again."""

    factory: Factory
    picked: Job
    runners_up: tuple[Job, ...]
    ctx: Context

    @property
    def candidates(self) -> tuple[Job, ...]:
        """The job that was picked, and the next best ones."""
        return (self.picked, *self.runners_up)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something that came out otherwise."""

    field: str
    recorded: Json
    now: Json


def recorded(record: Mapping[str, Any]) -> Recorded:
    """Read the facts back from a record."""
    now = datetime.fromisoformat(record["now"])
    return Recorded(
        factory=_factory(record["factory"], now),
        picked=_job(record["picked"]),
        runners_up=tuple(_job(each) for each in record["runners_up"]),
        ctx=Context(now=now),
    )


def decide(
    facts: Recorded, weights: Weights = DEFAULT_WEIGHTS, *, factory: Factory | None = None
) -> Pick | None:
    """Decide again; None if the factory could not be given any of the candidates."""
    seeker = Seeker(factory=factory or facts.factory)
    picks = match([seeker], facts.candidates, facts.ctx, weights)
    return picks[0] if picks else None


def replay(record: Mapping[str, Any], weights: Weights = DEFAULT_WEIGHTS) -> tuple[Difference, ...]:
    """Decide again and tell what differs; nothing if the decision is identical."""
    pick = decide(recorded(record), weights)
    before = {
        "job_id": record["picked"]["job_id"],
        "score": record["picked"]["score"],
        "margin": record["margin"],
        "runners_up": [[each["job_id"], each["total"]] for each in record["runners_up"]],
    }
    after = _outcome(pick)
    return tuple(
        Difference(field=name, recorded=before[name], now=after[name])
        for name in before
        if before[name] != after[name]
    )


def _outcome(pick: Pick | None) -> dict[str, Json]:
    if pick is None:
        return {"job_id": None, "score": None, "margin": None, "runners_up": []}
    return {
        "job_id": str(pick.job.id),
        "score": score_document(pick.score),
        "margin": pick.margin,
        "runners_up": [[str(each.job.id), each.total] for each in pick.runners_up],
    }


def _factory(facts: Mapping[str, Any], now: datetime) -> Factory:
    return Factory(
        id=FactoryId(facts["id"]),
        capabilities=frozenset(facts["capabilities"]),
        engines=frozenset(facts["engines"]),
        warm_repos=frozenset(facts["warm_repos"]),
        cost_ceiling=CostClass(facts["cost_ceiling"]),
        seat_limit=facts["seat_limit"],
        seats_used=facts["seats_used"],
        external_load=facts["external_load"],
        health=Health(facts["health"]),
        account=facts["account"],
        cooldown_until=_time(facts["cooldown_until"]),
        last_seen_at=now,
        last_served_at=_time(facts["last_served_at"]),
    )


def _job(facts: Mapping[str, Any]) -> Job:
    return Job(
        id=JobId(UUID(facts["job_id"])),
        job_class=_class(facts["class"]),
        created_at=datetime.fromisoformat(facts["created_at"]),
        repo=facts["repo"],
        version=facts["version"],
    )


def _class(facts: Mapping[str, Any]) -> JobClass:
    excluded: Sequence[str] = facts["excluded"]
    return JobClass(
        required=frozenset(facts["required_capabilities"]),
        prefers_engine=facts["prefers_engine"],
        cost_class=CostClass(facts["cost_class"]),
        priority=Priority(facts["priority"]),
        lock=facts["lock"],
        excluded=frozenset(FactoryId(each) for each in excluded),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
