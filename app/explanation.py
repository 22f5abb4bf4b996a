"""Decisions as JSON: the documents that are stored and answered.

Nothing is decided here, and nothing is looked up. What people read is in :mod:`app.sentences`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from app.fleet import Context, Factory, Job, JobClass, JobId, Json, JsonObject
from app.scheduler import DEFAULT_WEIGHTS, Pick, Score, Terms, Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPick:
    """A pick that somebody else was faster at: the race ledger of a decision."""

    job_id: JobId
    version: int
    rank: int
    outcome: str

    @classmethod
    def of(cls, pick: Pick, outcome: str) -> "LostPick":
        """Keep of a lost pick what its successor's record will tell."""
        return cls(job_id=pick.job.id, version=pick.job.version, rank=pick.rank, outcome=outcome)


def decision_record(
    pick: Pick,
    factory: Factory,
    ctx: Context,
    *,
    weights: Weights = DEFAULT_WEIGHTS,
    lost: Sequence[LostPick] = (),
    kept: JsonObject | None = None,
) -> JsonObject:
    """Return what a claim was decided on, complete enough to decide it again.

    ``factory`` is as it was at the moment of this pick, earlier picks of its batch counted in;
    ``kept`` counts the jobs that it could not take, by reason, as of when they were counted last.
    """
    return {
        "now": ctx.now.isoformat(),
        "weights": weights_document(weights),
        "factory": factory_facts(factory),
        "rank": pick.rank,
        "margin": pick.margin,
        "picked": _candidate(pick.job) | {"score": score_document(pick.score)},
        "runners_up": [_candidate(each.job) | {"total": each.total} for each in pick.runners_up],
        "lost": [
            {
                "job_id": str(each.job_id),
                "version": each.version,
                "rank": each.rank,
                "outcome": each.outcome,
            }
            for each in lost
        ],
        "kept_from_it": kept,
    }


@cache
def weights_document(weights: Weights) -> JsonObject:
    """Return weights by name; the same object each time, so treat it as read-only."""
    return dict(asdict(weights))


def factory_facts(factory: Factory) -> JsonObject:
    """Return the facts of a factory that a decision may rest on."""
    return {
        "id": factory.id,
        "capabilities": _sorted(factory.capabilities),
        "engines": _sorted(factory.engines),
        "warm_repos": _sorted(factory.warm_repos),
        "cost_ceiling": factory.cost_ceiling.value,
        "seat_limit": factory.seat_limit,
        "seats_used": factory.seats_used,
        "external_load": factory.external_load,
        "health": factory.health.value,
        "account": factory.account,
        "cooldown_until": _time(factory.cooldown_until),
        "last_served_at": _time(factory.last_served_at),
    }


@lru_cache(maxsize=4096)
def class_facts(job_class: JobClass) -> JsonObject:
    """Return the facts of a class: everything that eligibility and score depend on.

    The same object each time, so treat it as read-only.
    """
    return {
        "required_capabilities": _sorted(job_class.required),
        "prefers_engine": job_class.prefers_engine,
        "cost_class": job_class.cost_class.value,
        "priority": job_class.priority.value,
        "lock": job_class.lock,
        "excluded": _sorted(job_class.excluded),
    }


def score_document(score: Score) -> JsonObject:
    """Return a score with its working, as every answer shows it."""
    return {
        "total": score.total,
        "breakdown": dict(score.breakdown.as_dict()),
        "percents": dict(score.percents.as_dict()),
    }


def score_from(document: Mapping[str, Any]) -> Score:
    """Read back what :func:`score_document` wrote."""
    return Score(
        total=document["total"],
        breakdown=Terms(**document["breakdown"]),
        percents=Terms(**document["percents"]),
    )


def _candidate(job: Job) -> JsonObject:
    return {
        "job_id": str(job.id),
        "version": job.version,
        "created_at": job.created_at.isoformat(),
        "repo": job.repo,
        "class": class_facts(job.job_class),
    }


def _sorted(names: Iterable[str]) -> list[Json]:
    return [*sorted(names)]


def _time(time: datetime | None) -> str | None:
    return time.isoformat() if time else None
