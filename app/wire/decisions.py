"""Decisions: what past claims were decided on."""

from uuid import UUID

from pydantic import Field, JsonValue

from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import Reply, Timestamp


class DecisionReply(Reply):
    """What a claim was decided on (``GET /explain/decisions/{id}``)."""

    id: UUID = Field(description="The decision.", examples=[ID_EXAMPLE])
    at: Timestamp = Field(description="When.", examples=["2026-03-01T09:30:00Z"])
    factory_id: str = Field(description="Who got it.", examples=["f1"])
    job_id: UUID = Field(description="What it got.", examples=[ID_EXAMPLE])
    fence: int = Field(description="Under which fence.", examples=[3])
    total: int = Field(description="With which score.", examples=[580])
    record: dict[str, JsonValue] = Field(
        description="Everything it was decided on: the time, the weights, the factory's facts, "
        "the picked job with its score, its rank and margin, the runners-up, and the races lost "
        "on the way.",
        examples=[{"rank": 1, "margin": 20, "lost": []}],
    )
