"""The service itself: whether it lives and whether it can answer."""

from pydantic import Field

from app.wire.values import Reply


class Liveness(Reply):
    """Whether the process lives."""

    ok: bool = Field(description="Always true: an answer is the proof.", examples=[True])


class Readiness(Reply):
    """Whether the process can serve."""

    ready: bool = Field(
        description="Whether the database answers and holds our tables.",
        examples=[True],
    )
