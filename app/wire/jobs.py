"""Jobs: what a client submits and changes, and what everybody reads."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, JsonValue

from app.fleet import CostClass, IfParentFails, Outcome, Priority
from app.wire.job_fields import (
    ID_EXAMPLE,
    PAYLOAD_EXAMPLE,
    Attempts,
    JobFields,
    JobReply,
    TimeoutSeconds,
)
from app.wire.values import (
    BATCH_MAX,
    DEPENDS_MAX,
    Labels,
    Moment,
    Name,
    Omissible,
    Reply,
    Request,
    Sentence,
    Timestamp,
    Word,
    Words,
    never_null,
)

__all__ = [
    "BatchJob",
    "CancelReply",
    "CancelRequest",
    "JobBatch",
    "JobEventPage",
    "JobEventReply",
    "JobFields",
    "JobPage",
    "JobPatch",
    "JobReply",
    "JobSubmit",
    "SubmittedBatch",
    "SubmittedJob",
]


class JobSubmit(JobFields):
    """A job to be done (``POST /jobs``)."""

    depends_on: list[UUID] = Field(
        default_factory=list,
        max_length=DEPENDS_MAX,
        description="Ids of jobs that must end first.",
        examples=[[ID_EXAMPLE]],
    )


class BatchJob(JobFields):
    """One job of a batch; it may refer to others of the batch."""

    ref: Word | None = Field(
        default=None,
        description="A name by which other jobs of this batch depend on this one.",
        examples=["build"],
    )
    depends_on: list[Word] = Field(
        default_factory=list,
        max_length=DEPENDS_MAX,
        description="Ids of stored jobs, or `ref`s of this batch.",
        examples=[["build", ID_EXAMPLE]],
    )


class JobBatch(Request):
    """Jobs to be accepted together or not at all (``POST /jobs/batch``)."""

    jobs: list[BatchJob] = Field(
        min_length=1,
        max_length=BATCH_MAX,
        description="The jobs, 1 to 1,000.",
        examples=[[{"kind": "build", "ref": "build"}, {"kind": "test", "depends_on": ["build"]}]],
    )


class JobPatch(Request):
    """What is to change of a job (``PATCH /jobs/{id}``); fields left out stay as they are.

    Priority and labels may be changed at any time before the end; everything else only while the
    job is not leased, and a change closes a fence that is still open.
    """

    repo: Name | None = Field(
        default=None, description="See `POST /jobs`; null removes it.", examples=["acme/web"]
    )
    payload: Omissible[dict[str, JsonValue]] = Field(
        default=None,
        description="Replaces the whole payload.",
        examples=[PAYLOAD_EXAMPLE],
        json_schema_extra=never_null,
    )
    prefers_engine: Word | None = Field(
        default=None, description="See `POST /jobs`; null removes it.", examples=["codex"]
    )
    required_capabilities: Omissible[Words] = Field(
        default=None,
        description="Replaces the whole list.",
        examples=[["docker"]],
        json_schema_extra=never_null,
    )
    priority: Omissible[Priority] = Field(
        default=None,
        description="The new priority.",
        examples=["critical"],
        json_schema_extra=never_null,
    )
    cost_class: Omissible[CostClass] = Field(
        default=None,
        description="The new cost class.",
        examples=["medium"],
        json_schema_extra=never_null,
    )
    lock: Name | None = Field(
        default=None, description="See `POST /jobs`; null removes it.", examples=["clone:/src/web"]
    )
    depends_on: Omissible[Annotated[list[UUID], Field(max_length=DEPENDS_MAX)]] = Field(
        default=None,
        description="Replaces the whole list of parents.",
        examples=[[ID_EXAMPLE]],
        json_schema_extra=never_null,
    )
    if_parent_fails: Omissible[IfParentFails] = Field(
        default=None,
        description="The new rule for a failed parent.",
        examples=["run"],
        json_schema_extra=never_null,
    )
    run_after: Timestamp | None = Field(
        default=None,
        description="Not before this time; null removes it.",
        examples=["2026-03-01T22:00:00Z"],
    )
    timeout_s: Omissible[TimeoutSeconds] = Field(
        default=None,
        description="The new limit of one attempt.",
        examples=[7200],
        json_schema_extra=never_null,
    )
    max_attempts: Omissible[Attempts] = Field(
        default=None,
        description="The new number of attempts.",
        examples=[5],
        json_schema_extra=never_null,
    )
    dedupe_key: Name | None = Field(
        default=None, description="See `POST /jobs`; null removes it.", examples=["nightly"]
    )
    labels: Omissible[Labels] = Field(
        default=None,
        description="Replaces all labels.",
        examples=[{"team": "web"}],
        json_schema_extra=never_null,
    )


class CancelRequest(Request):
    """Why a job is cancelled (``POST /jobs/{id}/cancel``); the body may be left out."""

    reason: Sentence | None = Field(
        default=None, description="Why; kept in the job's history.", examples=["superseded"]
    )


class SubmittedJob(JobReply):
    """A job as it was accepted."""

    warnings: list[str] = Field(
        default_factory=list,
        description="Said once: above all, that no factory known now could ever take it.",
        examples=[["no factory offers docker"]],
    )


class SubmittedBatch(Reply):
    """The jobs of a batch, in the order in which they were sent."""

    jobs: list[SubmittedJob] = Field(description="The jobs as they were accepted.")


class JobPage(Reply):
    """One page of jobs, newest first."""

    items: list[JobReply] = Field(description="The jobs of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    )


class JobEventReply(Reply):
    """Something that happened to a job."""

    at: Moment = Field(description="When.", examples=["2026-03-01T09:30:00Z"])
    event: str = Field(description="What.", examples=["claimed"])
    factory_id: str | None = Field(
        default=None, description="The factory concerned.", examples=["f1"]
    )
    fence: int | None = Field(default=None, description="The lease concerned.", examples=[3])
    outcome: Outcome | None = Field(
        default=None, description="How that lease ended, if this ended it.", examples=["failed"]
    )
    by: str | None = Field(
        default=None, description="The name of the token that caused it.", examples=["ops"]
    )
    detail: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="What else is known; the members depend on the event.",
        examples=[{"reason": "superseded"}],
    )


class JobEventPage(Reply):
    """One page of a job's history, oldest first."""

    items: list[JobEventReply] = Field(description="The events of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    )


class CancelReply(Reply):
    """How a cancellation went: which of cancel and finish won is said by both answers."""

    outcome: str = Field(
        description="`cancelled`: it was not running, or was dead, and is over; "
        "`cancel_requested`: its factory is told at its next heartbeat; "
        "`already_finished`: it had ended before.",
        examples=["cancel_requested"],
        json_schema_extra={"enum": ["cancelled", "cancel_requested", "already_finished"]},
    )
    job: JobReply = Field(description="The job as it is now.")
