"""What a workflow tick did, and why each workflow did or did not start."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import Moment, Reply
from app.wire.workflows import WorkflowReply
from app.workflow import Reason, Status


class Waiting(Reply):
    """A workflow that could not start."""

    workflow_id: UUID = Field(description="The workflow.", examples=[ID_EXAMPLE])
    reason: Reason = Field(description="Why not.", examples=["behind_head"])


class ActivePhase(Reply):
    """The first phase: what runs was polled, what waits was started while capacity lasted."""

    polled: list[UUID] = Field(description="Those whose job was looked at.", examples=[[]])
    started: list[UUID] = Field(description="Those that were started.", examples=[[ID_EXAMPLE]])
    waiting: list[Waiting] = Field(description="Those that were not, and why.")


class PostMergePhase(Reply):
    """The second phase: merges confirmed, and one merged workflow started."""

    gate: Literal["open", "closed"] = Field(
        description="Closed while anything is being implemented or tested locally, or runs.",
        examples=["open"],
    )
    closed_by: list[UUID] = Field(description="Who closes it.", examples=[[]])
    merged: list[UUID] = Field(description="Those whose merge was confirmed.", examples=[[]])
    started: UUID | None = Field(description="The one that was started.", examples=[None])


class UatPhase(Reply):
    """The third phase: user acceptance tests that are due."""

    free_slots: int = Field(description="How many could start.", examples=[2])
    due: list[UUID] = Field(description="Those that are due, the longest due first.", examples=[[]])
    started: list[UUID] = Field(description="Those that were started.", examples=[[]])


class WorkflowPhases(Reply):
    """The three phases of a workflow tick."""

    active: ActivePhase = Field(description="Polling and starting.")
    post_merge: PostMergePhase = Field(description="What follows merges.")
    uat: UatPhase = Field(description="User acceptance tests.")


class WorkflowError(Reply):
    """What went wrong with one workflow; the tick went on without it."""

    workflow_id: UUID = Field(description="The workflow.", examples=[ID_EXAMPLE])
    error: str = Field(description="What went wrong.", examples=["pr_url is missing"])


class WorkflowTick(Reply):
    """What a tick over workflows did (``POST /tick/workflows``); of a skipped one only why."""

    skipped: str | None = Field(
        default=None,
        description="Why nothing was done: another tick is running, or the window was served.",
        examples=[None],
    )
    phases: WorkflowPhases | None = Field(default=None, description="What each phase did.")
    errors: list[WorkflowError] = Field(
        default_factory=list, description="What went wrong with single workflows."
    )


class TickReply(Reply):
    """What a tick did with one workflow."""

    started: bool = Field(description="Whether it was started.", examples=[False])
    polled: bool = Field(description="Whether its job was looked at.", examples=[False])
    reason: Reason | None = Field(
        description="Why it was not started; null if nothing kept it, or there is nothing to do.",
        examples=["behind_head"],
    )
    words: str | None = Field(
        description="That reason in words.", examples=["another workflow is ahead of it"]
    )
    error: str | None = Field(description="What went wrong with it.", examples=[None])


class WorkflowExplanation(Reply):
    """A workflow, what the last tick did with it, and what the next would do."""

    workflow_id: UUID = Field(description="The workflow.", examples=[ID_EXAMPLE])
    title: str = Field(description="What people call it.", examples=["Add a cart"])
    position: int = Field(description="Its place in the order.", examples=[3])
    status: Status = Field(description="Where it is.", examples=["implementing"])
    processing: bool = Field(description="Whether a job of it is under way.", examples=[False])
    needs_human_reason: str | None = Field(
        description="Why it is left to a person.", examples=[None]
    )
    last: TickReply | None = Field(
        description="What the last tick did with it; null before the first."
    )
    next: TickReply = Field(description="What a tick would do with it now.")


class WorkflowsExplanation(Reply):
    """Why each workflow that is not finished did, or did not, start (``/explain/workflows``)."""

    now: Moment = Field(description="As of when.", examples=["2026-03-01T09:30:00Z"])
    last_tick_at: Moment | None = Field(
        description="When the last tick was that was not skipped.",
        examples=["2026-03-01T09:27:00Z"],
    )
    next_tick: WorkflowTick = Field(description="The report of a dry run of the next tick.")
    workflows: list[WorkflowExplanation] = Field(description="The workflows, by position.")


class RunReply(Reply):
    """What came of the wish to run a stage (``POST /workflows/{id}/run``)."""

    workflow: WorkflowReply = Field(description="The workflow after that.")
    tick: WorkflowTick = Field(description="The tick that was tried at once.")
