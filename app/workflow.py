"""The nouns of the workflow tick: projects, workflows, and why one of them waits.

A *workflow* takes one piece of work through its stages; a *project* says where the work is done.
Which workflows may start is decided in :mod:`app.planner`, what a stage does and where its end
leads in :mod:`app.stages`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, NewType
from uuid import UUID

from app.fleet import JobId, Standing
from app.tick_jobs import JobDefaults

ProjectId = NewType("ProjectId", UUID)
WorkflowId = NewType("WorkflowId", UUID)


class Kind(StrEnum):
    """What kind of work a workflow is."""

    DEVELOPMENT = "development"
    PR_REVIEW = "pr_review"
    RUNBOOK = "runbook"


class Status(StrEnum):
    """Where a workflow is; which stage that means depends on its kind (:mod:`app.stages`)."""

    IMPLEMENTING = "implementing"
    REVIEWING = "reviewing"
    LOCAL_TESTING = "local_testing"
    DONE = "done"
    MERGED = "merged"
    UAT_WAITING = "uat_waiting"
    UAT_TESTING = "uat_testing"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class Review(StrEnum):
    """The newest word on a development workflow's pull request."""

    PENDING = "pending"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"


class Reason(StrEnum):
    """Why a workflow did not start: a closed vocabulary."""

    BEHIND_HEAD = "behind_head"
    CLONE_BUSY = "clone_busy"
    NO_SLOT = "no_slot"
    NOT_REQUESTED = "not_requested"
    REVIEW_PENDING = "review_pending"
    PAUSED = "paused"
    NEEDS_HUMAN = "needs_human"
    NO_FACTORY = "no_factory"
    GATE_CLOSED = "gate_closed"
    NOT_DUE = "not_due"


STATUSES: Final = {
    Kind.DEVELOPMENT: frozenset(Status),
    Kind.PR_REVIEW: frozenset({Status.REVIEWING, Status.CLOSED, Status.CANCELLED}),
    Kind.RUNBOOK: frozenset({Status.IMPLEMENTING, Status.CLOSED, Status.CANCELLED}),
}
"""The statuses a workflow of each kind can have. In any other it would wait for ever."""

FIRST_STATUS: Final = {
    Kind.DEVELOPMENT: Status.IMPLEMENTING,
    Kind.PR_REVIEW: Status.REVIEWING,
    Kind.RUNBOOK: Status.IMPLEMENTING,
}
"""Where a new workflow of each kind begins, unless it is taken over from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Where workflows do their work, and how their jobs are submitted.

    ``repo`` is the id of a repo of the feature chain, which then takes turns with the workflows.
    """

    id: ProjectId
    name: str
    version: int = 1
    local_directory: str | None = None
    repo: str | None = None
    required_capabilities: frozenset[str] = frozenset()
    job_defaults: JobDefaults = field(default_factory=JobDefaults)
    paused: Standing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """One piece of work on its way through its stages.

    ``processing`` lasts from the submission of a stage's job to its end; ``job_id`` is the newest
    one, and ``clone_key`` the clone it was started on. ``stage_attempt`` only grows: it makes the
    job's dedupe key, so that a tick that died half-way never starts a stage twice. ``review_at`` is
    the time since when ``review`` stands, if that matters (:func:`app.workflow_calls.review`).
    """

    id: WorkflowId
    project_id: ProjectId
    kind: Kind
    title: str
    prompt: str
    position: int
    status: Status
    version: int = 1
    processing: bool = False
    auto_run: bool = False
    run_requested: bool = False
    pr_url: str | None = None
    review: Review = Review.PENDING
    review_at: datetime | None = None
    review_comments: tuple[str, ...] = ()
    tracks_after_merge: bool = False
    has_uat: bool = False
    uat_test_at: datetime | None = None
    merged_at: datetime | None = None
    stage_attempt: int = 0
    stage_failures: int = 0
    needs_human_reason: str | None = None
    paused: Standing | None = None
    clone_key: str | None = None
    job_id: JobId | None = None
    finished_at: datetime | None = None

    @property
    def in_review(self) -> bool:
        """Whether its pull request is what people have a say on now."""
        return self.kind is Kind.DEVELOPMENT and self.status is Status.REVIEWING

    @property
    def awaits_review(self) -> bool:
        """Whether only a reviewer can move it on."""
        return self.in_review and self.review is Review.PENDING

    @property
    def awaits_merge(self) -> bool:
        """Whether its work is done but the merge of its pull request leads on."""
        return (
            self.kind is Kind.DEVELOPMENT
            and self.status is Status.DONE
            and self.tracks_after_merge
            and self.pr_url is not None
        )


def in_order(workflows: Iterable[Workflow]) -> tuple[Workflow, ...]:
    """Sort by position, then id."""
    return tuple(sorted(workflows, key=lambda each: (each.position, each.id)))


def moved(workflow: Workflow, status: Status) -> Workflow:
    """Change the stage: failures belong to a stage, and so does the need for a person."""
    return replace(
        workflow, status=status, stage_failures=0, needs_human_reason=None, finished_at=None
    )
