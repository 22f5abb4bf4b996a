"""The repo tick and its eyes: a GitHub behind real sockets, pages missing, limits, merges."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.coordinator.board import Rules
from app.coordinator.repo_reads import list_issues, list_pulls
from app.coordinator.repo_settings import RepoPatch, get_repo, patch_repo
from app.coordinator.tick_workflows import tick_workflows
from app.coordinator.ticking import Occasion, TickKind
from app.forge.github import GitHub
from app.repo import IssueStatus, PullStatus, RepoId
from app.runtime.ids import new_id
from app.store import projects, workflows
from app.store.session import Database
from app.workflow import Kind, Project, ProjectId, Status, Workflow, WorkflowId
from tests.support.github import Server, eyes_on, github_server, issue, pull
from tests.support.repos import a_factory, dispatched, end_jobs, set_up, tick


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with github_server() as running:
        yield running


@pytest.fixture
async def github(server: Server) -> AsyncIterator[GitHub]:
    async with eyes_on(server) as eyes:
        yield eyes


async def watched(db: Database, *, watch: bool = True, solve: bool = True) -> RepoId:
    """A repo that is read at GitHub."""
    await a_factory(db)
    repo = await set_up(
        db, pr_watching_enabled=watch, issue_solving_enabled=solve, daily_run_cap=100
    )
    version = (await get_repo(db, repo)).repo.version
    await patch_repo(db, repo, RepoPatch(github="acme/shop"), if_match=version)
    return repo


async def pulls_of(db: Database, repo: RepoId) -> dict[int, tuple[str, PullStatus]]:
    found = (await list_pulls(db, repo, None, 500)).items
    return {each.number: (each.head_sha, each.status) for each in found}


async def issues_of(db: Database, repo: RepoId) -> dict[int, IssueStatus]:
    found = (await list_issues(db, repo, None, 500)).items
    return {each.number: each.status for each in found}


async def test_pull_requests_come_change_and_go(
    db: Database, server: Server, github: GitHub
) -> None:
    repo = await watched(db, solve=False)
    server.pulls = [pull(3), pull(8)]
    assert await dispatched(db, github) == {"shop": "verify_pr"}
    await end_jobs(db, result={"verified": True})
    assert await dispatched(db, github) == {"shop": "verify_pr"}
    await end_jobs(db, "dead")
    assert await dispatched(db, github) == {"shop": None}
    assert await pulls_of(db, repo) == {
        3: ("sha3", PullStatus.VERIFIED),
        8: ("sha8", PullStatus.FAILED),
    }
    server.pulls[1]["head"]["sha"] = "fixed"
    assert await dispatched(db, github) == {"shop": "verify_pr"}
    server.pulls[0] |= {"state": "closed", "merged_at": "2026-03-01T08:00:00Z"}
    server.pulls[1] |= {"head": {"sha": "fixed", "repo": None}}
    await dispatched(db, github)
    assert [*await pulls_of(db, repo)] == [8]


async def test_issues_are_solved_by_score_and_closed_ones_left(
    db: Database, server: Server, github: GitHub
) -> None:
    repo = await watched(db, watch=False)
    server.issues = [issue(1, "fleet"), issue(2, "fleet", "score:9"), issue(3, "other")]
    assert await dispatched(db, github) == {"shop": "fix_issue"}
    assert await issues_of(db, repo) == {1: IssueStatus.OPEN, 2: IssueStatus.IN_PROGRESS}
    server.issues[0]["state"] = "closed"
    await end_jobs(db)
    assert await dispatched(db, github) == {"shop": None}
    assert set((await issues_of(db, repo)).values()) == {IssueStatus.SOLVED}


async def test_a_pull_request_that_closes_an_issue_on_the_last_page_is_its_solution(
    db: Database, server: Server, github: GitHub
) -> None:
    """C65: while a page is missing nothing is dispatched for issue 7; then its solution is seen."""
    repo = await watched(db, watch=False)
    server.issues = [issue(7, "fleet", "score:80")]
    server.pulls = [pull(number) for number in range(1, 138)]
    server.pulls[130]["body"] = "Fixes #7"
    refusals = [
        JSONResponse({"message": "slow down"}, 403, {"retry-after": "30"}),
        JSONResponse({"message": "You have exceeded a secondary rate limit"}, 403),
    ]

    def refuse(request: Request) -> Response | None:
        return refusals.pop(0) if refusals and request.query_params.get("page") == "4" else None

    server.refuse = refuse
    for wait_s in (31, 61):
        report = await tick(db, github)
        assert report["repos"][0]["dispatched"] is None
        assert "the forge was not read" in report["errors"][0]["error"]
        why = {line["check"]: line["why"] for line in report["repos"][0]["trace"]}
        assert "not before" in why["issue_solving"]
        assert await issues_of(db, repo) == {}
        server.later(seconds=wait_s)
    report = await tick(db, github)
    assert (report["errors"], report["repos"][0]["dispatched"]) == ([], None)
    assert await issues_of(db, repo) == {7: IssueStatus.SOLVED}


async def test_a_forge_that_falls_charges_no_job_and_leaves_no_lock(
    db: Database, server: Server, github: GitHub
) -> None:
    """C27: ticks whose forge answers 500 are over when they are over."""
    repo = await watched(db)
    server.issues = [issue(7, "fleet")]
    assert await dispatched(db, github) == {"shop": "fix_issue"}
    server.refuse = lambda _: JSONResponse({"message": "oops"}, 500)
    for _ in range(5):
        assert await dispatched(db, github) == {"shop": None}
        async with db.connection() as conn:
            locks = "select count(*) from pg_locks where locktype = 'advisory'"
            assert await conn.fetchval(locks) == 0
    await end_jobs(db)
    assert await dispatched(db, github) == {"shop": None}
    (solved,) = (await list_issues(db, repo, None, 10)).items
    assert (solved.solutions_done, solved.failures) == (1, 0)


async def test_merges_are_confirmed_once_each_and_a_closed_one_is_left_to_a_person(
    db: Database, server: Server, github: GitHub
) -> None:
    """C63, through the workflow tick, which asks the same forge."""
    await a_factory(db)
    merged = {"state": "closed", "merged_at": "2026-03-01T08:00:00Z"}
    server.pulls = [
        pull(1, **merged, merge_commit_sha="squashed"),
        pull(2, **merged, head={"sha": "gone", "repo": None}),
        pull(3, state="closed", closed_at="2026-03-01T08:00:00Z"),
    ]
    project = Project(id=ProjectId(new_id()), name="shop")
    blank = Workflow(
        id=WorkflowId(new_id()),
        project_id=project.id,
        kind=Kind.DEVELOPMENT,
        title="t",
        prompt="p",
        position=1,
        status=Status.DONE,
        tracks_after_merge=True,
    )
    async with db.transaction() as conn:
        await projects.insert(conn, project)
        for number in (1, 2, 3):
            url = f"{server.url}/acme/shop/pull/{number}"
            flow = replace(blank, id=WorkflowId(new_id()), position=number, pr_url=url)
            await workflows.insert(conn, flow)
    occasion = Occasion(kind=TickKind.WORKFLOWS)
    report = (await tick_workflows(db, occasion, Rules(max_agents=3, named=None), github)).answer
    phases = report["phases"]
    assert isinstance(phases, dict)
    post = phases["post_merge"]
    assert isinstance(post, dict)
    assert isinstance(post["merged"], list)
    assert len(post["merged"]) == 2
    async with db.connection() as conn:
        left = [each for each in await workflows.board(conn) if each.needs_human_reason]
    assert [each.position for each in left] == [3]


async def test_the_forge_is_not_asked_for_what_nobody_wants(
    db: Database, server: Server, github: GitHub
) -> None:
    await watched(db, watch=False, solve=False)
    await dispatched(db, github)
    assert server.asked == []
