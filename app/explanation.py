"""Decisions as sentences and as JSON.

A decision carries its reasons as facts; here they are put into words for people and into documents
for programs. Nothing is decided here, and nothing is looked up: the sentence about a refusal is
made of the very :class:`app.eligibility.Rejection` that refused.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from app.eligibility import Reason, Rejection
from app.fleet import (
    Context,
    Factory,
    FactoryId,
    Job,
    JobClass,
    JobId,
    JobState,
    Json,
    JsonObject,
)
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
) -> JsonObject:
    """Return what a claim was decided on, complete enough to decide it again.

    ``factory`` is as it was at the moment of this pick, earlier picks of its batch counted in.
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


def sentence(rejection: Rejection) -> str:
    """Say one reason in words, with what is known of when it clears."""
    said = _WORDS[rejection.reason].format(
        state=rejection.state.value if rejection.state else "",
        missing=", ".join(rejection.missing),
        parents=", ".join(str(parent) for parent in rejection.parents),
        lock=rejection.lock,
        holder=_holder(rejection),
        because=f" ({rejection.standing.reason}, by {rejection.standing.by})"
        if rejection.standing
        else "",
    )
    until = f", until {rejection.clears_at.isoformat()}" if rejection.clears_at else ""
    return f"{said}{until}"


def headline(verdicts: Sequence[Sequence[Rejection]]) -> str:
    """Say in one line how many of the factories can take a job, and what stops the others.

    Args:
        verdicts: for each factory its reasons against the job, none if it can take it.
    """
    able = sum(not reasons for reasons in verdicts)
    total = len(verdicts)
    said = f"{able} of {total} {'factory' if total == 1 else 'factories'} can take it"
    counted = Counter(
        _predicate(reason, lacking) for reasons in verdicts for reason, lacking in _kinds(reasons)
    )
    parts = [
        f"{count} {one if count == 1 else many}"
        for (one, many), count in sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    ]
    return f"{said}: {', '.join(parts)}." if parts else f"{said}."


def claim_headline(best: JobId | None, margin: int | None, refusals: Sequence[Rejection]) -> str:
    """Say in one line what a factory's next claim would get."""
    if refusals:
        whys = "; ".join(sentence(each) for each in refusals)
        return f"Its next claim would get nothing: {whys}."
    if best is None:
        return "Its next claim would get nothing: no job waits that it may take now."
    if margin is None:
        return f"Its next claim would get {best}, the only job that it may take now."
    lead = f"{margin} points ahead of the next" if margin else "by a tie-break, for the next ties"
    return f"Its next claim would get {best}, {lead}."


def pair_headline(
    factory_id: FactoryId,
    job_id: JobId,
    reasons: Sequence[Rejection],
    instead: JobId | None,
) -> str:
    """Say in one line whether a factory's next claim gets a job."""
    if reasons:
        whys = "; ".join(sentence(each) for each in reasons)
        return f"{factory_id} cannot take {job_id} now: {whys}."
    if instead is not None:
        return f"{factory_id} could take {job_id}, but its next claim would get {instead}."
    return f"The next claim of {factory_id} gets {job_id}."


def state_sentence(job: Job, holder: FactoryId | None) -> str:
    """Say in a sentence where a job is in its life.

    Args:
        job: the job, with the facts of its state.
        holder: the factory that has it, or had it last.
    """
    until = ""
    if job.state is JobState.LEASED and job.lease_expires_at:
        until = f"; the lease runs until {job.lease_expires_at.isoformat()} unless it is renewed"
    if job.state is JobState.SCHEDULED and job.run_after:
        until = f", {job.run_after.isoformat()}"
    if job.state is JobState.HELD and job.hold:
        until = f" ({job.hold.reason}, by {job.hold.by})"
        until += f" until {job.hold.until.isoformat()}" if job.hold.until else ""
    count = len(job.unfinished_parents)
    said = _STATES[job.state].format(
        holder=holder or "a factory", parents=f"{count} {'job' if count == 1 else 'jobs'}"
    )
    return f"{said}{until}."


_STATES = {
    JobState.READY: "It is ready, and waits for a factory",
    JobState.LEASED: "It runs at {holder}",
    JobState.SCHEDULED: "It waits for its time",
    JobState.BLOCKED: "It waits for {parents} to end",
    JobState.HELD: "It is on hold",
    JobState.SUCCEEDED: "It succeeded at {holder}",
    JobState.DEAD: "It is dead: no attempt is left, and only a retry revives it",
    JobState.CANCELLED: "It was cancelled",
}

_WORDS = {
    Reason.NOT_READY: "the job is {state}",
    Reason.PARENT_UNFINISHED: "it waits for {parents}",
    Reason.LOCK_HELD: "its lock {lock} is held by {holder}",
    Reason.NOT_BEFORE: "it must not run before its time",
    Reason.ON_HOLD: "the job is on hold{because}",
    Reason.MISSING_CAPABILITY: "the factory lacks {missing}",
    Reason.EXCLUDED: "the job failed at this factory and is kept away from it",
    Reason.DRAINING: "the factory is draining{because}",
    Reason.PAUSED: "the factory is paused{because}",
    Reason.DOWN: "the factory reports that it is down",
    Reason.QUARANTINED: "the factory is in quarantine: its last jobs all failed fast",
    Reason.STALE: "the factory has not been heard of for three heartbeats",
    Reason.NO_SEAT: "the factory has no free seat",
    Reason.ACCOUNT_COOLDOWN: "the factory's account is cooling down",
}


_PREDICATES = {
    Reason.EXCLUDED: ("is excluded after a failure", "are excluded after failures"),
    Reason.DRAINING: ("is draining", "are draining"),
    Reason.PAUSED: ("is paused", "are paused"),
    Reason.DOWN: ("is down", "are down"),
    Reason.QUARANTINED: ("is in quarantine", "are in quarantine"),
    Reason.STALE: ("is not heard of", "are not heard of"),
    Reason.NO_SEAT: ("has no free seat", "have no free seat"),
    Reason.ACCOUNT_COOLDOWN: ("waits for its account", "wait for their accounts"),
    Reason.NOT_READY: ("would have to wait, as the job is not ready",) * 2,
    Reason.PARENT_UNFINISHED: ("would have to wait for a parent",) * 2,
    Reason.LOCK_HELD: ("would have to wait for the lock",) * 2,
    Reason.NOT_BEFORE: ("would have to wait for its time",) * 2,
    Reason.ON_HOLD: ("would have to wait for the hold to end",) * 2,
}


def _kinds(reasons: Sequence[Rejection]) -> set[tuple[Reason, tuple[str, ...]]]:
    return {(reason.reason, reason.missing) for reason in reasons}


def _predicate(reason: Reason, lacking: tuple[str, ...]) -> tuple[str, str]:
    if reason is Reason.MISSING_CAPABILITY:
        names = ", ".join(lacking)
        return (f"lacks {names}", f"lack {names}")
    return _PREDICATES[reason]


def _holder(rejection: Rejection) -> str:
    holder = rejection.holder
    if holder is None:
        return ""
    return f"{holder.job_id}" + (f" at {holder.factory_id}" if holder.factory_id else "")


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
