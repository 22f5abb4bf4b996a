"""Repos: their settings, what the chain works on by."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api import accept_repos as accept
from app.api import present_repos as present
from app.api.answers import IfMatch, IfMatchGiven, answer, row
from app.api.deps import Cursor, Db, Limit, Ops, OpsOrClient, RepoIdPath, Tools
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.explain_repo import explain_repo
from app.coordinator.repo_settings import (
    RepoRecord,
    delete_repo,
    get_repo,
    list_repos,
    patch_repo,
    pause_repo,
    put_repo,
    resume_repo,
)
from app.errors import LostRace, NotFound, VersionMismatch, VersionRequired
from app.repo import RepoId
from app.wire.repos import RepoExplanation, RepoPage, RepoPatch, RepoPut, RepoReply
from app.wire.values import PAGE_DEFAULT, StandingRequest

router = APIRouter(tags=["repos"], route_class=CheckedRoute)

_STANDING = refusals(NotFound, LostRace)


@router.put(
    "/repos/{repo_id}",
    summary="Set up a repo",
    response_model=RepoReply,
    responses=refusals(VersionMismatch, LostRace)
    | {201: {"model": RepoReply, "description": "It was not known before"}},
)
async def repo_put(
    repo_id: RepoIdPath, body: RepoPut, version: IfMatchGiven, _by: OpsOrClient, db: Db
) -> Response:
    """Set all settings of a repo; what is left out takes its default, all features off.

    Without `focus` it keeps the one it has. What happened stays: candidates, pull requests, issues,
    runs, a pause.
    """
    put = await put_repo(
        db,
        accept.repo(repo_id, body),
        keeps_focus="focus" not in body.model_fields_set,
        if_match=version,
    )
    return _repo(put.record, status=201 if put.created else 200)


@router.get("/repos", summary="List repos", response_model=RepoPage)
async def repos_page(
    _by: OpsOrClient, db: Db, cursor: Cursor = None, limit: Limit = PAGE_DEFAULT
) -> Response:
    """List repos by id."""
    page = await list_repos(db, cursor, limit)
    items = [present.repo(each) for each in page.items]
    return answer(RepoPage(items=items, next_cursor=page.next_cursor))


@router.get(
    "/repos/{repo_id}",
    summary="Read a repo",
    response_model=RepoReply,
    responses=refusals(NotFound),
)
async def repo_read(repo_id: RepoIdPath, _by: OpsOrClient, db: Db) -> Response:
    """Read the settings of a repo."""
    return _repo(await get_repo(db, RepoId(repo_id)))


@router.patch(
    "/repos/{repo_id}",
    summary="Change a repo",
    response_model=RepoReply,
    responses=refusals(NotFound, VersionMismatch, VersionRequired, LostRace),
)
async def repo_patch(
    repo_id: RepoIdPath, body: RepoPatch, version: IfMatch, _by: OpsOrClient, db: Db
) -> Response:
    """Change a repo at the version that `If-Match` names; jobs already submitted stay."""
    patch = accept.repo_patch(body)
    return _repo(await patch_repo(db, RepoId(repo_id), patch, if_match=version))


@router.delete(
    "/repos/{repo_id}",
    summary="Forget a repo",
    status_code=204,
    responses=refusals(NotFound, VersionMismatch, LostRace),
)
async def repo_delete(
    repo_id: RepoIdPath, version: IfMatchGiven, by: OpsOrClient, db: Db
) -> Response:
    """Forget a repo with all that belongs to it; its unfinished jobs are cancelled first."""
    await delete_repo(db, RepoId(repo_id), by=by, if_match=version)
    return Response(status_code=204)


@router.post(
    "/repos/{repo_id}/pause",
    summary="Pause a repo",
    response_model=RepoReply,
    responses=_STANDING,
)
async def repo_pause(
    repo_id: RepoIdPath, body: StandingRequest, by: OpsOrClient, db: Db
) -> Response:
    """Dispatch nothing more for a repo; what is under way goes on to its end."""
    paused = await pause_repo(db, RepoId(repo_id), reason=body.reason, until=body.until, by=by)
    return _repo(paused)


@router.post(
    "/repos/{repo_id}/resume",
    summary="Let a repo go on",
    response_model=RepoReply,
    responses=_STANDING,
)
async def repo_resume(repo_id: RepoIdPath, _by: OpsOrClient, db: Db) -> Response:
    """Lift its pause."""
    return _repo(await resume_repo(db, RepoId(repo_id)))


@router.get(
    "/explain/repos/{repo_id}",
    summary="Why a repo did what it did",
    response_model=RepoExplanation,
    responses=refusals(NotFound, LostRace),
    tags=["explain"],
)
async def repo_explained(repo_id: RepoIdPath, _by: Ops, tools: Tools) -> Response:
    """Show the trace of its last cycle, and what its next would do, decided by the same code.

    The forge is not asked for it: the next is decided on what is known.
    """
    async with tools.explaining.turn():
        found = await explain_repo(tools.db, RepoId(repo_id))
    return answer(present.repo_explanation(found))


def _repo(record: RepoRecord, *, status: int = 200) -> Response:
    reply = present.repo(record)
    return row(reply, reply.version, status=status)
