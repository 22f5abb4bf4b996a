"""One candidate, pull request or issue of a repo: read, changed, forgotten."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from starlette.responses import Response

from app.api import accept_repos as accept
from app.api import present_repos as present
from app.api.answers import IfMatch, row
from app.api.deps import Db, OpsOrClient, RepoIdPath
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.repo_forget import remove_candidate, remove_issue, remove_pull
from app.coordinator.repo_items import patch_candidate, patch_issue, patch_pull
from app.coordinator.repo_reads import get_candidate, get_issue, get_pull
from app.errors import Conflict, LostRace, NotFound, VersionMismatch, VersionRequired
from app.repo import Candidate, CandidateId, Issue, Pull, RepoId
from app.wire.job_fields import ID_EXAMPLE
from app.wire.repo_items import (
    CandidatePatch,
    CandidateReply,
    IssuePatch,
    IssueReply,
    PullPatch,
    PullReply,
)

router = APIRouter(tags=["repos"], route_class=CheckedRoute)

CandidateIdPath = Annotated[UUID, Path(description="The candidate's id.", examples=[ID_EXAMPLE])]
NumberPath = Annotated[
    int, Path(ge=1, le=2**31 - 1, description="Its number at the forge.", examples=[7])
]

_READING = refusals(NotFound)
_CHANGING = refusals(NotFound, VersionMismatch, VersionRequired, Conflict, LostRace)
_FORGETTING = refusals(NotFound, LostRace)


@router.get(
    "/repos/{repo_id}/candidates/{candidate_id}",
    summary="Read a candidate",
    response_model=CandidateReply,
    responses=_READING,
)
async def candidate_read(
    repo_id: RepoIdPath, candidate_id: CandidateIdPath, _by: OpsOrClient, db: Db
) -> Response:
    """Read a candidate."""
    return _candidate(await get_candidate(db, RepoId(repo_id), CandidateId(candidate_id)))


@router.patch(
    "/repos/{repo_id}/candidates/{candidate_id}",
    summary="Change a candidate",
    response_model=CandidateReply,
    responses=_CHANGING,
)
async def candidate_patch(
    *,
    repo_id: RepoIdPath,
    candidate_id: CandidateIdPath,
    body: CandidatePatch,
    version: IfMatch,
    _by: OpsOrClient,
    db: Db,
) -> Response:
    """Change a candidate. One that leaves `selected` takes the repo's focus with it."""
    id_, patch = CandidateId(candidate_id), accept.candidate_patch(body)
    return _candidate(await patch_candidate(db, RepoId(repo_id), id_, patch, if_match=version))


@router.delete(
    "/repos/{repo_id}/candidates/{candidate_id}",
    summary="Forget a candidate",
    status_code=204,
    responses=_FORGETTING,
)
async def candidate_delete(
    repo_id: RepoIdPath, candidate_id: CandidateIdPath, _by: OpsOrClient, db: Db
) -> Response:
    """Forget a candidate; a scout may propose it again."""
    await remove_candidate(db, RepoId(repo_id), CandidateId(candidate_id))
    return Response(status_code=204)


@router.get(
    "/repos/{repo_id}/pulls/{number}",
    summary="Read a pull request",
    response_model=PullReply,
    responses=_READING,
)
async def pull_read(repo_id: RepoIdPath, number: NumberPath, _by: OpsOrClient, db: Db) -> Response:
    """Read a pull request."""
    return _pull(await get_pull(db, RepoId(repo_id), number))


@router.patch(
    "/repos/{repo_id}/pulls/{number}",
    summary="Change a pull request",
    response_model=PullReply,
    responses=_CHANGING,
)
async def pull_patch(
    *,
    repo_id: RepoIdPath,
    number: NumberPath,
    body: PullPatch,
    version: IfMatch,
    _by: OpsOrClient,
    db: Db,
) -> Response:
    """Change a pull request; `needs_verify` has one that failed verified once more."""
    patch = accept.pull_patch(body)
    return _pull(await patch_pull(db, RepoId(repo_id), number, patch, if_match=version))


@router.delete(
    "/repos/{repo_id}/pulls/{number}",
    summary="Forget a pull request",
    status_code=204,
    responses=_FORGETTING,
)
async def pull_delete(
    repo_id: RepoIdPath, number: NumberPath, _by: OpsOrClient, db: Db
) -> Response:
    """Forget a pull request; one that is open at the forge comes back."""
    await remove_pull(db, RepoId(repo_id), number)
    return Response(status_code=204)


@router.get(
    "/repos/{repo_id}/issues/{number}",
    summary="Read an issue",
    response_model=IssueReply,
    responses=_READING,
)
async def issue_read(repo_id: RepoIdPath, number: NumberPath, _by: OpsOrClient, db: Db) -> Response:
    """Read an issue."""
    return _issue(await get_issue(db, RepoId(repo_id), number))


@router.patch(
    "/repos/{repo_id}/issues/{number}",
    summary="Change an issue",
    response_model=IssueReply,
    responses=_CHANGING,
)
async def issue_patch(
    *,
    repo_id: RepoIdPath,
    number: NumberPath,
    body: IssuePatch,
    version: IfMatch,
    _by: OpsOrClient,
    db: Db,
) -> Response:
    """Change an issue; `open` takes one back from the person it was left to."""
    patch = accept.issue_patch(body)
    return _issue(await patch_issue(db, RepoId(repo_id), number, patch, if_match=version))


@router.delete(
    "/repos/{repo_id}/issues/{number}",
    summary="Forget an issue",
    status_code=204,
    responses=_FORGETTING,
)
async def issue_delete(
    repo_id: RepoIdPath, number: NumberPath, _by: OpsOrClient, db: Db
) -> Response:
    """Forget an issue; one that is labelled at the forge comes back."""
    await remove_issue(db, RepoId(repo_id), number)
    return Response(status_code=204)


def _candidate(found: Candidate) -> Response:
    return row(present.candidate(found), found.version)


def _pull(found: Pull) -> Response:
    return row(present.pull(found), found.version)


def _issue(found: Issue) -> Response:
    return row(present.issue(found), found.version)
