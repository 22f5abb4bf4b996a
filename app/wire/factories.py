"""Factories: what they say of themselves, and what everybody reads of them."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from app.fleet import CostClass, Health
from app.wire.values import (
    LOAD_MAX,
    SEATS_MAX,
    Fence,
    Integer,
    Labels,
    Moment,
    Names,
    Reply,
    Request,
    StandingReply,
    Timestamp,
    Word,
    Words,
)

Seats = Annotated[Integer, Field(ge=0, le=SEATS_MAX)]
Load = Annotated[Integer, Field(ge=0, le=LOAD_MAX)]


class FactoryPut(Request):
    """A factory as it registers itself, or as ops describe it (``PUT /factories/{id}``).

    From the factory itself, a field left out takes its default. From ops, it stays as it is; a
    ``seat_limit`` or ``cost_ceiling`` from ops is an override, which the factory's own PUT does not
    change, and which a null from ops takes back.
    """

    capabilities: Words = Field(
        default_factory=list,
        description="What it can do (at most 64); jobs require these.",
        examples=[["docker", "gpu"]],
    )
    engines: Words = Field(
        default_factory=list,
        description="The agent engines it has; it offers `engine:<name>` for each.",
        examples=[["claude", "codex"]],
    )
    warm_repos: Names = Field(
        default_factory=list,
        description="Repositories it has a warm clone of, best first (the first 16 count).",
        examples=[["acme/web"]],
    )
    cost_ceiling: CostClass | None = Field(
        default=CostClass.HIGH,
        description="The cost class up to which it is meant to run jobs; null, from ops only, "
        "takes their override back.",
        examples=["medium"],
    )
    seat_limit: Seats | None = Field(
        default=1,
        description="How many leases it may hold at a time; null, from ops only, takes their "
        "override back.",
        examples=[2],
    )
    health: Health = Field(default=Health.OK, description="How it is.", examples=["ok"])
    external_load: Load = Field(
        default=0,
        description="Jobs it is busy with that the coordinator does not know of.",
        examples=[0],
    )
    account: Word | None = Field(
        default=None,
        description="The provider account it uses; a usage limit stops all who share it.",
        examples=["team-a"],
    )
    labels: Labels = Field(
        default_factory=dict,
        description="Up to 64 names and values.",
        examples=[{"rack": "b2"}],
    )


class FactoryReply(Reply):
    """A factory: what it declared, what ops decided, and how it is doing."""

    id: str = Field(description="Its id, chosen by people.", examples=["f1"])
    version: int = Field(
        description="Grows with every change of settings, not with heartbeats; the `ETag`.",
        examples=[4],
    )
    capabilities: list[str] = Field(
        description="What it can do, sorted.", examples=[["docker", "gpu"]]
    )
    engines: list[str] = Field(description="The engines it has, sorted.", examples=[["claude"]])
    warm_repos: list[str] = Field(
        description="Repositories it declared warm.", examples=[["acme/web"]]
    )
    cost_ceiling: CostClass = Field(
        description="The ceiling in force: the override of ops, else its own.",
        examples=["medium"],
    )
    cost_ceiling_override: CostClass | None = Field(
        description="The ceiling that ops set over its own, if they did.", examples=[None]
    )
    seat_limit: int = Field(
        description="The limit in force: the override of ops, else its own.", examples=[2]
    )
    seat_limit_override: int | None = Field(
        description="The limit that ops set over its own, if they did.", examples=[None]
    )
    seats_used: int = Field(description="Leases it holds now.", examples=[1])
    health: Health = Field(
        description="The worse of what it reports and what its recent outcomes show.",
        examples=["ok"],
    )
    reported_health: Health = Field(description="What it reports itself.", examples=["ok"])
    external_load: int = Field(description="The load it reports besides.", examples=[0])
    account: str | None = Field(description="The provider account it uses.", examples=["team-a"])
    labels: dict[str, str] = Field(description="Names and values.", examples=[{"rack": "b2"}])
    drain: StandingReply | None = Field(
        description="The drain it is under: it finishes what it holds and gets nothing new.",
        examples=[None],
    )
    pause: StandingReply | None = Field(
        description="The pause it is under: it gets nothing new.", examples=[None]
    )
    quarantined_until: Moment | None = Field(
        description="Until when it gets nothing, because its last jobs failed at once.",
        examples=[None],
    )
    cooldown_until: Moment | None = Field(
        description="Until when the usage limit of its account holds.", examples=[None]
    )
    stale: bool = Field(description="Whether it missed three heartbeats.", examples=[False])
    last_seen_at: Moment = Field(
        description="Its last sign of life.", examples=["2026-03-01T09:30:00Z"]
    )
    last_served_at: Moment | None = Field(
        description="When it last got a job.", examples=["2026-03-01T09:29:00Z"]
    )
    registered_at: Moment = Field(
        description="When it first registered.", examples=["2026-02-01T08:00:00Z"]
    )


class FactoryPage(Reply):
    """One page of factories, by id."""

    items: list[FactoryReply] = Field(description="The factories of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["eyJpZCI6ImYxIn0"],
    )


class HeldLease(Request):
    """A lease that the factory believes it holds."""

    job_id: UUID = Field(description="The job.", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"])
    fence: Fence = Field(description="The fence that its claim gave.", examples=[3])


class Heartbeat(Request):
    """A sign of life (``POST /factories/{id}/heartbeat``); fields left out stay as they are."""

    health: Health | None = Field(
        default=None, description="How the factory is, if that changed.", examples=["ok"]
    )
    external_load: Load | None = Field(
        default=None, description="Its load besides, if that changed.", examples=[0]
    )
    warm_repos: Names | None = Field(
        default=None, description="Its warm clones, if those changed.", examples=[["acme/web"]]
    )
    cooldown_until: Timestamp | None = Field(
        default=None,
        description="Until when its account's usage limit holds, if it ran into it; at most 7 days "
        "ahead.",
        examples=["2026-03-01T12:00:00Z"],
    )
    leases: list[HeldLease] = Field(
        default_factory=list,
        max_length=SEATS_MAX,
        description="Every lease it holds; all are renewed.",
        examples=[[{"job_id": "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11", "fence": 3}]],
    )


class LeaseReply(Reply):
    """What became of one lease."""

    job_id: UUID = Field(description="The job.", examples=["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"])
    outcome: Literal["renewed", "lost", "cancel_requested"] = Field(
        description="`renewed`; `lost`: stop working on it; `cancel_requested`: renewed, but "
        "somebody wants it stopped: wind up, then release or fail it.",
        examples=["renewed"],
    )
    expires_at: Moment | None = Field(
        default=None,
        description="When it ends unless renewed again; null if it is lost.",
        examples=["2026-03-01T09:31:00Z"],
    )


class HeartbeatReply(Reply):
    """The coordinator's answer to a sign of life."""

    leases: list[LeaseReply] = Field(description="What became of each lease, in the order sent.")
    drain: bool = Field(
        description="Whether the factory should finish what it holds and stop claiming.",
        examples=[False],
    )
    next_heartbeat_s: int = Field(
        description="In how many seconds the next one is expected.", examples=[20]
    )
