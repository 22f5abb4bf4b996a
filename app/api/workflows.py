"""Workflows: create, read, change, remove."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api import accept_workflows as accept
from app.api import present_workflows as present
from app.api.answers import IfMatch, IfMatchGiven, OnceKey, answer, etag, kept, of_kept, row
from app.api.deps import Cursor, Db, Limit, Ops, WorkflowIdPath
from app.api.document import headers_of, refusals
from app.api.routing import CheckedRoute
from app.coordinator.database import Connection
from app.coordinator.once import Answer, once
from app.coordinator.workflow_orders import remove_workflow
from app.coordinator.workflows import (
    WorkflowFilter,
    create_workflow,
    edit_workflow,
    get_workflow,
    list_workflows,
)
from app.errors import (
    IdempotencyMismatch,
    ImpossibleTransition,
    LostRace,
    NotFound,
    VersionMismatch,
    VersionRequired,
)
from app.wire.values import PAGE_DEFAULT
from app.wire.workflows import WorkflowCreate, WorkflowPage, WorkflowPatch, WorkflowReply
from app.workflow import Kind, ProjectId, Status, WorkflowId

router = APIRouter(tags=["workflows"], route_class=CheckedRoute)


@router.post(
    "/workflows",
    summary="Create a workflow",
    status_code=201,
    response_model=WorkflowReply,
    responses=refusals(NotFound, IdempotencyMismatch, LostRace)
    | {201: {"headers": headers_of({"Location": "Where the workflow is."})}},
)
async def workflow_create(body: WorkflowCreate, by: Ops, key: OnceKey, db: Db) -> Response:
    """Create a workflow; the next tick starts it when its turn has come."""
    spec = accept.workflow(body)

    async def act(conn: Connection) -> Answer:
        reply = present.workflow(await create_workflow(conn, spec, by=by))
        headers = {"Location": f"/workflows/{reply.id}", "ETag": etag(reply.version)}
        return kept(reply, status=201, headers=headers)

    return of_kept(await once(db, key, act))


@router.get("/workflows", summary="List workflows", response_model=WorkflowPage)
async def workflows_page(  # noqa: PLR0913 - each is a parameter of the call
    *,
    _by: Ops,
    db: Db,
    project_id: Annotated[UUID | None, Query(description="Of this project.")] = None,
    kind: Annotated[Kind | None, Query(description="Of this kind.")] = None,
    status: Annotated[Status | None, Query(description="In this status.")] = None,
    processing: Annotated[
        bool | None, Query(description="Whether a job of it is under way.")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List workflows by position."""
    wanted = WorkflowFilter(
        project_id=None if project_id is None else ProjectId(project_id),
        kind=kind,
        status=status,
        processing=processing,
    )
    page = await list_workflows(db, wanted, cursor, limit)
    items = [present.workflow(each) for each in page.items]
    return answer(WorkflowPage(items=items, next_cursor=page.next_cursor))


@router.get(
    "/workflows/{workflow_id}",
    summary="Read a workflow",
    response_model=WorkflowReply,
    responses=refusals(NotFound),
)
async def workflow_read(workflow_id: WorkflowIdPath, _by: Ops, db: Db) -> Response:
    """Read a workflow; `ETag` is its version."""
    reply = present.workflow(await get_workflow(db, WorkflowId(workflow_id)))
    return row(reply, reply.version)


@router.patch(
    "/workflows/{workflow_id}",
    summary="Change a workflow",
    response_model=WorkflowReply,
    responses=refusals(NotFound, VersionMismatch, VersionRequired, ImpossibleTransition, LostRace),
)
async def workflow_patch(
    workflow_id: WorkflowIdPath, body: WorkflowPatch, version: IfMatch, by: Ops, db: Db
) -> Response:
    """Change a workflow at the version that `If-Match` names; fields left out stay.

    A new status puts it where that stage begins; not while a job of it is under way.
    """
    changes = accept.workflow_patch(body)
    changed = await edit_workflow(db, WorkflowId(workflow_id), changes, if_match=version, by=by)
    reply = present.workflow(changed)
    return row(reply, reply.version)


@router.delete(
    "/workflows/{workflow_id}",
    summary="Delete a workflow",
    status_code=204,
    responses=refusals(NotFound, VersionMismatch, LostRace),
)
async def workflow_delete(
    workflow_id: WorkflowIdPath, version: IfMatchGiven, by: Ops, db: Db
) -> Response:
    """Delete a workflow. Its job is cancelled first; one that runs is asked to stop."""
    await remove_workflow(db, WorkflowId(workflow_id), by=by, if_match=version)
    return Response(status_code=204)
