"""Random fleets of workflows, random ticks, random endings: what holds all the same."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app import planner, workflow_calls
from app.fleet import JobState
from app.tick_jobs import JobKind
from app.workflow import STATUSES, Kind, Review, Status, Workflow, WorkflowId
from tests.core.workflow_world import (
    PR,
    Report,
    World,
    make_project,
    make_workflow,
    project_id,
    workflow_id,
)
from tests.strategies import HOUR, NOW, make_standing

# Two of the three projects share a folder, so that clones collide more often than projects.
PROJECTS = (
    make_project(1, local_directory="/src/shop"),
    make_project(2, local_directory="/src/shop"),
    make_project(3, local_directory=None, repo="blog"),
)
FINAL = {Status.CLOSED, Status.CANCELLED}
ENDINGS = (JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED)
numbers = st.integers(1, 8)


@st.composite
def fleets(draw: st.DrawFn) -> list[Workflow]:
    """Workflows as people bring them, of any kind and status; nothing runs yet."""
    found = []
    for number in range(1, draw(numbers) + 1):
        kind = draw(st.sampled_from((Kind.DEVELOPMENT, *Kind)))
        found.append(
            make_workflow(
                number,
                project_id=project_id(draw(st.integers(1, 3))),
                kind=kind,
                status=draw(st.sampled_from(sorted(STATUSES[kind]))),
                position=draw(st.integers(1, 5)),
                auto_run=draw(st.booleans()),
                review=draw(st.sampled_from(Review)),
                pr_url=draw(st.sampled_from((None, PR))),
                tracks_after_merge=draw(st.booleans()),
                has_uat=draw(st.booleans()),
                uat_test_at=draw(st.sampled_from((None, NOW, NOW + HOUR))),
            )
        )
    return found


worlds = st.builds(
    lambda fleet, most, stuck: World(fleet, projects=PROJECTS, max_agents=most, unplaceable=stuck),
    fleets(),
    st.integers(1, 3),
    st.one_of(st.just(frozenset[int]()), st.frozensets(numbers, max_size=2)),
)


def change(world: World, number: int, act: Callable[[Workflow], Workflow]) -> None:
    if workflow_id(number) in world.workflows:
        world.workflows[workflow_id(number)] = act(world.of(number))


def meddle(world: World, data: st.DataObject) -> None:
    """Let something happen between two ticks."""
    draw, now = data.draw, world.now
    number = draw(numbers)
    jobs = world.unfinished()
    match draw(st.integers(0, 8)):
        case 0 | 1 | 2 if jobs:
            world.finish_job(draw(st.sampled_from(jobs)), draw(st.sampled_from(ENDINGS)))
        case 3:
            verdict = draw(st.sampled_from((Review.APPROVED, Review.CHANGES_REQUESTED)))
            change(world, number, lambda each: workflow_calls.review(each, verdict, (), now))
        case 4:
            change(world, number, lambda each: replace(each, merged_at=now))
        case 5:
            position = draw(st.integers(1, 5))
            change(world, number, lambda each: replace(each, position=position))
        case 6:
            standing = draw(st.sampled_from((None, make_standing())))
            change(world, number, lambda each: replace(each, paused=standing))
        case 7:
            change(
                world, number, lambda each: workflow_calls.request_run(workflow_calls.retry(each))
            )
        case 8:
            change(
                world,
                number,
                lambda each: workflow_calls.cancel(each, job_unfinished=each.processing, now=now),
            )
        case _:
            world.later()


def check(world: World, report: Report) -> None:
    at_work = planner.processing(world.workflows.values())
    board = world.board()
    clones = [planner.clone_of(each, board) for each in at_work if not runs_uat(world, each)]
    assert len(set(clones)) == len(clones), "two agents in one clone"
    assert len(at_work) <= world.max_agents
    assert len(set(world.dedupe_keys)) == len(world.dedupe_keys)
    for number in report.started:
        started = world.of(number)
        if started.kind is Kind.DEVELOPMENT:
            ahead = [
                each
                for each in planner.active(world.workflows.values())
                if each.kind is Kind.DEVELOPMENT
                and (each.position, each.id) < (started.position, started.id)
                and board.clones[each.project_id] == board.clones[started.project_id]
                and each.status is not Status.MERGED
                and each.status is not Status.UAT_TESTING
            ]
            assert ahead == [], "a later development workflow overtook its head"
    assert not set(report.started) & set(report.waiting)


def runs_uat(world: World, workflow: Workflow) -> bool:
    """Whether the job at work is a UAT, which may share a clone; a cancelled one goes on, too."""
    assert workflow.job_id is not None
    return f":{JobKind.UAT_TEST}:" in world.dedupe_keys[workflow.job_id.int - 1]


def settled(workflow: Workflow) -> bool:
    """Whether nothing is left to start: it is final, or a runbook that nobody asked for."""
    wanted = workflow.auto_run or workflow.run_requested
    return (
        workflow.status in FINAL
        or (workflow.status is Status.DONE and not workflow.awaits_merge)
        or (workflow.kind is Kind.RUNBOOK and not wanted and not workflow.processing)
    )


def picture(world: World) -> tuple[dict[WorkflowId, Workflow], int]:
    return dict(world.workflows), len(world.jobs)


def test_a_uat_that_was_cancelled_may_share_its_clone_until_it_ends() -> None:
    uat = make_workflow(1, status=Status.UAT_TESTING)
    review = make_workflow(2, kind=Kind.PR_REVIEW, status=Status.REVIEWING)
    world = World([uat, review])
    check(world, world.tick())
    assert [each.processing for each in world.workflows.values()] == [True, True]
    change(world, 1, lambda each: workflow_calls.cancel(each, job_unfinished=True, now=world.now))
    check(world, world.tick())


@given(worlds, st.data())
def test_never_two_on_one_clone_never_too_many_agents_never_ahead_of_the_head(
    world: World, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 12))):
        meddle(world, data)
        named = data.draw(st.one_of(st.none(), numbers))
        check(world, world.tick(named))


@given(worlds, st.data())
def test_a_tick_with_nothing_changed_changes_nothing(world: World, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 6))):
        meddle(world, data)
        world.tick()
        before = picture(world)
        report = world.tick()
        assert picture(world) == before
        assert (report.started, report.started_merged, report.started_uat) == ([], None, [])


@given(worlds, st.data())
def test_every_runnable_workflow_starts_eventually(world: World, data: st.DataObject) -> None:
    """If jobs finish, reviews are answered, people help and arrivals stop."""
    for _ in range(data.draw(st.integers(0, 6))):
        meddle(world, data)
        world.tick()
    world.unplaceable = frozenset()
    for _ in range(8 * len(world.workflows)):
        for job_id in world.unfinished():
            world.finish_job(job_id)
        for each in list(world.workflows.values()):
            helped = replace(workflow_calls.retry(each), paused=None)
            helped = workflow_calls.review(helped, Review.APPROVED, (), world.now)
            if helped.awaits_merge:
                helped = replace(helped, merged_at=world.now)
            if helped.status is Status.UAT_WAITING and helped.uat_test_at is None:
                helped = replace(helped, uat_test_at=world.now)
            world.workflows[each.id] = helped
        world.later(60)
        check(world, world.tick())
        if all(map(settled, world.workflows.values())):
            break

    assert all(map(settled, world.workflows.values()))
