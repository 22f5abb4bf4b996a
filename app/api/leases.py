"""Reports on leases: renew, complete, fail, release."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from app.api import plain
from app.api.calls import A_JOB_ID, Call, Hot, Reply, written
from app.api.deps import JobIdPath, OnlyFactory, Services, Tools, bound
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.complete import Completion, Finished
from app.coordinator.finish import Failure, LeaseRef, Release, fail, release
from app.coordinator.receipts import FinishOutcome
from app.errors import LostRace, NotFound, StaleFence
from app.fleet import JobId
from app.wire.claims import (
    CompleteLeasesReply,
    CompleteLeasesRequest,
    CompleteReply,
    CompleteRequest,
    FailRequest,
    ReleaseRequest,
    RenewRequest,
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
    call = Call(tools=tools, by=by, body=body, target=str(job_id))
    return (await _renew(call)).response()


async def _renew(call: Call[RenewRequest]) -> Reply:
    ref = LeaseRef(job_id=_job_id(call), fence=call.body.fence)
    kept = await call.tools.reports.renew(bound(call.by), ref, call.body.lease_s)
    call.tools.metrics.lease(kept.outcome)
    return written(plain.lease(kept))


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
    call = Call(tools=tools, by=by, body=body, target=str(job_id))
    return (await _complete(call)).response()


async def _complete(call: Call[CompleteRequest]) -> Reply:
    body, tools = call.body, call.tools
    completion = Completion(job_id=_job_id(call), fence=body.fence, result=body.result)
    done = await tools.reports.complete_one(bound(call.by), completion, body.claim_next)
    _count(tools, done.outcomes, done)
    return written({**plain.settled(done.outcomes[0]), "claims": _claims(done)})


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
    call = Call(tools=tools, by=by, body=body)
    return (await _complete_all(call)).response()


async def _complete_all(call: Call[CompleteLeasesRequest]) -> Reply:
    body, tools = call.body, call.tools
    completions = [
        Completion(job_id=JobId(each.job_id), fence=each.fence, result=each.result)
        for each in body.leases
    ]
    done = await tools.reports.complete(bound(call.by), completions, body.claim_next)
    _count(tools, done.outcomes, done)
    outcomes = [plain.lease_outcome(each) for each in done.outcomes]
    return written({"outcomes": outcomes, "claims": _claims(done)})


HOT = (
    Hot(path="/jobs/{job_id}/renew", model=RenewRequest, act=_renew, target=A_JOB_ID),
    Hot(
        path="/jobs/{job_id}/complete",
        model=CompleteRequest,
        act=_complete,
        target=A_JOB_ID,
        free=lambda body: (body.result,),
        free_depth=1,
    ),
    Hot(
        path="/leases/complete",
        model=CompleteLeasesRequest,
        act=_complete_all,
        free=lambda body: [each.result for each in body.leases],
        free_depth=3,
    ),
)


def _settled(tools: Services, outcome: FinishOutcome) -> Response:
    _count(tools, (outcome,))
    return written(plain.settled(outcome)).response()


def _job_id(call: Call[Any]) -> JobId:
    return JobId(UUID(call.target))


def _claims(done: Finished) -> list[plain.Plain]:
    return [plain.claim(each) for each in done.claims]


def _count(
    tools: Services, outcomes: tuple[FinishOutcome, ...], done: Finished | None = None
) -> None:
    for each in outcomes:
        if not each.replayed:
            tools.metrics.lease(each.outcome.value)
    if done is not None and done.claims:
        tools.metrics.claimed_jobs.inc(len(done.claims))
