"""Reports on leases: renew, complete, fail, release."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api import present
from app.api.answers import answer
from app.api.deps import JobIdPath, OnlyFactory, Services, Tools, bound
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.finish import (
    Completion,
    Failure,
    Finished,
    LeaseRef,
    Release,
    complete,
    complete_one,
    fail,
    release,
)
from app.coordinator.receipts import FinishOutcome
from app.coordinator.renew import renew
from app.errors import LostRace, NotFound, StaleFence
from app.fleet import JobId
from app.wire.claims import (
    ClaimReply,
    CompleteLeasesReply,
    CompleteLeasesRequest,
    CompleteReply,
    CompleteRequest,
    FailRequest,
    LeaseOutcome,
    ReleaseRequest,
    RenewRequest,
    SettledJob,
    SettledReply,
)
from app.wire.factories import LeaseReply

router = APIRouter(tags=["claims"], route_class=CheckedRoute)

_REFUSALS = refusals(NotFound, StaleFence, LostRace)


@router.post(
    "/jobs/{job_id}/renew", summary="Renew a lease", response_model=LeaseReply, responses=_REFUSALS
)
async def job_renew(
    job_id: JobIdPath, body: RenewRequest, by: OnlyFactory, tools: Tools
) -> Response:
    """Keep a lease; a late renewal is granted while the fence is open. A heartbeat renews all."""
    ref = LeaseRef(job_id=JobId(job_id), fence=body.fence)
    kept = await renew(tools.db, bound(by), ref, body.lease_s)
    tools.metrics.leases.labels(kept.outcome).inc()
    return answer(
        LeaseReply(job_id=kept.job_id, outcome=kept.outcome.value, expires_at=kept.expires_at)
    )


@router.post(
    "/jobs/{job_id}/complete",
    summary="Report success",
    response_model=CompleteReply,
    responses=_REFUSALS,
)
async def job_complete(
    job_id: JobIdPath, body: CompleteRequest, by: OnlyFactory, tools: Tools
) -> Response:
    """End a job well, and take up to `claim_next` next jobs in the same call.

    Repeating the call under its fence returns the first answer, with those of its next leases that
    are still current.
    """
    completion = Completion(job_id=JobId(job_id), fence=body.fence, result=body.result)
    done = await complete_one(tools.db, tools.take, bound(by), completion, body.claim_next)
    _count(tools, done.outcomes, done)
    outcome = done.outcomes[0]
    return answer(
        CompleteReply(
            job=_job(outcome),
            outcome=outcome.outcome.value,
            replayed=outcome.replayed,
            claims=_claims(done),
        )
    )


@router.post(
    "/jobs/{job_id}/fail",
    summary="Report a failed attempt",
    response_model=SettledReply,
    responses=_REFUSALS,
)
async def job_fail(job_id: JobIdPath, body: FailRequest, by: OnlyFactory, tools: Tools) -> Response:
    """End an attempt badly: the job is tried again after a growing wait, or is dead."""
    failure = Failure(
        error=body.error,
        retryable=body.retryable,
        retry_after_s=body.retry_after_s,
        exclude_me=body.exclude_me,
    )
    ref = LeaseRef(job_id=JobId(job_id), fence=body.fence)
    return _settled(tools, await fail(tools.db, bound(by), ref, failure))


@router.post(
    "/jobs/{job_id}/release",
    summary="Give a job back",
    response_model=SettledReply,
    responses=_REFUSALS,
)
async def job_release(
    job_id: JobIdPath, body: ReleaseRequest, by: OnlyFactory, tools: Tools
) -> Response:
    """Give a job back for a reason that is not its own: no attempt is burned."""
    released = Release(
        reason=body.reason, retry_after_s=body.retry_after_s, cooldown_until=body.cooldown_until
    )
    ref = LeaseRef(job_id=JobId(job_id), fence=body.fence)
    return _settled(tools, await release(tools.db, bound(by), ref, released))


@router.post(
    "/leases/complete",
    summary="Report several successes",
    response_model=CompleteLeasesReply,
    responses=refusals(LostRace),
)
async def leases_complete(body: CompleteLeasesRequest, by: OnlyFactory, tools: Tools) -> Response:
    """End several jobs well, each on its own, and take up to `claim_next` next ones."""
    completions = [
        Completion(job_id=JobId(each.job_id), fence=each.fence, result=each.result)
        for each in body.leases
    ]
    done = await complete(tools.db, tools.take, bound(by), completions, body.claim_next)
    _count(tools, done.outcomes, done)
    outcomes = [
        LeaseOutcome(
            job_id=each.job_id,
            outcome=each.outcome.value,
            state=each.state,
            version=each.version,
            replayed=each.replayed,
        )
        for each in done.outcomes
    ]
    return answer(CompleteLeasesReply(outcomes=outcomes, claims=_claims(done)))


def _settled(tools: Services, outcome: FinishOutcome) -> Response:
    _count(tools, (outcome,))
    return answer(
        SettledReply(job=_job(outcome), outcome=outcome.outcome.value, replayed=outcome.replayed)
    )


def _job(outcome: FinishOutcome) -> SettledJob:
    assert outcome.state is not None  # noqa: S101 - a report that was taken moved a job
    assert outcome.version is not None  # noqa: S101 - the same
    return SettledJob(id=outcome.job_id, state=outcome.state, version=outcome.version)


def _claims(done: Finished) -> list[ClaimReply]:
    return [present.claim(each) for each in done.claims]


def _count(
    tools: Services, outcomes: tuple[FinishOutcome, ...], done: Finished | None = None
) -> None:
    for each in outcomes:
        if not each.replayed:
            tools.metrics.leases.labels(each.outcome.value).inc()
    if done is not None and done.claims:
        tools.metrics.claimed_jobs.inc(len(done.claims))
