"""What people and the forge say about a workflow."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app import workflow_calls as calls
from app.workflow import Kind, Review, Status
from tests.core.workflow_world import PR, make_workflow, running
from tests.strategies import HOUR, NOW

APPROVED, CHANGES = Review.APPROVED, Review.CHANGES_REQUESTED
IN_REVIEW = make_workflow(status=Status.REVIEWING, pr_url=PR)


def test_a_verdict_counts_in_reviewing_only() -> None:
    after = calls.review(IN_REVIEW, CHANGES, ("Rename it.",), NOW)

    assert (after.review, after.review_at) == (CHANGES, NOW)
    assert after.review_comments == ("Rename it.",)
    for other in (
        make_workflow(status=Status.IMPLEMENTING),
        make_workflow(status=Status.LOCAL_TESTING),
        make_workflow(kind=Kind.PR_REVIEW, status=Status.REVIEWING),
    ):
        assert calls.review(other, APPROVED, (), NOW) is other
    assert calls.review(IN_REVIEW, Review.PENDING, (), NOW) is IN_REVIEW


def test_a_verdict_counts_only_if_newer_than_the_last_address_review() -> None:
    addressed = replace(IN_REVIEW, review_at=NOW)

    assert calls.review(addressed, APPROVED, (), NOW - HOUR) is addressed
    assert calls.review(addressed, APPROVED, (), NOW) is addressed
    assert calls.review(addressed, APPROVED, (), NOW + timedelta(seconds=1)).review is APPROVED


def test_repeating_a_verdict_is_harmless_and_an_overtaken_one_too() -> None:
    changes = calls.review(IN_REVIEW, CHANGES, ("Rename it.",), NOW)
    approved = calls.review(changes, APPROVED, (), NOW + HOUR)

    assert calls.review(changes, CHANGES, ("Rename it.",), NOW) is changes
    assert calls.review(approved, CHANGES, ("Rename it.",), NOW) is approved
    again = calls.review(approved, APPROVED, (), NOW + 2 * HOUR)
    assert again == replace(approved, review_at=NOW + 2 * HOUR)


def test_a_confirmed_merge_leads_on_from_done_if_it_was_waited_for() -> None:
    done = make_workflow(
        status=Status.DONE, pr_url=PR, tracks_after_merge=True, needs_human_reason="closed"
    )

    after = calls.merged(done, NOW)
    assert (after.status, after.merged_at, after.needs_human_reason) == (Status.MERGED, NOW, None)
    told = replace(done, merged_at=NOW - HOUR)
    assert calls.merged(told, NOW).merged_at == NOW - HOUR
    final = replace(done, tracks_after_merge=False)
    assert calls.merged(final, NOW) is final


@pytest.mark.parametrize("status", [Status.IMPLEMENTING, Status.REVIEWING, Status.DONE])
def test_what_is_put_back_before_its_merge_waits_for_one(status: Status) -> None:
    merged = make_workflow(status=Status.MERGED, pr_url=PR, merged_at=NOW, tracks_after_merge=True)
    assert calls.put(merged, status).merged_at is None
    assert calls.put(merged, Status.UAT_WAITING).merged_at == NOW


def test_a_pull_request_closed_unmerged_needs_a_human_and_says_who() -> None:
    by_ann = calls.closed_unmerged(IN_REVIEW, "ann").needs_human_reason
    by_nobody = calls.closed_unmerged(IN_REVIEW, None).needs_human_reason

    assert by_ann == f"pull request {PR} was closed by ann without being merged"
    assert by_nobody == f"pull request {PR} was closed without being merged"
    for other in (make_workflow(), make_workflow(kind=Kind.PR_REVIEW, status=Status.REVIEWING)):
        assert calls.closed_unmerged(other, "ann") is other


def test_uat_waiting_moves_to_uat_testing_and_nothing_else_does() -> None:
    waiting = make_workflow(status=Status.UAT_WAITING, stage_failures=2)

    after = calls.uat_due(waiting)
    assert (after.status, after.stage_failures) == (Status.UAT_TESTING, 0)
    assert calls.uat_due(after) is after


def test_retry_is_the_way_back() -> None:
    parked = make_workflow(stage_failures=3, stage_attempt=3, needs_human_reason="3 failures")

    assert calls.retry(parked) == make_workflow(stage_attempt=3)


def test_run_stage_stores_the_wish() -> None:
    book = make_workflow(kind=Kind.RUNBOOK)

    assert calls.request_run(book).run_requested
    assert calls.request_run(make_workflow()).run_requested
    assert not calls.request_run(replace(book, processing=True)).run_requested
    done = make_workflow(status=Status.DONE)
    assert calls.request_run(done) is done


def test_run_stage_reopens_a_closed_runbook() -> None:
    closed = make_workflow(
        kind=Kind.RUNBOOK, status=Status.CLOSED, finished_at=NOW, stage_attempt=1
    )

    assert calls.request_run(closed) == make_workflow(
        kind=Kind.RUNBOOK, run_requested=True, stage_attempt=1
    )


@pytest.mark.parametrize("status", Status)
def test_cancel_ends_what_is_not_ended(status: Status) -> None:
    workflow = make_workflow(status=status, run_requested=True)
    after = calls.cancel(workflow, job_unfinished=False, now=NOW)

    if status in {Status.CLOSED, Status.CANCELLED}:
        assert after is workflow
    else:
        assert after == make_workflow(status=Status.CANCELLED, finished_at=NOW)


def test_a_cancelled_workflow_keeps_its_slot_and_clone_while_its_job_is_unfinished() -> None:
    assert calls.cancel(running(), job_unfinished=True, now=NOW).processing
    assert not calls.cancel(running(), job_unfinished=False, now=NOW).processing
