"""What people order of a workflow: run, review, merged, retry, cancel, pause, resume, move."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api import present_workflows as present
from app.api.answers import answer, row
from app.api.deps import Db, Ops, Tools, WorkflowIdPath
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.ticking import Occasion, TickKind
from app.coordinator.workflow_orders import (
    cancel_workflow,
    merged,
    pause_workflow,
    request_run,
    resume_workflow,
    retry_workflow,
    review,
)
from app.coordinator.workflows import WorkflowRecord, get_workflow, move_workflow
from app.errors import ImpossibleTransition, LostRace, NotFound
from app.wire.values import StandingRequest
from app.wire.workflow_ticks import RunReply
from app.wire.workflows import ReviewRequest, WorkflowCancel, WorkflowMove, WorkflowReply
from app.workflow import WorkflowId

router = APIRouter(tags=["workflows"], route_class=CheckedRoute)

_ORDERS = refusals(NotFound, LostRace)
_DECISIONS = refusals(NotFound, ImpossibleTransition, LostRace)


@router.post(
    "/workflows/{workflow_id}/run",
    summary="Run a workflow's stage",
    status_code=202,
    response_model=RunReply,
    responses=_DECISIONS,
)
async def workflow_run(workflow_id: WorkflowIdPath, by: Ops, tools: Tools) -> Response:
    """Ask for the stage to be run, and tick at once if no other tick is running.

    The wish is kept until the stage is started, so it survives a busy tick. A runbook that is
    closed is opened again for it.
    """
    wanted = WorkflowId(workflow_id)
    await request_run(tools.db, wanted, by=by)
    ticked = await tools.tick_workflows(Occasion(kind=TickKind.WORKFLOWS), wanted)
    workflow = present.workflow(await get_workflow(tools.db, wanted))
    return answer(
        RunReply(workflow=workflow, tick=present.workflow_tick(ticked.answer)), status=202
    )


@router.post(
    "/workflows/{workflow_id}/review",
    summary="Give a verdict",
    response_model=WorkflowReply,
    responses=_DECISIONS,
)
async def workflow_review(
    workflow_id: WorkflowIdPath, body: ReviewRequest, by: Ops, db: Db
) -> Response:
    """Say what a reviewer says of its pull request; repeating a verdict is harmless.

    It counts only under review; one that comes while comments are being addressed is of the
    state before, and a new one is asked for afterwards.
    """
    comments = tuple(body.comments)
    return _workflow(await review(db, WorkflowId(workflow_id), body.verdict, comments, by=by))


@router.post(
    "/workflows/{workflow_id}/merged",
    summary="Say that it is merged",
    response_model=WorkflowReply,
    responses=_DECISIONS,
)
async def workflow_merged(workflow_id: WorkflowIdPath, by: Ops, db: Db) -> Response:
    """Say that its pull request is merged, where no forge is asked; a tick goes on from there."""
    return _workflow(await merged(db, WorkflowId(workflow_id), by=by))


@router.post(
    "/workflows/{workflow_id}/retry",
    summary="Take a workflow back from a person",
    response_model=WorkflowReply,
    responses=_ORDERS,
)
async def workflow_retry(workflow_id: WorkflowIdPath, by: Ops, db: Db) -> Response:
    """Clear `needs_human_reason` and the failures of its stage; the next tick tries again."""
    return _workflow(await retry_workflow(db, WorkflowId(workflow_id), by=by))


@router.post(
    "/workflows/{workflow_id}/cancel",
    summary="Cancel a workflow",
    response_model=WorkflowReply,
    responses=_ORDERS,
)
async def workflow_cancel(
    workflow_id: WorkflowIdPath, by: Ops, db: Db, body: WorkflowCancel | None = None
) -> Response:
    """End a workflow, its job first; while that still runs, it keeps its slot and its clone."""
    reason = None if body is None else body.reason
    return _workflow(await cancel_workflow(db, WorkflowId(workflow_id), reason=reason, by=by))


@router.post(
    "/workflows/{workflow_id}/pause",
    summary="Pause a workflow",
    response_model=WorkflowReply,
    responses=_ORDERS,
)
async def workflow_pause(
    workflow_id: WorkflowIdPath, body: StandingRequest, by: Ops, db: Db
) -> Response:
    """Start nothing of it; a job that runs goes on, and a head keeps its clone."""
    return _workflow(
        await pause_workflow(
            db, WorkflowId(workflow_id), reason=body.reason, until=body.until, by=by
        )
    )


@router.post(
    "/workflows/{workflow_id}/resume",
    summary="Let a workflow go on",
    response_model=WorkflowReply,
    responses=_ORDERS,
)
async def workflow_resume(workflow_id: WorkflowIdPath, by: Ops, db: Db) -> Response:
    """Lift its pause."""
    return _workflow(await resume_workflow(db, WorkflowId(workflow_id), by=by))


@router.post(
    "/workflows/{workflow_id}/move",
    summary="Move a workflow in the order",
    response_model=WorkflowReply,
    responses=_ORDERS,
)
async def workflow_move(
    workflow_id: WorkflowIdPath, body: WorkflowMove, by: Ops, db: Db
) -> Response:
    """Give it a place; if another workflow has that, it and all behind it move on by one."""
    return _workflow(await move_workflow(db, WorkflowId(workflow_id), body.position, by=by))


def _workflow(record: WorkflowRecord) -> Response:
    reply = present.workflow(record)
    return row(reply, reply.version)
