"""What a job is: as clients say it, whichever way they submit it, and as everybody reads it."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, JsonValue

from app.fleet import CostClass, IfParentFails, JobState, Priority
from app.wire.values import (
    ATTEMPTS_MAX,
    TIMEOUT_MAX_S,
    Integer,
    Labels,
    Moment,
    Name,
    Reply,
    Request,
    StandingReply,
    Timestamp,
    Word,
    Words,
)

ID_EXAMPLE = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
PAYLOAD_EXAMPLE: dict[str, JsonValue] = {"prompt": "Fix the flaky test", "cwd": "/src/web"}

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
        examples=[PAYLOAD_EXAMPLE],
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


class JobReply(Reply):
    """A job."""

    id: UUID = Field(description="Its id (UUIDv7).", examples=[ID_EXAMPLE])
    version: int = Field(
        description="Grows with every change; the `ETag` of the job.", examples=[7]
    )
    kind: str = Field(description="What sort of work it is.", examples=["implement"])
    state: JobState = Field(description="Where it is in its life.", examples=["ready"])
    repo: str | None = Field(description="The repository it works on.", examples=["acme/web"])
    payload: dict[str, JsonValue] = Field(
        description="What the factory needs, as it was submitted.", examples=[PAYLOAD_EXAMPLE]
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
        description="The jobs that must end first.", examples=[[ID_EXAMPLE]]
    )
    if_parent_fails: IfParentFails = Field(
        description="What happens when one of them ends dead or cancelled.", examples=["cancel"]
    )
    run_after: Moment | None = Field(
        description="Not before this time.", examples=["2026-03-01T22:00:00Z"]
    )
    timeout_s: int = Field(description="The limit of one attempt.", examples=[14400])
    attempts: int = Field(description="Attempts begun so far.", examples=[1])
    max_attempts: int = Field(description="Attempts before it is dead.", examples=[3])
    dedupe_key: str | None = Field(
        description="The key that keeps it from being submitted twice. Those of ticks are their "
        "own: the same words from a caller are another key.",
        examples=["nightly"],
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
    claimed_at: Moment | None = Field(
        description="When it was last claimed.", examples=["2026-03-01T09:30:00Z"]
    )
    lease_expires_at: Moment | None = Field(
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
    created_at: Moment = Field(
        description="When it was submitted.", examples=["2026-03-01T09:00:00Z"]
    )
    updated_at: Moment = Field(
        description="When it last changed.", examples=["2026-03-01T09:30:00Z"]
    )
    finished_at: Moment | None = Field(
        description="When it ended, for good or ill.", examples=["2026-03-01T09:45:00Z"]
    )
