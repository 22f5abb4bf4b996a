"""What a tick hears from a forge, and that nothing is asked where there is none."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from app.coordinator.board import Rules
from app.coordinator.projects import create_project
from app.coordinator.tick_workflows import tick_workflows
from app.coordinator.ticking import Occasion, TickKind
from app.coordinator.workflows import WorkflowSpec, create_workflow
from app.fleet import JsonObject
from app.pull import PullNews, PullState, Verdict
from app.store import workflows
from app.store.session import Database
from app.workflow import Kind, ProjectId, Review, Status, Workflow, WorkflowId
from tests.support.factories import OPS, database_now, register

OCCASION = Occasion(kind=TickKind.WORKFLOWS)


@dataclass(slots=True)
class SmallForge:
    """A forge with a few pull requests; one that is not there breaks the connection."""

    pulls: dict[str, PullNews | None]
    asked: list[str] = field(default_factory=list)

    async def look(self, pr_url: str) -> PullNews | None:
        self.asked.append(pr_url)
        if pr_url not in self.pulls:
            message = "connection reset"
            raise ConnectionError(message)
        return self.pulls[pr_url]


async def project(db: Database) -> ProjectId:
    async with db.transaction() as conn:
        await register(conn)
        return (await create_project(conn, "shop", {}, by=OPS)).project.id


async def workflow(db: Database, project_id: ProjectId, pr_url: str, status: Status) -> WorkflowId:
    spec = WorkflowSpec(
        project_id=project_id,
        kind=Kind.DEVELOPMENT,
        title=pr_url,
        pr_url=pr_url,
        status=status,
        tracks_after_merge=True,
    )
    async with db.transaction() as conn:
        return (await create_workflow(conn, spec, by=OPS)).workflow.id


async def read(db: Database, workflow_id: WorkflowId) -> Workflow:
    async with db.connection() as conn:
        return (await workflows.by_ids(conn, [workflow_id]))[workflow_id].workflow


async def tick(db: Database, forge: SmallForge | None) -> JsonObject:
    return (await tick_workflows(db, OCCASION, Rules(), forge)).report


async def test_verdicts_merges_and_closed_pull_requests_are_taken_in(db: Database) -> None:
    shop = await project(db)
    async with db.connection() as conn:
        now = await database_now(conn)
    approved = Verdict(review=Review.APPROVED, at=now)
    forge = SmallForge(
        {
            "pr/1": PullNews(state=PullState.MERGED, ended_at=now - timedelta(hours=1)),
            "pr/2": PullNews(state=PullState.CLOSED, ended_by="ann"),
            "pr/3": PullNews(state=PullState.OPEN, verdict=approved),
            "a-branch": None,
        }
    )
    merged = await workflow(db, shop, "pr/1", Status.DONE)
    closed = await workflow(db, shop, "pr/2", Status.DONE)
    branch = await workflow(db, shop, "a-branch", Status.DONE)
    broken = await workflow(db, shop, "pr/broken", Status.DONE)

    report = await tick(db, forge)

    assert sorted(forge.asked) == ["a-branch", "pr/1", "pr/2", "pr/broken"]
    after = await read(db, merged)
    assert (after.status, after.merged_at) == (Status.MERGED, now - timedelta(hours=1))
    said = (await read(db, closed)).needs_human_reason
    assert said == "pull request pr/2 was closed by ann without being merged"
    assert (await read(db, branch)).status is Status.DONE
    assert report["errors"] == [
        {"workflow_id": str(broken), "error": "ConnectionError: connection reset"}
    ]
    reviewed = await workflow(db, shop, "pr/3", Status.REVIEWING)
    await tick(db, forge)
    assert (await read(db, reviewed)).review is Review.APPROVED


@pytest.mark.parametrize("state", [PullState.MERGED, PullState.CLOSED])
async def test_what_was_said_of_another_pull_request_is_not_taken_in(
    db: Database, state: PullState
) -> None:
    """It is given another one while the forge is asked about the one it had."""
    shop = await project(db)
    done = await workflow(db, shop, "pr/1", Status.DONE)

    class SlowForge(SmallForge):
        async def look(self, pr_url: str) -> PullNews | None:
            found = await read(db, done)
            async with db.transaction() as conn:
                await workflows.write(conn, replace(found, pr_url="pr/2"))
            return await super().look(pr_url)

    await tick(db, SlowForge({"pr/1": PullNews(state=state)}))

    after = await read(db, done)
    assert (after.pr_url, after.status) == ("pr/2", Status.DONE)
    assert (after.merged_at, after.needs_human_reason) == (None, None)


async def test_without_a_forge_nothing_is_asked_and_nobody_merges(db: Database) -> None:
    shop = await project(db)
    done = await workflow(db, shop, "pr/1", Status.DONE)
    report = await tick(db, None)
    assert report["errors"] == []
    assert (await read(db, done)).status is Status.DONE
