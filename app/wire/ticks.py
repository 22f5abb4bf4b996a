"""Ticks: what one pass of a loop did."""

from uuid import UUID

from pydantic import Field

from app.wire.values import Reply


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

    leases: LeaseTick = Field(description="What the pass over leases did.")
