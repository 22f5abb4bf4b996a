"""Projects: where workflows do their work."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api import accept_workflows as accept
from app.api import present_workflows as present
from app.api.answers import IfMatch, IfMatchGiven, OnceKey, answer, etag, kept, of_kept, row
from app.api.deps import Cursor, Db, Limit, Ops, ProjectIdPath
from app.api.document import headers_of, refusals
from app.api.routing import CheckedRoute
from app.coordinator.database import Connection
from app.coordinator.once import Answer, once
from app.coordinator.projects import (
    ProjectRecord,
    create_project,
    edit_project,
    get_project,
    list_projects,
    pause_project,
    remove_project,
    resume_project,
)
from app.errors import (
    Conflict,
    IdempotencyMismatch,
    LostRace,
    NotFound,
    VersionMismatch,
    VersionRequired,
)
from app.wire.projects import ProjectCreate, ProjectPage, ProjectPatch, ProjectReply
from app.wire.values import PAGE_DEFAULT, Name, StandingRequest
from app.workflow import ProjectId

router = APIRouter(tags=["workflows"], route_class=CheckedRoute)

_DECIDING = refusals(NotFound, LostRace)


@router.post(
    "/projects",
    summary="Create a project",
    status_code=201,
    response_model=ProjectReply,
    responses=refusals(Conflict, IdempotencyMismatch, LostRace)
    | {201: {"headers": headers_of({"Location": "Where the project is."})}},
)
async def project_create(body: ProjectCreate, by: Ops, key: OnceKey, db: Db) -> Response:
    """Create a project: where its workflows work, and how their jobs are submitted."""

    async def act(conn: Connection) -> Answer:
        made = await create_project(conn, body.name, accept.project(body), by=by)
        reply = present.project(made)
        headers = {"Location": f"/projects/{reply.id}", "ETag": etag(reply.version)}
        return kept(reply, status=201, headers=headers)

    return of_kept(await once(db, key, act))


@router.get("/projects", summary="List projects", response_model=ProjectPage)
async def projects_page(
    _by: Ops,
    db: Db,
    name: Annotated[Name | None, Query(description="Of this name.", examples=["shop"])] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List projects, the oldest first."""
    page = await list_projects(db, name, cursor, limit)
    items = [present.project(each) for each in page.items]
    return answer(ProjectPage(items=items, next_cursor=page.next_cursor))


@router.get(
    "/projects/{project_id}",
    summary="Read a project",
    response_model=ProjectReply,
    responses=refusals(NotFound),
)
async def project_read(project_id: ProjectIdPath, _by: Ops, db: Db) -> Response:
    """Read a project; `ETag` is its version."""
    return _project(await get_project(db, ProjectId(project_id)))


@router.patch(
    "/projects/{project_id}",
    summary="Change a project",
    response_model=ProjectReply,
    responses=refusals(NotFound, VersionMismatch, VersionRequired, Conflict, LostRace),
)
async def project_patch(
    project_id: ProjectIdPath, body: ProjectPatch, version: IfMatch, by: Ops, db: Db
) -> Response:
    """Change a project at the version that `If-Match` names; jobs already submitted stay."""
    changes = accept.project_patch(body)
    return _project(await edit_project(db, ProjectId(project_id), changes, if_match=version, by=by))


@router.delete(
    "/projects/{project_id}",
    summary="Delete a project",
    status_code=204,
    responses=refusals(NotFound, VersionMismatch, Conflict),
)
async def project_delete(
    project_id: ProjectIdPath, version: IfMatchGiven, by: Ops, db: Db
) -> Response:
    """Delete a project whose workflows are all finished, and what is left of those."""
    await remove_project(db, ProjectId(project_id), by=by, if_match=version)
    return Response(status_code=204)


@router.post(
    "/projects/{project_id}/pause",
    summary="Pause a project",
    response_model=ProjectReply,
    responses=_DECIDING,
)
async def project_pause(
    project_id: ProjectIdPath, body: StandingRequest, by: Ops, db: Db
) -> Response:
    """Start nothing of its workflows; what runs goes on, and heads keep their clones."""
    return _project(
        await pause_project(db, ProjectId(project_id), reason=body.reason, until=body.until, by=by)
    )


@router.post(
    "/projects/{project_id}/resume",
    summary="Let a project go on",
    response_model=ProjectReply,
    responses=_DECIDING,
)
async def project_resume(project_id: ProjectIdPath, by: Ops, db: Db) -> Response:
    """Lift its pause."""
    return _project(await resume_project(db, ProjectId(project_id), by=by))


def _project(record: ProjectRecord) -> Response:
    reply = present.project(record)
    return row(reply, reply.version)
