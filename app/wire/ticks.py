"""Ticks: what one pass of a loop did."""

from uuid import UUID

from pydantic import Field, JsonValue

from app.wire.repos import RepoTick
from app.wire.values import Moment, Reply
from app.wire.workflow_ticks import WorkflowTick


class OddJobReply(Reply):
    """A job that a pass could not handle; it was put off, and stood in nobody's way."""

    job_id: UUID = Field(description="The job.", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"])
    error: str = Field(description="What was in the way.", examples=["UniqueViolationError"])


class LeaseTick(Reply):
    """What one pass over leases did (``POST /tick/leases``)."""

    expired: int = Field(description="Leases that ended; their jobs are ready again.", examples=[1])
    died: int = Field(description="Jobs that ended dead.", examples=[0])
    timed_out: int = Field(description="Attempts that ran longer than allowed.", examples=[0])
    unblocked: int = Field(
        description="Jobs whose time came, whose hold ended, or that an exclusion no longer keeps "
        "from everybody.",
        examples=[2],
    )
    pruned: int = Field(description="Finished jobs that were forgotten.", examples=[0])
    skipped: str | None = Field(
        default=None,
        description="Why the pass ended early, if it did: another process is at it.",
        examples=[None],
    )
    odd: list[OddJobReply] = Field(
        default_factory=list, description="Jobs that could not be handled.", examples=[[]]
    )


class Tick(Reply):
    """What a tick of everything did (``POST /tick``)."""

    leases: LeaseTick | None = Field(
        description="What the pass over leases did; null in a dry run, which makes none."
    )
    workflows: WorkflowTick = Field(description="What the tick over workflows did.")
    repos: RepoTick = Field(description="What the tick over repos did.")


class StoredTick(Reply):
    """A tick that was not skipped, as it is stored."""

    id: UUID = Field(
        description="Its id (UUIDv7).", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"]
    )
    kind: str = Field(description="Which tick.", examples=["workflows"])
    window: str | None = Field(
        description="The window that it was served for, if it was called with one.",
        examples=["2026-03-01T09:30"],
    )
    at: Moment = Field(description="When it ended.", examples=["2026-03-01T09:30:02Z"])
    report: dict[str, JsonValue] = Field(
        description="Its report, as the call was answered.", examples=[{"skipped": None}]
    )
    reasons: dict[str, JsonValue] = Field(
        description="Why nothing more was started, by id.", examples=[{}]
    )


class StoredTickPage(Reply):
    """One page of stored ticks, newest first."""

    items: list[StoredTick] = Field(description="The ticks of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    )
