"""The three phases played with values: the rules of the tick that need several ticks to show."""

from dataclasses import replace

from app.fleet import JobState
from app.workflow import Kind, Reason, Review, Status
from tests.core.workflow_world import (
    PR,
    World,
    make_project,
    make_workflow,
    project_id,
    running,
)
from tests.strategies import HOUR, NOW

DEAD = JobState.DEAD


def test_polls_processing_workflows_before_starting_waiting_ones() -> None:
    """A finished run frees its slot and its clone within the same tick."""
    world = World(
        [running(2, kind=Kind.PR_REVIEW, status=Status.REVIEWING), make_workflow(1)], max_agents=1
    )
    assert world.tick().waiting == {1: Reason.CLONE_BUSY}

    world.finish(2)
    report = world.tick()

    assert (report.polled, report.started) == ([2], [1])
    assert world.of(2).status is Status.CLOSED


def test_starts_only_one_waiting_workflow_for_a_shared_clone() -> None:
    reviews = [
        make_workflow(n, kind=Kind.PR_REVIEW, status=Status.REVIEWING, project_id=project_id(n))
        for n in (1, 2)
    ]
    shared = [make_project(n, local_directory="/src/shop") for n in (1, 2)]

    report = World(reviews, projects=shared).tick()

    assert report.started == [1]
    assert report.waiting == {2: Reason.CLONE_BUSY}


def test_with_one_agent_slot_starts_one_in_order_of_position() -> None:
    world = World([make_workflow(n, project_id=project_id(n)) for n in (3, 1, 2)], max_agents=1)

    report = world.tick()

    assert report.started == [1]
    assert report.waiting == {2: Reason.NO_SLOT, 3: Reason.NO_SLOT}


def test_one_polled_on_may_start_its_next_stage_in_the_same_tick() -> None:
    world = World([make_workflow(has_uat=True, status=Status.MERGED)])
    assert world.tick().started_merged == 1

    world.finish(1)
    report = world.tick()

    assert (report.polled, report.due, report.started_uat) == ([1], [1], [1])
    assert world.of(1).status is Status.UAT_TESTING


def test_started_counts_only_if_the_workflow_is_processing_after_execute() -> None:
    report = World([make_workflow(status=Status.REVIEWING), make_workflow(2)]).tick()

    assert report.started == []
    assert report.waiting == {1: Reason.REVIEW_PENDING, 2: Reason.BEHIND_HEAD}


def test_the_post_merge_phase_waits_until_all_are_idle() -> None:
    world = World([make_workflow(1, status=Status.MERGED), make_workflow(2)])

    assert world.tick().closed_by == [2]
    world.finish(2)
    report = world.tick()

    assert report.closed_by == []
    assert report.started_merged == 1
    assert world.of(2).status is Status.REVIEWING


def test_the_post_merge_phase_confirms_merges_then_starts_one() -> None:
    done = make_workflow(1, status=Status.DONE, pr_url=PR, tracks_after_merge=True, merged_at=NOW)
    other = replace(done, id=make_workflow(2).id, position=2)
    open_still = replace(done, id=make_workflow(3).id, position=0, merged_at=None)
    world = World([other, open_still, done])

    report = world.tick()

    assert report.merged == [1, 2]
    assert report.started_merged == 1
    assert [world.of(n).status for n in (1, 2, 3)] == [Status.MERGED, Status.MERGED, Status.DONE]
    assert world.tick().started_merged is None


def test_the_uat_phase_moves_what_is_due_and_retries_a_failed_attempt() -> None:
    waiting = make_workflow(1, status=Status.UAT_WAITING, uat_test_at=NOW)
    failed = make_workflow(2, status=Status.UAT_TESTING, uat_test_at=NOW - HOUR)
    world = World([waiting, failed])

    report = world.tick()
    assert (report.due, report.started_uat) == ([2, 1], [2, 1])

    world.finish(1)
    world.finish(2, DEAD)
    assert world.tick().started_uat == [2]
    assert [world.of(n).status for n in (1, 2)] == [Status.CLOSED, Status.UAT_TESTING]


def test_the_uat_phase_is_limited_to_the_free_slots() -> None:
    due = [make_workflow(n, status=Status.UAT_WAITING, uat_test_at=NOW) for n in (1, 2, 3)]
    world = World([*due, running(4)], max_agents=3)

    report = world.tick()

    assert (report.due, report.started_uat) == ([1, 2, 3], [1, 2])


def test_uat_needs_no_idle_wait_and_no_free_clone() -> None:
    world = World([running(1), make_workflow(2, status=Status.UAT_TESTING)])

    assert world.tick().started_uat == [2]


def test_a_running_uat_counts_against_its_clone_for_the_first_phase() -> None:
    world = World([running(1, status=Status.UAT_TESTING, kind=Kind.DEVELOPMENT)])
    world.workflows[make_workflow(2).id] = make_workflow(
        2, kind=Kind.PR_REVIEW, status=Status.REVIEWING
    )

    assert world.tick().waiting == {2: Reason.CLONE_BUSY}


def test_starts_a_named_non_auto_run_runbook() -> None:
    world = World([make_workflow(kind=Kind.RUNBOOK)])

    assert world.tick().waiting == {1: Reason.NOT_REQUESTED}
    assert world.tick(named=1).started == [1]
    world.finish(1)
    world.tick()
    assert world.of(1).status is Status.CLOSED


def test_a_development_workflow_goes_from_implementing_to_closed() -> None:
    world = World([make_workflow(tracks_after_merge=True, has_uat=True)])
    seen = []

    def tick() -> None:
        world.later()
        world.tick()
        seen.append(world.of(1).status.value)

    def settle(review: Review = Review.APPROVED) -> None:
        world.workflows[make_workflow().id] = replace(world.of(1), review=review)

    tick()
    world.finish(1)
    tick()
    settle(Review.CHANGES_REQUESTED)
    tick()
    world.finish(1)
    tick()
    settle()
    tick()
    world.finish(1)
    tick()
    world.workflows[make_workflow().id] = replace(world.of(1), merged_at=world.now)
    tick()
    world.finish(1)
    tick()
    world.finish(1)
    tick()

    assert seen == [
        "implementing",
        "reviewing",
        "reviewing",
        "reviewing",
        "local_testing",
        "done",
        "merged",
        "uat_testing",
        "closed",
    ]
    assert [key.split(":")[2] for key in world.dedupe_keys] == [
        "implement",
        "address_review",
        "local_test",
        "post_merge",
        "uat_test",
    ]


def test_a_job_that_nobody_can_take_never_holds_a_slot_a_clone_or_the_gate() -> None:
    world = World(
        [
            make_workflow(1),
            make_workflow(2, kind=Kind.PR_REVIEW, status=Status.REVIEWING),
            make_workflow(3, status=Status.MERGED, project_id=project_id(3)),
        ],
        max_agents=1,
    )
    assert world.tick().started == [1]

    world.unplaceable = frozenset({1})  # Its factory was dismissed before it came to claim.
    report = world.tick()

    assert (report.polled, report.started) == ([1], [2])
    assert report.waiting == {1: Reason.NO_FACTORY}
    assert world.of(1).stage_failures == 0
    world.finish(2)
    assert world.tick().started_merged == 3


def test_a_stage_that_keeps_failing_is_left_to_a_human_and_its_attempts_grow() -> None:
    world = World([make_workflow()])
    for _ in range(5):
        world.tick()
        if world.of(1).processing:
            world.finish(1, DEAD)

    assert world.of(1).needs_human_reason is not None
    assert len(world.dedupe_keys) == 3
    assert len(set(world.dedupe_keys)) == 3
    assert world.tick().waiting == {1: Reason.NEEDS_HUMAN}
