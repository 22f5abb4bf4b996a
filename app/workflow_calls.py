"""What people and the forge say about a workflow, and what it changes.

Every function answers with the workflow as it is afterwards, which is the same one if the word does
not count: whoever calls compares the two, writes what differs, and words the refusal.

**Reviews.** A verdict counts in ``reviewing`` only, and if it is newer than the last
``address_review``: an approval of what has been rewritten since approves nothing. ``review_at`` is
the time of the newest word; a verdict that is not newer changes nothing, so a delivery may be
repeated, and deliveries may overtake each other.
"""

from dataclasses import replace
from datetime import datetime

from app.stages import STAGES
from app.workflow import Kind, Review, Status, Workflow, moved


def review(
    workflow: Workflow, verdict: Review, comments: tuple[str, ...], at: datetime
) -> Workflow:
    """Take a reviewer's verdict, if it counts; an unchanged workflow is the answer if not."""
    too_old = workflow.review_at is not None and at <= workflow.review_at
    if not workflow.in_review or verdict is Review.PENDING or too_old:
        return workflow
    return replace(workflow, review=verdict, review_at=at, review_comments=comments)


def merged(workflow: Workflow, at: datetime) -> Workflow:
    """Go on after the confirmed merge of a workflow that waited for it."""
    if not workflow.awaits_merge:
        return workflow
    return replace(moved(workflow, Status.MERGED), merged_at=workflow.merged_at or at)


def closed_unmerged(workflow: Workflow, by: str | None) -> Workflow:
    """Leave a workflow whose pull request was closed without a merge to a person."""
    open_stages = (Status.REVIEWING, Status.LOCAL_TESTING, Status.DONE)
    if workflow.kind is not Kind.DEVELOPMENT or workflow.status not in open_stages:
        return workflow
    who = f" by {by}" if by else ""
    reason = f"pull request {workflow.pr_url} was closed{who} without being merged"
    return replace(workflow, needs_human_reason=reason)


def uat_due(workflow: Workflow) -> Workflow:
    """Move a workflow whose time for UAT has come into that stage."""
    if workflow.status is not Status.UAT_WAITING:
        return workflow
    return moved(workflow, Status.UAT_TESTING)


def retry(workflow: Workflow) -> Workflow:
    """Take a workflow back from the person it was left to, with all its tries."""
    return replace(workflow, needs_human_reason=None, stage_failures=0)


def request_run(workflow: Workflow) -> Workflow:
    """Remember that somebody wants its stage run; a closed runbook is opened again for it."""
    reopened = workflow
    if workflow.kind is Kind.RUNBOOK and workflow.status is Status.CLOSED:
        reopened = moved(workflow, Status.IMPLEMENTING)
    if (reopened.kind, reopened.status) not in STAGES or reopened.processing:
        return reopened
    return replace(reopened, run_requested=True)


def cancel(workflow: Workflow, *, job_unfinished: bool, now: datetime) -> Workflow:
    """End a workflow by hand; it keeps slot and clone while its job may still be at work."""
    if workflow.status in (Status.CLOSED, Status.CANCELLED):
        return workflow
    ended = moved(workflow, Status.CANCELLED)
    return replace(
        ended,
        processing=workflow.processing and job_unfinished,
        run_requested=False,
        finished_at=now,
    )
