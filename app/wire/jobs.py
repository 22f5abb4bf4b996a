"""Jobs: what a client submits and changes, and what everybody reads."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, JsonValue

from app.fleet import CostClass, IfParentFails, JobState, Outcome, Priority
from app.wire.values import (
    ATTEMPTS_MAX,
    BATCH_MAX,
    DEPENDS_MAX,
    TIMEOUT_MAX_S,
    Integer,
    Labels,
    Name,
    Omissible,
    Reply,
    Request,
    Sentence,
    StandingReply,
    Timestamp,
    Word,
    Words,
    never_null,
)

_ID_EXAMPLE = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
_PAYLOAD_EXAMPLE: dict[str, JsonValue] = {"prompt": "Fix the flaky test", "cwd": "/src/web"}

TimeoutSeconds = Annotated[Integer, Field(ge=1, le=TIMEOUT_MAX_S)]
Attempts = Annotated[Integer, Field(ge=1, le=ATTEMPTS_MAX)]


class JobFields(Request):
    """What a job is, apart from the jobs it depends on."""

    kind: Word = Field(
        description="What sort of work it is; factories' scripts tell kinds apart by it.",
        examples=["implement"],
    )
    repo: Name | None = Field(
        default=None,
        description="The repository it works on: factories that have it warm are preferred.",
        examples=["acme/web"],
    )
    payload: dict[str, JsonValue] = Field(
        default_factory=dict,
        description="Anything the factory needs; handed over as it is. At most 1 MiB with the "
        "rest of the body, 64 levels deep, no NUL, NaN or infinity.",
        examples=[_PAYLOAD_EXAMPLE],
    )
    prefers_engine: Word | None = Field(
        default=None,
        description="The agent engine that suits it best. A wish: it raises the score of "
        "factories that have it. To insist, require the capability `engine:<name>`.",
        examples=["claude"],
    )
    required_capabilities: Words = Field(
        default_factory=list,
        description="What a factory must offer, all of it (at most 64).",
        examples=[["docker", "engine:claude"]],
    )
    priority: Priority = Field(
        default=Priority.NORMAL,
        description="Decides between jobs of equal score; it is not part of the score.",
        examples=["high"],
    )
    cost_class: CostClass = Field(
        default=CostClass.LOW,
        description="What it costs to run, compared with a factory's `cost_ceiling`.",
        examples=["low"],
    )
    lock: Name | None = Field(
        default=None,
        description="A name that at most one leased job holds at a time, such as a clone.",
        examples=["clone:/src/web"],
    )
    if_parent_fails: IfParentFails = Field(
        default=IfParentFails.CANCEL,
        description="What happens when a job it depends on ends dead or cancelled.",
        examples=["cancel"],
    )
    run_after: Timestamp | None = Field(
        default=None,
        description="Not before this time.",
        examples=["2026-03-01T22:00:00Z"],
    )
    timeout_s: TimeoutSeconds = Field(
        default=4 * 3600,
        description="How long one attempt may take from its claim, late renewals included.",
        examples=[14400],
    )
    max_attempts: Attempts = Field(
        default=3,
        description="How often it is tried before it is dead. A release burns no attempt.",
        examples=[3],
    )
    dedupe_key: Name | None = Field(
        default=None,
        description="Unique among unfinished jobs and, after that, for the retention time; a "
        "repeat returns the first job with status 200.",
        examples=["nightly-2026-03-01"],
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Up to 64 names and values to find it by.",
        examples=[{"team": "web"}],
    )


class JobSubmit(JobFields):
    """A job to be done (``POST /jobs``)."""

    depends_on: list[UUID] = Field(
        default_factory=list,
        max_length=DEPENDS_MAX,
        description="Ids of jobs that must end first.",
        examples=[[_ID_EXAMPLE]],
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
        examples=[["build", _ID_EXAMPLE]],
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
        examples=[_PAYLOAD_EXAMPLE],
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
        examples=[[_ID_EXAMPLE]],
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


class JobReply(Reply):
    """A job."""

    id: UUID = Field(description="Its id (UUIDv7).", examples=[_ID_EXAMPLE])
    version: int = Field(
        description="Grows with every change; the `ETag` of the job.", examples=[7]
    )
    kind: str = Field(description="What sort of work it is.", examples=["implement"])
    state: JobState = Field(description="Where it is in its life.", examples=["ready"])
    repo: str | None = Field(description="The repository it works on.", examples=["acme/web"])
    payload: dict[str, JsonValue] = Field(
        description="What the factory needs, as it was submitted.", examples=[_PAYLOAD_EXAMPLE]
    )
    prefers_engine: str | None = Field(
        description="The engine that suits it best.", examples=["claude"]
    )
    required_capabilities: list[str] = Field(
        description="What a factory must offer, sorted.", examples=[["docker"]]
    )
    priority: Priority = Field(description="Decides between equal scores.", examples=["high"])
    cost_class: CostClass = Field(description="What it costs to run.", examples=["low"])
    lock: str | None = Field(
        description="The name that it holds while leased.", examples=["clone:/src/web"]
    )
    excluded_factories: list[str] = Field(
        description="Factories where it failed, expired or timed out and that are kept from it.",
        examples=[["f2"]],
    )
    depends_on: list[UUID] = Field(
        description="The jobs that must end first.", examples=[[_ID_EXAMPLE]]
    )
    if_parent_fails: IfParentFails = Field(
        description="What happens when one of them ends dead or cancelled.", examples=["cancel"]
    )
    run_after: Timestamp | None = Field(
        description="Not before this time.", examples=["2026-03-01T22:00:00Z"]
    )
    timeout_s: int = Field(description="The limit of one attempt.", examples=[14400])
    attempts: int = Field(description="Attempts begun so far.", examples=[1])
    max_attempts: int = Field(description="Attempts before it is dead.", examples=[3])
    dedupe_key: str | None = Field(
        description="The key that keeps it from being submitted twice.", examples=["nightly"]
    )
    labels: dict[str, str] = Field(description="Names and values.", examples=[{"team": "web"}])
    hold: StandingReply | None = Field(
        description="The hold it is under, if any.",
        examples=[{"reason": "needs a decision", "by": "ops", "until": None}],
    )
    factory_id: str | None = Field(
        description="The factory that holds it, or last held it.", examples=["f1"]
    )
    fence: int = Field(
        description="The number of its newest lease; 0 before the first.", examples=[3]
    )
    fence_open: bool = Field(
        description="Whether the holder of that fence may still report on it.", examples=[True]
    )
    claimed_at: Timestamp | None = Field(
        description="When it was last claimed.", examples=["2026-03-01T09:30:00Z"]
    )
    lease_expires_at: Timestamp | None = Field(
        description="When its present lease ends unless it is renewed.",
        examples=["2026-03-01T09:31:00Z"],
    )
    cancel_requested: bool = Field(
        description="Whether its holder was asked to stop.", examples=[False]
    )
    result: JsonValue = Field(
        description="What its factory reported at the end.",
        examples=[{"pr_url": "https://forge.example/acme/web/pull/12"}],
    )
    error: str | None = Field(
        description="What went wrong last.", examples=["tests failed: 3 of 120"]
    )
    created_at: Timestamp = Field(
        description="When it was submitted.", examples=["2026-03-01T09:00:00Z"]
    )
    updated_at: Timestamp = Field(
        description="When it last changed.", examples=["2026-03-01T09:30:00Z"]
    )
    finished_at: Timestamp | None = Field(
        description="When it ended, for good or ill.", examples=["2026-03-01T09:45:00Z"]
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

    at: Timestamp = Field(description="When.", examples=["2026-03-01T09:30:00Z"])
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
        description="`cancelled`: it was not running and is over; `cancel_requested`: its factory "
        "is told at its next heartbeat; `already_finished`: it had ended before.",
        examples=["cancel_requested"],
        json_schema_extra={"enum": ["cancelled", "cancel_requested", "already_finished"]},
    )
    job: JobReply = Field(description="The job as it is now.")
