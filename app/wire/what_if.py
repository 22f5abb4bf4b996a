"""What if: a hypothesis, and what would come of it."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from app.fleet import CostClass, Health, Priority
from app.wire.factories import Load, Seats
from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import (
    Integer,
    Moment,
    Name,
    Names,
    PersonalId,
    Reply,
    Request,
    Timestamp,
    Word,
    Words,
)

Weight = Annotated[Integer, Field(ge=0, le=1000)]


class WeightsIf(Request):
    """Other weights; those left out are as shipped."""

    capability: Weight = Field(default=2, description="Of `capability_fit`.", examples=[2])
    affinity: Weight = Field(default=2, description="Of `affinity`.", examples=[8])
    load: Weight = Field(default=1, description="Of `load`.", examples=[1])
    cost: Weight = Field(default=6, description="Of `cost_fit`.", examples=[6])
    health: Weight = Field(default=3, description="Of `health`.", examples=[3])
    starvation: Weight = Field(default=6, description="Of `starvation_penalty`.", examples=[6])


class FactoryIf(Request):
    """A factory that is otherwise; fields left out are as they are."""

    id: PersonalId = Field(description="The factory.", examples=["f1"])
    capabilities: Words = Field(
        default_factory=list, description="What it could do.", examples=[["docker"]]
    )
    engines: Words = Field(
        default_factory=list, description="The engines it would have.", examples=[["claude"]]
    )
    warm_repos: Names = Field(
        default_factory=list, description="What would be warm there.", examples=[["acme/web"]]
    )
    cost_ceiling: CostClass = Field(
        default=CostClass.HIGH, description="Its ceiling.", examples=["low"]
    )
    seat_limit: Seats = Field(default=1, description="Its seats.", examples=[2])
    health: Health = Field(default=Health.OK, description="Its health.", examples=["ok"])
    external_load: Load = Field(default=0, description="Its load besides.", examples=[0])


class JobIf(Request):
    """A job that is otherwise; fields left out are as they are."""

    id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    repo: Name | None = Field(default=None, description="Its repo.", examples=["acme/web"])
    required_capabilities: Words = Field(
        default_factory=list, description="What it would require.", examples=[["docker"]]
    )
    prefers_engine: Word | None = Field(
        default=None, description="The engine it would prefer.", examples=["codex"]
    )
    cost_class: CostClass = Field(
        default=CostClass.LOW, description="Its cost class.", examples=["low"]
    )
    priority: Priority = Field(
        default=Priority.NORMAL, description="Its priority.", examples=["high"]
    )
    lock: Name | None = Field(default=None, description="Its lock.", examples=[None])
    created_at: Timestamp | None = Field(
        default=None, description="When it was submitted.", examples=["2026-03-01T09:00:00Z"]
    )


class SpanIf(Request):
    """A time span whose recorded decisions are decided again."""

    since: Timestamp = Field(description="From.", examples=["2026-03-01T00:00:00Z"])
    until: Timestamp = Field(description="Before.", examples=["2026-03-02T00:00:00Z"])


class WhatIfRequest(Request):
    """What would be otherwise, and over what (``POST /explain/what-if``)."""

    weights: WeightsIf | None = Field(default=None, description="Other weights.")
    factory: FactoryIf | None = Field(default=None, description="A changed factory.")
    job: JobIf | None = Field(default=None, description="A changed job.")
    decisions: SpanIf | None = Field(
        default=None,
        description="Over the recorded decisions of a time span; without it, over the queue as "
        "it is now.",
    )
    factory_ids: list[PersonalId] = Field(
        default_factory=list,
        max_length=10,
        description="The factories asked about; without it, those that could claim now, 10 at "
        "most.",
        examples=[["f1"]],
    )


class MoveReply(Reply):
    """A job whose place in a factory's ranking changes; beyond the 20th place it is null."""

    job_id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    before: int | None = Field(description="Its place as things are.", examples=[3])
    after: int | None = Field(description="Its place as they would be.", examples=[1])


class FactoryOutcomeReply(Reply):
    """What a factory's next claim gets, and would get."""

    factory_id: str = Field(description="The factory.", examples=["f1"])
    flips: bool = Field(description="Whether the two differ.", examples=[True])
    before: UUID | None = Field(description="What it gets.", examples=[ID_EXAMPLE])
    after: UUID | None = Field(description="What it would get.", examples=[ID_EXAMPLE])
    sooner: list[MoveReply] = Field(description="Jobs that would move up.")
    later: list[MoveReply] = Field(description="Jobs whose wait would grow.")


class DecisionFlipReply(Reply):
    """A recorded decision that would have come out otherwise, among the jobs it recorded."""

    decision_id: UUID = Field(description="The decision.", examples=[ID_EXAMPLE])
    at: Moment = Field(description="When it was.", examples=["2026-03-01T09:30:00Z"])
    factory_id: str = Field(description="Whose claim it was.", examples=["f1"])
    job_id: UUID = Field(description="What it got.", examples=[ID_EXAMPLE])
    instead: UUID | None = Field(description="What it would have got.", examples=[ID_EXAMPLE])
    longer_s: int | None = Field(
        description="How much longer the one would have waited at least: until that factory's "
        "next claim.",
        examples=[90],
    )
    shorter_s: int | None = Field(
        description="How much sooner the other would have begun, if it was claimed in the span.",
        examples=[60],
    )


class WhatIfReply(Reply):
    """What would come of it; nothing was changed."""

    warnings: list[str] = Field(
        description="Theorems that do not hold under these weights.",
        examples=[["no_starvation: a job within its ceiling could wait for ever."]],
    )
    factories: list[FactoryOutcomeReply] = Field(description="Over the queue: by factory.")
    decisions: int = Field(description="Recorded decisions looked at.", examples=[120])
    more: bool = Field(
        description="Whether the span has more of them; the newest 1,000 are looked at.",
        examples=[False],
    )
    decision_flips: list[DecisionFlipReply] = Field(
        description="Over recorded decisions: those that would have come out otherwise."
    )
