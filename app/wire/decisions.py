"""Decisions: what past claims were decided on."""

from uuid import UUID

from pydantic import Field, JsonValue

from app.fleet import Outcome
from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import Moment, Reply


class DifferenceReply(Reply):
    """Something that today's scheduler would decide otherwise."""

    field: str = Field(
        description="What: `job_id`, `score`, `margin` or `runners_up`.", examples=["margin"]
    )
    recorded: JsonValue = Field(description="As it was recorded.", examples=[20])
    now: JsonValue = Field(description="As it would be now.", examples=[10])


class ReplayReply(Reply):
    """A decision, decided again from its record by today's scheduler."""

    identical: bool = Field(description="Whether nothing differs.", examples=[True])
    differences: list[DifferenceReply] = Field(description="What differs; mostly nothing.")


class DecisionReply(Reply):
    """What a claim was decided on (``GET /explain/decisions/{id}``)."""

    id: UUID = Field(description="The decision.", examples=[ID_EXAMPLE])
    at: Moment = Field(description="When.", examples=["2026-03-01T09:30:00Z"])
    factory_id: str = Field(description="Who got it.", examples=["f1"])
    job_id: UUID = Field(description="What it got.", examples=[ID_EXAMPLE])
    fence: int = Field(description="Under which fence.", examples=[3])
    total: int = Field(description="With which score.", examples=[580])
    headline: str = Field(
        description="The answer in one line.",
        examples=[f"f1 got {ID_EXAMPLE} (implement) with a score of 580, 20 points ahead."],
    )
    kinds: dict[str, str] = Field(
        description="Of what kind the jobs of the record are, by id; those that are gone are not.",
        examples=[{ID_EXAMPLE: "implement"}],
    )
    record: dict[str, JsonValue] = Field(
        description="Everything it was decided on: the time, the weights, the factory's facts, "
        "the picked job with its score, its rank and margin, the runners-up, the races lost on "
        "the way, and how many jobs each reason kept from the factory when they were last counted. "
        "Of jobs that differ in age alone mostly only the oldest was looked at.",
        examples=[{"rank": 1, "margin": 20, "lost": []}],
    )
    replay: ReplayReply = Field(description="The same facts, decided again now.")


class DecisionSummary(Reply):
    """A decision in a list."""

    id: UUID = Field(description="The decision.", examples=[ID_EXAMPLE])
    at: Moment = Field(description="When.", examples=["2026-03-01T09:30:00Z"])
    factory_id: str = Field(description="Who got it.", examples=["f1"])
    job_id: UUID = Field(description="What it got.", examples=[ID_EXAMPLE])
    fence: int = Field(description="Under which fence.", examples=[3])
    total: int = Field(description="With which score.", examples=[580])
    rank: int = Field(description="Its place among the candidates.", examples=[1])
    margin: int | None = Field(
        description="Its lead over the next best of the jobs looked at: of a class, mostly only "
        "the oldest is.",
        examples=[20],
    )
    lost: int = Field(description="Races lost on the way to it.", examples=[0])


class DecisionPage(Reply):
    """One page of decisions, newest first (``GET /explain/decisions``)."""

    items: list[DecisionSummary] = Field(description="The decisions of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6IjAxOTgifQ"],
    )


class ReceiptEventReply(Reply):
    """Something that happened under a fence."""

    at: Moment = Field(description="When.", examples=["2026-03-01T09:30:00Z"])
    event: str = Field(description="What.", examples=["complete"])
    outcome: Outcome | None = Field(
        description="How it ended the lease, if it did.", examples=["succeeded"]
    )
    by: str | None = Field(description="Who did it.", examples=["f1"])


class ReceiptReply(Reply):
    """One lease of a job."""

    fence: int = Field(description="Its fence.", examples=[3])
    factory_id: str = Field(description="Who had it.", examples=["f1"])
    claimed_at: Moment = Field(description="Since when.", examples=["2026-03-01T09:30:00Z"])
    decision_id: UUID = Field(description="The decision that gave it.", examples=[ID_EXAMPLE])
    total: int = Field(description="With which score.", examples=[580])
    open: bool = Field(description="Whether this fence may still write.", examples=[False])
    events: list[ReceiptEventReply] = Field(description="What happened under it, in order.")


class ReceiptPage(Reply):
    """The leases that a job had, the oldest first (``GET /explain/jobs/{id}/leases``)."""

    items: list[ReceiptReply] = Field(description="The leases of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["Mw"],
    )
