"""Orders about jobs: cancel, retry, hold and unhold."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api import present
from app.api.answers import answer, row
from app.api.deps import Db, JobIdPath, OpsOrClient
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.cancel import cancel
from app.coordinator.hold import hold, unhold
from app.coordinator.retry import retry
from app.errors import ImpossibleTransition, LostRace, NotFound
from app.fleet import JobId
from app.wire.jobs import CancelReply, CancelRequest, JobReply
from app.wire.values import StandingRequest

router = APIRouter(tags=["jobs"], route_class=CheckedRoute)

_DECIDING = refusals(NotFound, ImpossibleTransition, LostRace)


@router.post(
    "/jobs/{job_id}/cancel",
    summary="Cancel a job",
    response_model=CancelReply,
    responses=refusals(NotFound, LostRace),
)
async def job_cancel(
    job_id: JobIdPath, by: OpsOrClient, db: Db, body: CancelRequest | None = None
) -> Response:
    """Cancel a job, and what depends on it; a running one is asked to stop at its next heartbeat.

    A dead one leaves the dead letter, and is forgotten in time. The outcome says which of cancel
    and finish won.
    """
    reason = None if body is None else body.reason
    done = await cancel(db, JobId(job_id), reason=reason, by=by)
    return answer(CancelReply(outcome=done.outcome.value, job=present.job(done.job)))


@router.post(
    "/jobs/{job_id}/retry",
    summary="Begin a dead or cancelled job again",
    response_model=JobReply,
    responses=_DECIDING,
)
async def job_retry(job_id: JobIdPath, by: OpsOrClient, db: Db) -> Response:
    """Begin again with fresh attempts; dependants cancelled because of it are revived."""
    return _job(present.job(await retry(db, JobId(job_id), by=by)))


@router.post(
    "/jobs/{job_id}/hold",
    summary="Keep a job from being claimed",
    response_model=JobReply,
    responses=_DECIDING,
)
async def job_hold(job_id: JobIdPath, body: StandingRequest, by: OpsOrClient, db: Db) -> Response:
    """Hold a job until it is unheld, or until `until`; a leased one cannot be held."""
    held = await hold(db, JobId(job_id), reason=body.reason, until=body.until, by=by)
    return _job(present.job(held))


@router.post(
    "/jobs/{job_id}/unhold",
    summary="Lift the hold of a job",
    response_model=JobReply,
    responses=_DECIDING,
)
async def job_unhold(job_id: JobIdPath, by: OpsOrClient, db: Db) -> Response:
    """Lift the hold; where the job goes is computed anew."""
    return _job(present.job(await unhold(db, JobId(job_id), by=by)))


def _job(reply: JobReply) -> Response:
    return row(reply, reply.version)
