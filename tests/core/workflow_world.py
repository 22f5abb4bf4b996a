"""A small world of workflows: builders, and the tick played with values alone.

The tick here does what the use case does, phase by phase, with the pure functions; whoever plays
finishes the jobs. It shows that the functions compose, and lets generators hunt.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypedDict, Unpack
from uuid import UUID

from app import planner, stages, workflow_calls
from app.fleet import FINISHED, JobId, JobState, Json, Standing
from app.planner import Board
from app.stages import Ended, Place, Submit
from app.tick_jobs import JobReport
from app.workflow import Kind, Project, ProjectId, Reason, Review, Status, Workflow, WorkflowId
from tests.strategies import NOW

PR = "https://forge/shop/pull/7"


class WorkflowFields(TypedDict, total=False):
    """What :func:`make_workflow` may be told."""

    project_id: ProjectId
    kind: Kind
    title: str
    prompt: str
    position: int
    status: Status
    processing: bool
    auto_run: bool
    run_requested: bool
    pr_url: str | None
    review: Review
    review_at: datetime | None
    review_comments: tuple[str, ...]
    tracks_after_merge: bool
    has_uat: bool
    uat_test_at: datetime | None
    merged_at: datetime | None
    stage_attempt: int
    stage_failures: int
    needs_human_reason: str | None
    paused: Standing | None
    clone_key: str | None
    job_id: JobId | None
    finished_at: datetime | None


class ProjectFields(TypedDict, total=False):
    """What :func:`make_project` may be told."""

    local_directory: str | None
    repo: str | None
    required_capabilities: frozenset[str]
    paused: Standing | None


def workflow_id(number: int) -> WorkflowId:
    return WorkflowId(UUID(int=number))


def project_id(number: int) -> ProjectId:
    return ProjectId(UUID(int=number))


def make_project(number: int = 1, **fields: Unpack[ProjectFields]) -> Project:
    """A project whose clone is a folder of its own."""
    project = Project(id=project_id(number), name=f"p{number}", local_directory=f"/src/p{number}")
    return replace(project, **fields)


def make_workflow(number: int = 1, **fields: Unpack[WorkflowFields]) -> Workflow:
    """A development workflow of project 1 that is to be implemented; its position is its number."""
    workflow = Workflow(
        id=workflow_id(number),
        project_id=project_id(1),
        kind=Kind.DEVELOPMENT,
        title=f"workflow {number}",
        prompt="Add a cart.",
        position=number,
        status=Status.IMPLEMENTING,
    )
    return replace(workflow, **fields)


def running(number: int = 1, **fields: Unpack[WorkflowFields]) -> Workflow:
    """One that is processing."""
    return replace(make_workflow(number, **fields), processing=True)


def finished_job(
    state: JobState = JobState.SUCCEEDED, result: Json = None, at: datetime = NOW
) -> JobReport:
    return JobReport(state=state, result=result, finished_at=at, error="it broke")


def make_board(
    *workflows: Workflow,
    projects: Iterable[Project] = (),
    now: datetime = NOW,
    max_agents: int = 3,
    named: int | None = None,
    unplaceable: Iterable[int] = (),
) -> Board:
    """A board; projects that are not given have a clone each."""
    known = {each.id: each for each in projects}
    for each in workflows:
        known.setdefault(each.project_id, make_project(each.project_id.int))
    return Board(
        workflows=workflows,
        projects=known,
        clones=planner.clone_keys(known.values(), workflows, str),
        now=now,
        max_agents=max_agents,
        named=None if named is None else workflow_id(named),
        unplaceable=frozenset(map(workflow_id, unplaceable)),
    )


@dataclass(slots=True)
class Report:
    """What one tick did, as the numbers of workflows."""

    polled: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    waiting: dict[int, Reason] = field(default_factory=dict)
    closed_by: list[int] = field(default_factory=list)
    merged: list[int] = field(default_factory=list)
    started_merged: int | None = None
    due: list[int] = field(default_factory=list)
    started_uat: list[int] = field(default_factory=list)


class World:
    """All workflows and their jobs; the only thing here that changes."""

    def __init__(
        self,
        workflows: Iterable[Workflow],
        *,
        projects: Iterable[Project] = (),
        max_agents: int = 3,
        unplaceable: Iterable[int] = (),
    ) -> None:
        self.workflows = {each.id: each for each in workflows}
        self.projects = tuple(projects)
        self.max_agents = max_agents
        self.unplaceable = frozenset(unplaceable)
        self.now = NOW
        self.jobs: dict[JobId, JobReport] = {}
        self.dedupe_keys: list[str] = []
        for number, each in enumerate(self.workflows.values()):
            if each.processing:
                job_id = JobId(UUID(int=1_000_000 + number))
                self.jobs[job_id] = JobReport(state=JobState.LEASED, at_work=True)
                self.workflows[each.id] = replace(each, job_id=job_id)

    def board(self, named: int | None = None) -> Board:
        return make_board(
            *self.workflows.values(),
            projects=self.projects,
            now=self.now,
            max_agents=self.max_agents,
            named=named,
            unplaceable=self.unplaceable,
        )

    def of(self, number: int) -> Workflow:
        return self.workflows[workflow_id(number)]

    def unfinished(self) -> list[JobId]:
        return [id_ for id_, job in self.jobs.items() if job.state not in FINISHED]

    def finish(self, number: int, state: JobState = JobState.SUCCEEDED) -> None:
        """End the job of a workflow."""
        job_id = self.of(number).job_id
        assert job_id is not None
        self.finish_job(job_id, state)

    def finish_job(self, job_id: JobId, state: JobState = JobState.SUCCEEDED) -> None:
        self.jobs[job_id] = finished_job(state, {"pr_url": PR}, self.now)

    def later(self, minutes: int = 3) -> None:
        self.now += timedelta(minutes=minutes)

    def tick(self, named: int | None = None) -> Report:
        report = Report()
        self._active(report, named)
        self._post_merge(report, named)
        self._uat(report)
        return report

    def _active(self, report: Report, named: int | None) -> None:
        for each in planner.processing(self.workflows.values()):
            report.polled.append(each.id.int)
            self._execute(each)
        board = self.board(named)
        capacity = planner.capacity(board)
        for id_, held_back in planner.held_back(board).items():
            clone = planner.clone_of(self.workflows[id_], board)
            reason = held_back or capacity.refusal(clone)
            if reason is not None:
                report.waiting[id_.int] = reason
            elif self._execute(self.workflows[id_]):
                report.started.append(id_.int)
                capacity = capacity.started(clone)

    def _post_merge(self, report: Report, named: int | None) -> None:
        report.closed_by = [id_.int for id_ in planner.post_merge_gate(self.board(named)).closed_by]
        if report.closed_by:
            return
        for each in planner.awaiting_merge(self.workflows.values()):
            if each.merged_at is not None:
                self.workflows[each.id] = workflow_calls.merged(each, self.now)
                report.merged.append(each.id.int)
        chosen = planner.next_merged(self.board())
        if chosen is not None and self._execute(chosen):
            report.started_merged = chosen.id.int

    def _uat(self, report: Report) -> None:
        board = self.board()
        due = planner.due_uat(board)
        report.due = [each.id.int for each in due]
        for each in due:
            self.workflows[each.id] = workflow_calls.uat_due(each)
        for each in due[: planner.free_slots(board)]:
            if self._execute(self.workflows[each.id]):
                report.started_uat.append(each.id.int)

    def _execute(self, workflow: Workflow) -> bool:
        """Do what the stage says, and tell whether the workflow is processing after it."""
        match self._outcome(workflow):
            case Submit() as submit:
                job_id = JobId(UUID(int=len(self.jobs) + 1))
                self.jobs[job_id] = JobReport(state=JobState.READY)
                self.dedupe_keys.append(submit.job.dedupe_key or "")
                self.workflows[workflow.id] = replace(submit.after, job_id=job_id)
            case Ended() as ended:
                self.workflows[workflow.id] = ended.after
            case _:
                pass
        return self.workflows[workflow.id].processing

    def _outcome(self, workflow: Workflow) -> stages.Nothing | Submit | stages.Running | Ended:
        if workflow.processing:
            job = self.jobs.get(workflow.job_id) if workflow.job_id is not None else None
            placeable = workflow.id.int not in self.unplaceable
            return stages.poll(workflow, job, placeable=placeable, now=self.now)
        board = self.board()
        project = board.projects[workflow.project_id]
        place = Place(project=project, clone=planner.clone_of(workflow, board))
        return stages.begin(workflow, place)
