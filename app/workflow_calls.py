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
from typing import Final

from app.stages import STAGES
from app.workflow import Kind, Review, Status, Workflow, moved

_BEFORE_MERGE: Final = (Status.REVIEWING, Status.LOCAL_TESTING, Status.DONE)
"""Where a pull request exists and its merge has led to nothing yet."""

_ENDS: Final = (Status.CLOSED, Status.CANCELLED)


def review(
    workflow: Workflow, verdict: Review, comments: tuple[str, ...], at: datetime
) -> Workflow:
    """Take a reviewer's verdict, if it counts; an unchanged workflow is the answer if not."""
    too_old = workflow.review_at is not None and at <= workflow.review_at
    if not workflow.in_review or verdict is Review.PENDING or too_old:
        return workflow
    return replace(workflow, review=verdict, review_at=at, review_comments=comments)


def merge_seen(workflow: Workflow, at: datetime) -> Workflow:
    """Keep somebody's word that the pull request is merged; a tick goes on from there.

    It counts from the review on, for a merge may come before our own tests have ended, and where
    something is to follow it. An unchanged workflow is the answer if it does not count.
    """
    counts = (
        workflow.kind is Kind.DEVELOPMENT
        and workflow.status in _BEFORE_MERGE
        and workflow.tracks_after_merge
        and workflow.pr_url is not None
    )
    if not counts or workflow.merged_at is not None:
        return workflow
    return replace(workflow, merged_at=at)


def merged(workflow: Workflow, at: datetime) -> Workflow:
    """Go on after the confirmed merge of a workflow that waited for it."""
    if not workflow.awaits_merge:
        return workflow
    return replace(moved(workflow, Status.MERGED), merged_at=workflow.merged_at or at)


def closed_unmerged(workflow: Workflow, by: str | None) -> Workflow:
    """Leave a workflow whose pull request was closed without a merge to a person."""
    if workflow.kind is not Kind.DEVELOPMENT or workflow.status not in _BEFORE_MERGE:
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


def placed(workflow: Workflow, now: datetime) -> Workflow:
    """Complete a workflow that a person created or changed: what follows from where it stands.

    It is finished where nothing leads on, and not finished elsewhere; one that waits for its UAT
    has a time for it; one that was merged elsewhere was merged at the latest now.
    """
    status = workflow.status
    final = status in _ENDS or (status is Status.DONE and not workflow.awaits_merge)
    finished_at = (workflow.finished_at or now) if final else None
    here = replace(workflow, finished_at=finished_at)
    if status is Status.UAT_WAITING and workflow.uat_test_at is None:
        return replace(here, uat_test_at=now)
    if status is Status.MERGED and workflow.merged_at is None:
        return replace(here, merged_at=now)
    return here


def put(workflow: Workflow, status: Status) -> Workflow:
    """Move a workflow by hand, as if its stage had just begun; a review begins unanswered.

    Put back before its merge, it waits for one to come: what was merged before was another change.
    """
    if status is workflow.status:
        return workflow
    here = moved(workflow, status)
    if status is Status.IMPLEMENTING or status in _BEFORE_MERGE:
        here = replace(here, merged_at=None)
    if not here.in_review:
        return here
    return replace(here, review=Review.PENDING, review_at=None, review_comments=())
