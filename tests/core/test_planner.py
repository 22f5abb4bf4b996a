"""The selections of the workflow tick; names in the words of its table of rules."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app import planner
from app.planner import Board
from app.workflow import Kind, Reason, Review, Status, Workflow
from tests.core.workflow_world import (
    PR,
    make_board,
    make_project,
    make_workflow,
    project_id,
    running,
    workflow_id,
)
from tests.strategies import HOUR, NOW, make_standing

REVIEWING, MERGED = Status.REVIEWING, Status.MERGED
UAT_WAITING, UAT_TESTING = Status.UAT_WAITING, Status.UAT_TESTING


def eligible(board: Board) -> list[int]:
    return [each.id.int for each in planner.eligible_waiting(board)]


def held_back(board: Board) -> dict[int, Reason | None]:
    return {each.int: reason for each, reason in planner.held_back(board).items()}


def why(board: Board) -> dict[int, Reason]:
    return {each.int: reason for each, reason in planner.why_waiting(board).items()}


def pr_review(number: int) -> Workflow:
    return make_workflow(number, kind=Kind.PR_REVIEW, status=REVIEWING)


def runbook(number: int) -> Workflow:
    return make_workflow(number, kind=Kind.RUNBOOK)


# ---------------------------------------------------------------------------- active


@pytest.mark.parametrize("status", Status)
def test_active_are_implementing_reviewing_local_testing_and_merged_or_uat_testing_processing(
    status: Status,
) -> None:
    always = status in {Status.IMPLEMENTING, REVIEWING, Status.LOCAL_TESTING}
    at_work = always or status in {MERGED, UAT_TESTING}

    assert (planner.active([make_workflow(status=status)]) != ()) is always
    assert (planner.active([running(status=status)]) != ()) is at_work


def test_the_planner_sorts_by_position_then_id_itself() -> None:
    first, second, third = (make_workflow(n, position=p) for n, p in ((9, 1), (2, 5), (3, 5)))

    assert planner.active([third, second, first]) == (first, second, third)
    assert planner.processing([replace(third, processing=True), first]) == (
        replace(third, processing=True),
    )


# ---------------------------------------------------------------------------- eligible_waiting


def test_the_head_is_the_first_development_workflow_by_position_per_clone() -> None:
    elsewhere = make_workflow(4, project_id=project_id(2))

    board = make_board(make_workflow(3), make_workflow(2), elsewhere)

    assert planner.heads(board) == {"/src/p1": workflow_id(2), "/src/p2": workflow_id(4)}
    assert eligible(board) == [2, 4]


def test_a_head_waiting_on_review_keeps_its_slot() -> None:
    board = make_board(make_workflow(1, status=REVIEWING), make_workflow(2))

    assert eligible(board) == [1]
    assert held_back(board) == {1: Reason.REVIEW_PENDING, 2: Reason.BEHIND_HEAD}


def test_a_paused_head_keeps_its_clone() -> None:
    board = make_board(make_workflow(1, paused=make_standing()), make_workflow(2))

    assert held_back(board) == {1: Reason.PAUSED, 2: Reason.BEHIND_HEAD}


def test_a_head_that_needs_a_human_keeps_its_clone() -> None:
    board = make_board(make_workflow(1, needs_human_reason="3 failures"), make_workflow(2))

    assert held_back(board) == {1: Reason.NEEDS_HUMAN, 2: Reason.BEHIND_HEAD}


def test_a_processing_merged_workflow_is_a_head_too() -> None:
    board = make_board(running(1, status=MERGED), make_workflow(2))

    assert held_back(board) == {2: Reason.BEHIND_HEAD}


def test_a_merged_workflow_that_waits_is_no_head() -> None:
    assert eligible(make_board(make_workflow(1, status=MERGED), make_workflow(2))) == [2]


def test_projects_in_one_folder_have_one_head() -> None:
    twin = make_project(2, local_directory="/src/p1")

    board = make_board(make_workflow(1), make_workflow(2, project_id=twin.id), projects=[twin])

    assert held_back(board) == {1: None, 2: Reason.BEHIND_HEAD}


def test_pr_review_workflows_neither_hold_nor_wait_on_the_head() -> None:
    board = make_board(pr_review(1), make_workflow(2), pr_review(3))

    assert eligible(board) == [1, 2, 3]
    assert held_back(board) == {1: None, 2: None, 3: None}


def test_only_a_running_agent_on_the_same_clone_blocks_a_pr_review() -> None:
    board = make_board(running(1), pr_review(2), replace(pr_review(3), project_id=project_id(2)))

    assert eligible(board) == [2, 3]
    assert why(board) == {2: Reason.CLONE_BUSY}


def test_runbooks_are_eligible_only_if_auto_run_or_named() -> None:
    auto, wanted = make_workflow(2, auto_run=True), make_workflow(3, run_requested=True)
    books = [replace(each, kind=Kind.RUNBOOK) for each in (make_workflow(1), auto, wanted)]

    board = make_board(*books, runbook(4), named=4)

    assert eligible(board) == [2, 3, 4]
    assert held_back(board) == {1: Reason.NOT_REQUESTED, 2: None, 3: None, 4: None}


def test_runbooks_never_become_heads() -> None:
    board = make_board(replace(runbook(1), auto_run=True), make_workflow(2))

    assert planner.heads(board) == {"/src/p1": workflow_id(2)}
    assert eligible(board) == [1, 2]


def test_a_paused_project_stops_the_starts_of_its_workflows_until_its_time() -> None:
    project = make_project(1, paused=make_standing(until=NOW + HOUR))
    waiting = make_workflow()

    assert held_back(make_board(waiting, projects=[project])) == {1: Reason.PAUSED}
    assert held_back(make_board(waiting, projects=[project], now=NOW + HOUR)) == {1: None}


def test_a_workflow_that_no_factory_may_ever_take_does_not_start() -> None:
    assert held_back(make_board(make_workflow(), unplaceable=[1])) == {1: Reason.NO_FACTORY}


def test_an_approved_or_changed_review_lets_the_head_go_on() -> None:
    for verdict in (Review.APPROVED, Review.CHANGES_REQUESTED):
        board = make_board(make_workflow(status=REVIEWING, review=verdict))
        assert held_back(board) == {1: None}


# ---------------------------------------------------------------------------- capacity


def test_busy_clones_are_built_from_processing_workflows_of_all_statuses() -> None:
    board = make_board(
        running(1, clone_key="/a"),
        running(2, status=MERGED, clone_key="/a"),
        running(3, status=UAT_TESTING, project_id=project_id(2)),
        running(4, status=Status.CANCELLED, clone_key="/b"),
        make_workflow(5, clone_key="/c"),
        max_agents=5,
    )

    assert planner.capacity(board).busy_clones == ("/a", "/a", "/src/p2", "/b")
    assert planner.free_slots(board) == 1


# ---------------------------------------------------------------------------- post-merge


@pytest.mark.parametrize("status", Status)
def test_post_merge_is_skipped_while_any_is_implementing_or_local_testing_or_processing(
    status: Status,
) -> None:
    closes = status in {Status.IMPLEMENTING, Status.LOCAL_TESTING}

    assert planner.post_merge_gate(make_board(make_workflow(status=status))).is_open is not closes
    assert planner.post_merge_gate(make_board(running(status=status))).closed_by == (
        workflow_id(1),
    )


def test_a_runbook_closes_the_gate_only_if_it_is_going_to_run() -> None:
    def closed_by(book: Workflow, named: int | None = None) -> int:
        return len(planner.post_merge_gate(make_board(book, named=named)).closed_by)

    assert closed_by(runbook(1)) == 0
    assert closed_by(runbook(1), named=1) == 1
    assert closed_by(replace(runbook(1), auto_run=True)) == 1
    assert closed_by(replace(runbook(1), run_requested=True)) == 1
    assert closed_by(replace(runbook(1), processing=True)) == 1


def test_work_that_nobody_can_do_never_holds_the_gate() -> None:
    assert planner.post_merge_gate(make_board(make_workflow(1), unplaceable=[1])).is_open
    assert not planner.post_merge_gate(make_board(running(1), unplaceable=[1])).is_open


def test_merges_are_confirmed_of_done_development_workflows_that_track_them() -> None:
    done = make_workflow(status=Status.DONE, pr_url=PR, tracks_after_merge=True)

    assert planner.awaiting_merge([done]) == (done,)
    assert planner.awaiting_merge([replace(done, paused=make_standing())]) != ()
    for other in (
        replace(done, pr_url=None),
        replace(done, tracks_after_merge=False),
        replace(done, status=MERGED),
        replace(done, kind=Kind.RUNBOOK),
    ):
        assert planner.awaiting_merge([other]) == ()


def test_one_merged_workflow_is_executed_the_one_of_lowest_position() -> None:
    board = make_board(*(make_workflow(n, status=MERGED) for n in (3, 2)))
    chosen = planner.next_merged(board)

    assert chosen is not None
    assert chosen.id == workflow_id(2)
    assert why(board) == {3: Reason.BEHIND_HEAD}


def test_merged_workflows_that_cannot_start_are_passed_over() -> None:
    board = make_board(
        running(1, status=MERGED),
        make_workflow(2, status=MERGED, paused=make_standing()),
        make_workflow(3, status=MERGED, needs_human_reason="who knows"),
        make_workflow(4, status=MERGED),
        make_workflow(5, status=MERGED),
        unplaceable=[4],
    )
    chosen = planner.next_merged(board)

    assert chosen is not None
    assert chosen.id == workflow_id(5)
    assert planner.next_merged(make_board()) is None
    assert why(board) == {
        2: Reason.PAUSED,
        3: Reason.NEEDS_HUMAN,
        4: Reason.NO_FACTORY,
        5: Reason.GATE_CLOSED,
    }


# ---------------------------------------------------------------------------- UAT


def test_due_is_uat_waiting_with_its_time_passed_or_uat_testing_and_not_processing() -> None:
    board = make_board(
        make_workflow(1, status=UAT_WAITING, uat_test_at=NOW),
        make_workflow(2, status=UAT_WAITING, uat_test_at=NOW + timedelta(seconds=1)),
        make_workflow(3, status=UAT_WAITING),
        make_workflow(4, status=UAT_TESTING),
        running(5, status=UAT_TESTING),
        make_workflow(6, status=UAT_TESTING, paused=make_standing()),
        make_workflow(7, status=UAT_TESTING, needs_human_reason="3 failures"),
        make_workflow(8, status=UAT_TESTING),
        unplaceable=[8],
    )

    assert [each.id.int for each in planner.due_uat(board)] == [1, 4]
    assert why(board) == {
        2: Reason.NOT_DUE,
        3: Reason.NOT_DUE,
        6: Reason.PAUSED,
        7: Reason.NEEDS_HUMAN,
        8: Reason.NO_FACTORY,
    }


def test_due_uat_is_ordered_by_its_time_nulls_last_then_position_then_id() -> None:
    def due(number: int, position: int, hours: int | None) -> Workflow:
        at = None if hours is None else NOW - hours * HOUR
        return make_workflow(number, position=position, status=UAT_TESTING, uat_test_at=at)

    board = make_board(due(1, 1, None), due(3, 2, 1), due(2, 2, 1), due(5, 1, 1), due(4, 9, 2))

    assert [each.id.int for each in planner.due_uat(board)] == [4, 5, 2, 3, 1]


def test_free_slots_are_the_maximum_minus_all_processing_without_idle_wait_or_clone_check() -> None:
    board = make_board(
        running(1),
        running(2, project_id=project_id(2), status=UAT_TESTING),
        make_workflow(3, status=UAT_TESTING),
        make_workflow(4, status=UAT_TESTING),
    )

    assert planner.free_slots(board) == 1
    assert why(board) == {4: Reason.NO_SLOT}


# ---------------------------------------------------------------------------- explain


def test_whoever_has_no_stage_to_start_has_no_reason_and_neither_has_one_that_may_start() -> None:
    board = make_board(
        make_workflow(1),
        make_workflow(2, status=Status.DONE),
        make_workflow(3, status=Status.CLOSED),
        make_workflow(4, project_id=project_id(2)),
        max_agents=1,
    )

    assert why(board) == {}
    assert why(replace(board, max_agents=0)) == {1: Reason.NO_SLOT, 4: Reason.NO_SLOT}


def test_with_the_gate_open_the_merged_workflow_whose_turn_it_is_waits_for_nothing() -> None:
    assert why(make_board(make_workflow(status=MERGED))) == {}
