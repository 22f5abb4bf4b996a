"""Explanations as replies: the hand-off from the use cases to the wire."""

from collections.abc import Mapping
from dataclasses import asdict

from app.api import present_pair
from app.api.present import standing
from app.coordinator.explain import FactoryExplanation, Place
from app.coordinator.explain_job import Blocker, JobExplanation, Queue, Verdict
from app.eligibility import Rejection
from app.fleet import Factory, JobId, LockHolder
from app.scheduler import Score, Weights
from app.sentences import sentence
from app.tenure import Tenure
from app.wire.explain import (
    FactoryExplanationReply,
    FactoryFacts,
    LockHolderReply,
    RankedJob,
    ReasonReply,
    ScoreDetail,
    SurvivorsReply,
    UnlockReply,
)
from app.wire.explain_job import (
    BlockerReply,
    DependantReply,
    JobExplanationReply,
    QueuePlace,
    TenureReply,
    VerdictReply,
)


def factory_explanation(found: FactoryExplanation) -> FactoryExplanationReply:
    """Show what a factory's next claim would get."""
    return FactoryExplanationReply(
        factory=_facts(found.factory, stale=found.stale),
        now=found.now,
        headline=found.headline,
        weights=_weights(found.weights),
        refusals=[_reason(each) for each in found.refusals],
        ranking=[_place(each, found.kinds) for each in found.ranking],
        blocked={reason.value: count for reason, count in found.blocked.items()},
        survivors=[
            SurvivorsReply(reason=each.reason, dropped=each.dropped, left=each.left)
            for each in found.steps
        ],
        unlocks=[
            UnlockReply(capabilities=list(each.capabilities), jobs=each.jobs)
            for each in found.unlocks
        ],
    )


def job_explanation(found: JobExplanation) -> JobExplanationReply:
    """Show why a job is, or is not, taken."""
    return JobExplanationReply(
        job_id=found.job.id,
        kind=found.kinds.get(found.job.id),
        state=found.job.state,
        sentence=found.sentence,
        tenure=_tenure(found.tenure),
        version=found.job.version,
        now=found.now,
        headline=found.headline,
        weights=_weights(found.weights),
        verdicts=[_verdict(each) for each in found.verdicts],
        queue=_queue(found.queue, found.kinds),
        blockers=[_blocker(each) for each in found.blockers],
        dependants=[
            DependantReply(job_id=each.job_id, state=each.state, steps=each.steps)
            for each in found.dependants
        ],
        pair=present_pair.pair(found.pair) if found.pair else None,
    )


def _verdict(found: Verdict) -> VerdictReply:
    return VerdictReply(
        factory_id=found.factory.id,
        eligible=not found.reasons,
        reasons=[_reason(each) for each in found.reasons],
        rank=1 + found.ahead.jobs if found.ahead else None,
        rank_at_least=found.ahead.at_least if found.ahead else False,
        score=_score(found.score),
    )


def _tenure(found: Tenure | None) -> TenureReply | None:
    if found is None:
        return None
    return TenureReply(
        factory_id=found.factory_id,
        fence=found.fence,
        since=found.since,
        expires_at=found.expires_at,
        times_out_at=found.times_out_at,
        attempt=found.attempt,
        attempts_max=found.attempts_max,
        cancel_requested=found.cancel_requested,
        ends=list(found.ends),
    )


def _queue(found: Queue | None, kinds: Mapping[JobId, str]) -> QueuePlace | None:
    if found is None:
        return None
    return QueuePlace(
        factory_id=found.factory_id,
        ahead=found.ahead.jobs,
        at_least=found.ahead.at_least,
        first=[_place(each, kinds) for each in found.first],
    )


def _blocker(found: Blocker) -> BlockerReply:
    return BlockerReply(
        job_id=found.job.id,
        state=found.job.state,
        sentence=found.sentence,
        path=list(found.path),
        reasons=[_reason(each) for each in found.reasons],
    )


def _place(found: Place, kinds: Mapping[JobId, str]) -> RankedJob:
    return RankedJob(
        job_id=found.job.id,
        kind=kinds.get(found.job.id),
        rank=found.rank,
        score=_score(found.score),
        margin=found.margin,
        priority=found.job.job_class.priority,
        created_at=found.job.created_at,
        repo=found.job.repo,
    )


def _facts(found: Factory, *, stale: bool) -> FactoryFacts:
    return FactoryFacts(
        id=found.id,
        capabilities=sorted(found.capabilities),
        engines=sorted(found.engines),
        warm_repos=sorted(found.warm_repos),
        cost_ceiling=found.cost_ceiling,
        seat_limit=found.seat_limit,
        seats_used=found.seats_used,
        external_load=found.external_load,
        health=found.health,
        seats_free=found.seats_free,
        drain=standing(found.drain),
        pause=standing(found.pause),
        quarantined_until=found.quarantined_until,
        account=found.account,
        cooldown_until=found.cooldown_until,
        last_seen_at=found.last_seen_at,
        last_served_at=found.last_served_at,
        stale=stale,
    )


def _reason(found: Rejection) -> ReasonReply:
    return ReasonReply(
        reason=found.reason,
        permanent=found.permanent,
        message=sentence(found),
        clears_at=found.clears_at,
        clears_when=found.clears_when,
        state=found.state,
        parents=list(found.parents),
        lock=found.lock,
        holder=_holder(found.holder),
        missing=list(found.missing),
        standing=standing(found.standing),
    )


def _holder(found: LockHolder | None) -> LockHolderReply | None:
    if found is None:
        return None
    return LockHolderReply(
        job_id=found.job_id, factory_id=found.factory_id, expires_at=found.expires_at
    )


def _score(found: Score) -> ScoreDetail:
    return ScoreDetail(
        total=found.total,
        breakdown=found.breakdown.as_dict(),
        percents=found.percents.as_dict(),
    )


def _weights(found: Weights) -> dict[str, int]:
    weights: dict[str, int] = asdict(found)
    return weights
