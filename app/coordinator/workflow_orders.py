"""What people order of a workflow: run, review, merged, retry, cancel, pause, resume; and removal.

What each of them means is :mod:`app.workflow_calls`'s; here it is read, decided and written, and a
word that does not count is worded as a refusal.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from logging import getLogger

from app import workflow_calls
from app.coordinator.cancel import cancel_once
from app.coordinator.standing_until import ahead
from app.coordinator.workflows import WorkflowRecord, check_version, record_of
from app.errors import ImpossibleTransition
from app.fleet import FINISHED, Principal, Standing
from app.stages import STAGES
from app.store import factories, lives, workflows
from app.store.retrying import settled
from app.store.session import Connection, Database
from app.workflow import Kind, Review, Status, Workflow, WorkflowId

_LOG = getLogger(__name__)

Law = Callable[[Workflow, datetime], Workflow]


async def request_run(db: Database, workflow_id: WorkflowId, *, by: Principal) -> WorkflowRecord:
    """Remember that somebody wants its stage run, until it is; a closed runbook is reopened.

    Raises:
        NotFound: there is no such workflow.
        ImpossibleTransition: there is no stage to run where it is.
    """

    def law(before: Workflow, _now: datetime) -> Workflow:
        after = workflow_calls.request_run(before)
        if (after.kind, after.status) not in STAGES:
            detail = f"The workflow is {before.status}: there is no stage to run."
            raise ImpossibleTransition(detail, workflow_status=before.status.value)
        return after

    return await _order(db, workflow_id, law, by)


async def review(
    db: Database,
    workflow_id: WorkflowId,
    verdict: Review,
    comments: tuple[str, ...],
    *,
    by: Principal,
) -> WorkflowRecord:
    """Take a reviewer's verdict; repeating one is harmless.

    Raises:
        NotFound: there is no such workflow.
        ImpossibleTransition: it is not under review.
    """

    def law(before: Workflow, now: datetime) -> Workflow:
        if not before.in_review:
            detail = f"The workflow is {before.status}: a verdict counts only under review."
            raise ImpossibleTransition(detail, workflow_status=before.status.value)
        if (before.review, before.review_comments) == (verdict, comments):
            return before
        return workflow_calls.review(before, verdict, comments, now)

    return await _order(db, workflow_id, law, by)


async def merged(db: Database, workflow_id: WorkflowId, *, by: Principal) -> WorkflowRecord:
    """Take somebody's word that the pull request is merged; the next tick goes on from there.

    Raises:
        NotFound: there is no such workflow.
        ImpossibleTransition: it waits for no merge, or nothing is to follow one.
    """

    def law(before: Workflow, now: datetime) -> Workflow:
        after = workflow_calls.merge_seen(before, now)
        if after.merged_at is None:
            raise ImpossibleTransition(_no_merge(before), workflow_status=before.status.value)
        return after

    return await _order(db, workflow_id, law, by)


async def retry_workflow(db: Database, workflow_id: WorkflowId, *, by: Principal) -> WorkflowRecord:
    """Take a workflow back from the person it was left to, with all its tries.

    Raises:
        NotFound: there is no such workflow.
    """
    return await _order(db, workflow_id, lambda before, _now: workflow_calls.retry(before), by)


async def pause_workflow(
    db: Database, workflow_id: WorkflowId, *, reason: str, until: datetime | None, by: Principal
) -> WorkflowRecord:
    """Start nothing of a workflow; a job of it that runs is polled, and it keeps its clone.

    Raises:
        NotFound: there is no such workflow.
        Invalid: ``until`` is past.
    """
    standing = Standing(reason=reason, by=by.name, until=until)

    def law(before: Workflow, now: datetime) -> Workflow:
        return replace(before, paused=ahead(standing, now))

    return await _order(db, workflow_id, law, by)


async def resume_workflow(
    db: Database, workflow_id: WorkflowId, *, by: Principal
) -> WorkflowRecord:
    """Let a workflow go on.

    Raises:
        NotFound: there is no such workflow.
    """
    return await _order(db, workflow_id, lambda before, _now: replace(before, paused=None), by)


async def cancel_workflow(
    db: Database, workflow_id: WorkflowId, *, reason: str | None, by: Principal
) -> WorkflowRecord:
    """End a workflow by hand, its job first; while that still runs, it keeps slot and clone.

    Raises:
        NotFound: there is no such workflow.
    """

    async def once(conn: Connection) -> WorkflowRecord:
        before = (await record_of(conn, workflow_id)).workflow
        running = await _cancel_job(conn, before, reason, by)
        now = await factories.now(conn)
        after = workflow_calls.cancel(before, job_unfinished=running, now=now)
        if after != before:
            await workflows.write(conn, after)
        return await record_of(conn, workflow_id)

    _tell("cancel", workflow_id, by)
    return await settled(db, once)


async def remove_workflow(
    db: Database, workflow_id: WorkflowId, *, by: Principal, if_match: int | None = None
) -> None:
    """Delete a workflow, its job cancelled first; one that runs is asked to stop.

    Raises:
        NotFound: there is no such workflow.
        VersionMismatch: ``if_match`` names another version.
    """

    async def once(conn: Connection) -> None:
        before = (await record_of(conn, workflow_id)).workflow
        check_version(before, if_match)
        await _cancel_job(conn, before, "the workflow was removed", by)
        await workflows.remove(conn, before)

    _tell("remove", workflow_id, by)
    await settled(db, once)


async def _order(db: Database, workflow_id: WorkflowId, law: Law, by: Principal) -> WorkflowRecord:
    async def once(conn: Connection) -> WorkflowRecord:
        before = (await record_of(conn, workflow_id)).workflow
        after = law(before, await factories.now(conn))
        if after != before:
            await workflows.write(conn, after)
        return await record_of(conn, workflow_id)

    _tell("order", workflow_id, by)
    return await settled(db, once)


async def _cancel_job(
    conn: Connection, workflow: Workflow, reason: str | None, by: Principal
) -> bool:
    """Cancel the job of a processing workflow; tells whether it is unfinished all the same."""
    if not workflow.processing or workflow.job_id is None:
        return False
    reading = (await lives.read(conn, [workflow.job_id])).get(workflow.job_id)
    if reading is None:
        return False
    await cancel_once(conn, reading, reason or "the workflow was cancelled", by)
    after = (await lives.read(conn, [workflow.job_id]))[workflow.job_id]
    return after.life.state not in FINISHED


def _no_merge(workflow: Workflow) -> str:
    if workflow.kind is not Kind.DEVELOPMENT:
        return f"Nothing follows the merge of a workflow of the kind {workflow.kind}."
    if not workflow.tracks_after_merge:
        return "Nothing follows its merge: the workflow does not track what comes after it."
    if workflow.pr_url is None and workflow.status is not Status.IMPLEMENTING:
        return "The workflow has no pull request that could be merged; set pr_url."
    return f"The workflow is {workflow.status} and waits for no merge."


def _tell(what: str, workflow_id: WorkflowId, by: Principal) -> None:
    _LOG.info("workflow %s", what, extra={"workflow_id": str(workflow_id), "by": by.name})
