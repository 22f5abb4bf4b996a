"""Workflows: pieces of work on their way through their stages."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import (
    LIST_MAX,
    Flag,
    Integer,
    Moment,
    Name,
    Omissible,
    Reply,
    Request,
    Sentence,
    StandingReply,
    Text,
    Timestamp,
    never_null,
)
from app.workflow import Kind, Review, Status

POSITION_MAX = 1_000_000_000
PROMPT_MAX = 200_000

Position = Annotated[Integer, Field(ge=-POSITION_MAX, le=POSITION_MAX)]
Prompt = Annotated[str, StringConstraints(max_length=PROMPT_MAX)]
PullUrl = Name
PR_EXAMPLE = "https://forge.example/acme/shop/pull/12"
_AT = "2026-03-01T22:00:00Z"


class WorkflowCreate(Request):
    """A workflow to be created (``POST /workflows``)."""

    project_id: UUID = Field(description="Its project.", examples=[ID_EXAMPLE])
    kind: Kind = Field(
        default=Kind.DEVELOPMENT, description="What kind of work it is.", examples=["development"]
    )
    title: Sentence = Field(description="What people call it.", examples=["Add a cart"])
    prompt: Prompt = Field(
        default="",
        description="What the agent is told; the title if it is empty.",
        examples=["Add a cart to the shop, with tests."],
    )
    position: Position | None = Field(
        default=None,
        description="Its place in the order; behind all others if left out. If another workflow "
        "has it, that and all behind it move on by one.",
        examples=[3],
    )
    status: Status | None = Field(
        default=None,
        description="Where it is: at its first stage if left out. Work begun elsewhere is taken "
        "over at any status of its kind.",
        examples=["reviewing"],
    )
    auto_run: Flag = Field(
        default=False,
        description="For a runbook: start it without being asked.",
        examples=[False],
    )
    pr_url: PullUrl | None = Field(
        default=None,
        description="Its pull request; a branch name where there is no forge.",
        examples=[PR_EXAMPLE],
    )
    tracks_after_merge: Flag = Field(
        default=False, description="Whether something follows its merge.", examples=[True]
    )
    has_uat: Flag = Field(
        default=False, description="Whether it is tested again after the merge.", examples=[True]
    )
    uat_test_at: Timestamp | None = Field(
        default=None, description="When that test is due; else when it is merged.", examples=[_AT]
    )


class WorkflowPatch(Request):
    """What is to change of a workflow; fields left out stay as they are."""

    title: Omissible[Sentence] = Field(
        default=None,
        description="The new title.",
        examples=["Add a cart"],
        json_schema_extra=never_null,
    )
    prompt: Omissible[Prompt] = Field(
        default=None,
        description="The new prompt, from the next job on.",
        examples=["Add a cart to the shop, with tests."],
        json_schema_extra=never_null,
    )
    status: Omissible[Status] = Field(
        default=None,
        description="Where it goes on, as if that stage had just begun; not while a job of it "
        "is under way.",
        examples=["implementing"],
        json_schema_extra=never_null,
    )
    auto_run: Omissible[Flag] = Field(
        default=None,
        description="Whether a runbook starts without being asked.",
        examples=[True],
        json_schema_extra=never_null,
    )
    pr_url: PullUrl | None = Field(
        default=None, description="Its pull request; null removes it.", examples=[PR_EXAMPLE]
    )
    tracks_after_merge: Omissible[Flag] = Field(
        default=None,
        description="Whether something follows its merge.",
        examples=[True],
        json_schema_extra=never_null,
    )
    has_uat: Omissible[Flag] = Field(
        default=None,
        description="Whether it is tested again after the merge.",
        examples=[True],
        json_schema_extra=never_null,
    )
    uat_test_at: Timestamp | None = Field(
        default=None, description="When that test is due; null: when it is merged.", examples=[_AT]
    )


class ReviewRequest(Request):
    """A reviewer's verdict (``POST /workflows/{id}/review``)."""

    verdict: Literal[Review.APPROVED, Review.CHANGES_REQUESTED] = Field(
        description="What the reviewer says.", examples=["approved"]
    )
    comments: Annotated[list[Text], Field(max_length=LIST_MAX)] = Field(
        default_factory=list,
        description="What has to change, for the agent that addresses it.",
        examples=[["The total ignores discounts."]],
    )


class WorkflowCancel(Request):
    """Why a workflow is cancelled; the body may be left out."""

    reason: Sentence | None = Field(
        default=None, description="Why; kept in the history of its job.", examples=["superseded"]
    )


class WorkflowMove(Request):
    """A new place in the order (``POST /workflows/{id}/move``)."""

    position: Position = Field(
        description="The place; if another workflow has it, that and all behind it move on.",
        examples=[1],
    )


class WorkflowReply(Reply):
    """A workflow."""

    id: UUID = Field(description="Its id (UUIDv7).", examples=[ID_EXAMPLE])
    version: int = Field(description="Grows with every change; the `ETag`.", examples=[5])
    project_id: UUID = Field(description="Its project.", examples=[ID_EXAMPLE])
    kind: Kind = Field(description="What kind of work it is.", examples=["development"])
    title: str = Field(description="What people call it.", examples=["Add a cart"])
    prompt: str = Field(description="What the agent is told.", examples=["Add a cart."])
    position: int = Field(description="Its place in the order of all.", examples=[3])
    status: Status = Field(description="Where it is.", examples=["reviewing"])
    processing: bool = Field(
        description="Whether a job of it is under way, from its submission to its end.",
        examples=[False],
    )
    auto_run: bool = Field(description="Whether a runbook starts unasked.", examples=[False])
    run_requested: bool = Field(
        description="Whether somebody asked for its stage to be run.", examples=[False]
    )
    pr_url: str | None = Field(description="Its pull request.", examples=[PR_EXAMPLE])
    review: Review = Field(description="The newest verdict.", examples=["pending"])
    review_at: Moment | None = Field(
        description="Since when that stands.", examples=["2026-03-01T12:00:00Z"]
    )
    review_comments: list[str] = Field(description="What has to change.", examples=[[]])
    tracks_after_merge: bool = Field(
        description="Whether something follows its merge.", examples=[True]
    )
    has_uat: bool = Field(description="Whether it is tested after the merge.", examples=[True])
    uat_test_at: Moment | None = Field(description="When that is due.", examples=[_AT])
    merged_at: Moment | None = Field(
        description="When it was merged, once that is known.", examples=["2026-03-01T15:00:00Z"]
    )
    stage_attempt: int = Field(description="How many jobs it has had; only grows.", examples=[2])
    stage_failures: int = Field(
        description="How many of its present stage's jobs failed; at 3 it is left to a person.",
        examples=[0],
    )
    needs_human_reason: str | None = Field(
        description="Why it is left to a person; `…/retry` takes it back.", examples=[None]
    )
    paused: StandingReply | None = Field(
        description="The pause it is under: nothing of it is started.", examples=[None]
    )
    clone_key: str | None = Field(
        description="The clone that it was last started on.", examples=["/src/shop"]
    )
    job_id: UUID | None = Field(description="Its newest job.", examples=[ID_EXAMPLE])
    finished_at: Moment | None = Field(
        description="When it ended; null while something leads on.", examples=[None]
    )
    created_at: Moment = Field(
        description="When it was created.", examples=["2026-03-01T09:00:00Z"]
    )
    updated_at: Moment = Field(
        description="When it last changed.", examples=["2026-03-01T09:30:00Z"]
    )


class WorkflowPage(Reply):
    """One page of workflows, by position."""

    items: list[WorkflowReply] = Field(description="The workflows of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["WzMsIjAxOTgiXQ"],
    )
