"""What follows from where a person puts a workflow, and the word that it was merged."""

import pytest

from app.workflow import Kind, Review, Status
from app.workflow_calls import merge_seen, placed, put
from tests.core.workflow_world import PR, make_workflow
from tests.strategies import HOUR, NOW


@pytest.mark.parametrize("status", [Status.CLOSED, Status.CANCELLED, Status.DONE])
def test_what_leads_nowhere_is_finished(status: Status) -> None:
    assert placed(make_workflow(status=status), NOW).finished_at == NOW
    before = make_workflow(status=status, finished_at=NOW - HOUR)
    assert placed(before, NOW).finished_at == NOW - HOUR


def test_what_waits_for_its_merge_is_not_finished() -> None:
    done = make_workflow(
        status=Status.DONE, pr_url=PR, tracks_after_merge=True, finished_at=NOW - HOUR
    )
    assert placed(done, NOW).finished_at is None


def test_what_waits_for_its_uat_has_a_time_for_it() -> None:
    assert placed(make_workflow(status=Status.UAT_WAITING), NOW).uat_test_at == NOW
    later = make_workflow(status=Status.UAT_WAITING, uat_test_at=NOW + HOUR)
    assert placed(later, NOW).uat_test_at == NOW + HOUR


def test_what_was_merged_elsewhere_was_merged_at_the_latest_now() -> None:
    assert placed(make_workflow(status=Status.MERGED), NOW).merged_at == NOW
    before = make_workflow(status=Status.MERGED, merged_at=NOW - HOUR)
    assert placed(before, NOW).merged_at == NOW - HOUR
    assert placed(make_workflow(), NOW) == make_workflow()


def test_a_stage_reached_by_hand_begins_anew_and_its_review_unanswered() -> None:
    failed = make_workflow(
        stage_failures=3, needs_human_reason="x", review=Review.APPROVED, review_at=NOW
    )
    reviewing = put(failed, Status.REVIEWING)
    assert (reviewing.stage_failures, reviewing.needs_human_reason) == (0, None)
    assert (reviewing.review, reviewing.review_at) == (Review.PENDING, None)
    assert put(failed, Status.LOCAL_TESTING).review is Review.APPROVED
    assert put(failed, failed.status) is failed


def test_the_word_of_a_merge_counts_from_the_review_on_where_something_follows_it() -> None:
    ready = make_workflow(status=Status.LOCAL_TESTING, pr_url=PR, tracks_after_merge=True)
    seen = merge_seen(ready, NOW)
    assert (seen.merged_at, seen.status) == (NOW, Status.LOCAL_TESTING)
    assert merge_seen(seen, NOW + HOUR) is seen
    for other in (
        make_workflow(pr_url=PR, tracks_after_merge=True),
        make_workflow(status=Status.DONE, pr_url=PR),
        make_workflow(status=Status.DONE, tracks_after_merge=True),
        make_workflow(kind=Kind.PR_REVIEW, status=Status.REVIEWING, tracks_after_merge=True),
    ):
        assert merge_seen(other, NOW) is other
