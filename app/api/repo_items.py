"""What may be done in a repo: candidates, pull requests and issues brought; runs read."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api import accept_repos as accept
from app.api import present_repos as present
from app.api.answers import OnceKey, answer, etag, kept, of_kept
from app.api.deps import Cursor, Db, Limit, OpsOrClient, RepoIdPath
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.database import Connection
from app.coordinator.once import Answer, once
from app.coordinator.repo_items import add_candidate, bring_issue, bring_pull
from app.coordinator.repo_reads import list_candidates, list_issues, list_pulls, list_runs
from app.errors import IdempotencyMismatch, LostRace, NotFound
from app.repo import RepoId
from app.wire.repo_items import (
    CandidateCreate,
    CandidatePage,
    CandidateReply,
    IssueCreate,
    IssuePage,
    IssueReply,
    PullCreate,
    PullPage,
    PullReply,
    RunPage,
)
from app.wire.values import PAGE_DEFAULT

router = APIRouter(tags=["repos"], route_class=CheckedRoute)

_BRINGING = refusals(NotFound, IdempotencyMismatch, LostRace)


@router.post(
    "/repos/{repo_id}/candidates",
    summary="Queue a candidate",
    status_code=201,
    response_model=CandidateReply,
    responses=_BRINGING,
)
async def candidate_add(
    repo_id: RepoIdPath, body: CandidateCreate, _by: OpsOrClient, key: OnceKey, db: Db
) -> Response:
    """Queue an idea of what to work on, for explore to select."""

    async def act(conn: Connection) -> Answer:
        brought = await add_candidate(conn, RepoId(repo_id), body.focus, body.score)
        reply = present.candidate(brought.item)
        return kept(reply, status=201, headers={"ETag": etag(reply.version)})

    return of_kept(await once(db, key, act))


@router.get(
    "/repos/{repo_id}/candidates",
    summary="List candidates",
    response_model=CandidatePage,
    responses=refusals(NotFound),
)
async def candidates_page(
    repo_id: RepoIdPath,
    _by: OpsOrClient,
    db: Db,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List the candidates of a repo, oldest first."""
    page = await list_candidates(db, RepoId(repo_id), cursor, limit)
    items = [present.candidate(each) for each in page.items]
    return answer(CandidatePage(items=items, next_cursor=page.next_cursor))


@router.post(
    "/repos/{repo_id}/pulls",
    summary="Tell of a pull request",
    status_code=201,
    response_model=PullReply,
    responses=_BRINGING | {200: {"model": PullReply, "description": "It was known before"}},
)
async def pull_bring(
    repo_id: RepoIdPath, body: PullCreate, _by: OpsOrClient, key: OnceKey, db: Db
) -> Response:
    """Tell of a pull request, which has to be verified; of a known one, of its newest commit."""

    async def act(conn: Connection) -> Answer:
        brought = await bring_pull(conn, RepoId(repo_id), body.number, body.head_sha)
        reply = present.pull(brought.item)
        status = 201 if brought.created else 200
        return kept(reply, status=status, headers={"ETag": etag(reply.version)})

    return of_kept(await once(db, key, act))


@router.get(
    "/repos/{repo_id}/pulls",
    summary="List pull requests",
    response_model=PullPage,
    responses=refusals(NotFound),
)
async def pulls_page(
    repo_id: RepoIdPath,
    _by: OpsOrClient,
    db: Db,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List the pull requests of a repo, by number."""
    page = await list_pulls(db, RepoId(repo_id), cursor, limit)
    items = [present.pull(each) for each in page.items]
    return answer(PullPage(items=items, next_cursor=page.next_cursor))


@router.post(
    "/repos/{repo_id}/issues",
    summary="Tell of an issue",
    status_code=201,
    response_model=IssueReply,
    responses=_BRINGING | {200: {"model": IssueReply, "description": "It was known before"}},
)
async def issue_bring(
    repo_id: RepoIdPath, body: IssueCreate, _by: OpsOrClient, key: OnceKey, db: Db
) -> Response:
    """Tell of an issue to solve; of a known one, what is new of it. How far it is solved stays."""

    async def act(conn: Connection) -> Answer:
        brought = await bring_issue(conn, RepoId(repo_id), body.number, accept.issue(body))
        reply = present.issue(brought.item)
        status = 201 if brought.created else 200
        return kept(reply, status=status, headers={"ETag": etag(reply.version)})

    return of_kept(await once(db, key, act))


@router.get(
    "/repos/{repo_id}/issues",
    summary="List issues",
    response_model=IssuePage,
    responses=refusals(NotFound),
)
async def issues_page(
    repo_id: RepoIdPath,
    _by: OpsOrClient,
    db: Db,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List the issues of a repo, by number."""
    page = await list_issues(db, RepoId(repo_id), cursor, limit)
    items = [present.issue(each) for each in page.items]
    return answer(IssuePage(items=items, next_cursor=page.next_cursor))


@router.get(
    "/repos/{repo_id}/runs",
    summary="List runs",
    response_model=RunPage,
    responses=refusals(NotFound),
)
async def runs_page(
    repo_id: RepoIdPath,
    _by: OpsOrClient,
    db: Db,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List the runs of a repo, newest first; a verify job is none."""
    page = await list_runs(db, RepoId(repo_id), cursor, limit)
    items = [present.run(each) for each in page.items]
    return answer(RunPage(items=items, next_cursor=page.next_cursor))
