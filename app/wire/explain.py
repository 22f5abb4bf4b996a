"""Explanations of a factory: what its next claim would get; and the shapes all of them share."""

from uuid import UUID

from pydantic import Field

from app.eligibility import ClearsWhen, Reason
from app.fleet import CostClass, Health, JobState, Priority
from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import Moment, Reply, StandingReply

_TERMS_EXAMPLE = {
    "capability_fit": 200,
    "affinity": 100,
    "load": 100,
    "cost_fit": 480,
    "health": 300,
    "starvation_penalty": -600,
}
_PERCENTS_EXAMPLE = {
    "capability_fit": 100,
    "affinity": 50,
    "load": 100,
    "cost_fit": 80,
    "health": 100,
    "starvation_penalty": 100,
}


class ScoreDetail(Reply):
    """A score with its working: six terms, six weights, one sum."""

    total: int = Field(description="The sum of `breakdown`, exactly.", examples=[580])
    breakdown: dict[str, int] = Field(
        description="The weighted terms; the starvation penalty with its sign.",
        examples=[_TERMS_EXAMPLE],
    )
    percents: dict[str, int] = Field(
        description="The terms before they are weighted, as whole percents.",
        examples=[_PERCENTS_EXAMPLE],
    )


class LockHolderReply(Reply):
    """Who holds the lock that a job waits for."""

    job_id: UUID = Field(description="The job that holds it.", examples=[ID_EXAMPLE])
    factory_id: str | None = Field(description="The factory that runs that job.", examples=["f2"])
    expires_at: Moment | None = Field(
        description="When that lease ends unless it is renewed.", examples=["2026-03-01T09:31:00Z"]
    )


class ReasonReply(Reply):
    """One reason why a factory may not take a job, with the facts behind it."""

    reason: Reason = Field(
        description="The reason, from a closed vocabulary.", examples=["missing_capability"]
    )
    permanent: bool = Field(
        description="Whether waiting alone cannot clear it: the job or the factory must change.",
        examples=[True],
    )
    message: str = Field(description="It in words.", examples=["the factory lacks docker"])
    clears_at: Moment | None = Field(
        description="When it clears by itself, if that is known.", examples=[None]
    )
    clears_when: ClearsWhen = Field(
        description="The event that clears it.", examples=["capability_offered"]
    )
    state: JobState | None = Field(description="The job's state.", examples=[None])
    parents: list[UUID] = Field(description="The jobs that it waits for.", examples=[[]])
    lock: str | None = Field(description="The lock that it waits for.", examples=[None])
    holder: LockHolderReply | None = Field(description="Who holds it.", examples=[None])
    missing: list[str] = Field(
        description="The capabilities that the factory lacks.", examples=[["docker"]]
    )
    standing: StandingReply | None = Field(
        description="The drain, pause or hold that stands in the way.", examples=[None]
    )


class FactoryFacts(Reply):
    """A factory as a decision sees it."""

    id: str = Field(description="Its id.", examples=["f1"])
    capabilities: list[str] = Field(description="What it can do.", examples=[["docker"]])
    engines: list[str] = Field(description="The engines it has.", examples=[["claude"]])
    warm_repos: list[str] = Field(
        description="The repositories that count as warm: declared ones first, then its newest "
        "successes.",
        examples=[["acme/web"]],
    )
    cost_ceiling: CostClass = Field(description="The ceiling in force.", examples=["high"])
    seat_limit: int = Field(description="The limit in force.", examples=[2])
    seats_used: int = Field(description="Leases it holds.", examples=[1])
    seats_free: int = Field(description="Leases it may still take.", examples=[1])
    external_load: int = Field(description="The load it reports besides.", examples=[0])
    health: Health = Field(description="The worse of reported and derived.", examples=["ok"])
    drain: StandingReply | None = Field(description="The drain it is under.", examples=[None])
    pause: StandingReply | None = Field(description="The pause it is under.", examples=[None])
    quarantined_until: Moment | None = Field(
        description="Until when it is in quarantine, after failing fast.", examples=[None]
    )
    account: str | None = Field(description="Its provider account.", examples=["team-a"])
    cooldown_until: Moment | None = Field(
        description="Until when that account's usage limit holds.", examples=[None]
    )
    last_seen_at: Moment | None = Field(
        description="Its last sign of life.", examples=["2026-03-01T09:30:00Z"]
    )
    last_served_at: Moment | None = Field(
        description="When it last got a job; of equal factories, the longest ago comes first.",
        examples=["2026-03-01T09:10:00Z"],
    )
    stale: bool = Field(
        description="Whether it missed three heartbeats: a fact and no filter, for its next claim "
        "would be a sign of life.",
        examples=[False],
    )


class RankedJob(Reply):
    """A job in a factory's ranking."""

    job_id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    kind: str | None = Field(
        description="What sort of work it is; null if it is gone meanwhile.", examples=["implement"]
    )
    rank: int = Field(description="Its place; 1 is what the next claim gets.", examples=[1])
    score: ScoreDetail = Field(description="Its score for this factory, with its working.")
    margin: int | None = Field(
        description="Its lead over the next in the ranking; null for the last. 0 is a tie, which "
        "priority, age, cost and id decide in that order.",
        examples=[20],
    )
    priority: Priority = Field(description="Its priority, which breaks ties.", examples=["high"])
    created_at: Moment = Field(
        description="When it was submitted.", examples=["2026-03-01T09:00:00Z"]
    )
    repo: str | None = Field(description="The repository it works on.", examples=["acme/web"])


class SurvivorsReply(Reply):
    """One check of the filter: how many waiting jobs it keeps from a factory."""

    reason: Reason = Field(description="The check.", examples=["missing_capability"])
    dropped: int = Field(
        description="Jobs that fail here first; counted up to 1,000 in a class or state.",
        examples=[12],
    )
    left: int = Field(description="Jobs that got this far and pass.", examples=[14])


class UnlockReply(Reply):
    """What a factory would gain by offering more."""

    capabilities: list[str] = Field(
        description="What it lacks, all together.", examples=[["docker"]]
    )
    jobs: int = Field(description="Ready jobs that it could then take as well.", examples=[14])


class FactoryExplanationReply(Reply):
    """What a factory's next claim would get (``GET /explain?factory_id=``)."""

    factory: FactoryFacts = Field(description="The factory as the decision would see it.")
    now: Moment = Field(
        description="The time of this answer, by the database's clock.",
        examples=["2026-03-01T09:30:00Z"],
    )
    headline: str = Field(
        description="The answer in one line.",
        examples=[f"Its next claim would get {ID_EXAMPLE}, 20 points ahead of the next."],
    )
    weights: dict[str, int] = Field(
        description="What a percent of each term is worth.",
        examples=[
            {"capability": 2, "affinity": 2, "load": 1, "cost": 6, "health": 3, "starvation": 6}
        ],
    )
    refusals: list[ReasonReply] = Field(
        description="What refuses the factory as a whole; then the ranking is empty."
    )
    ranking: list[RankedJob] = Field(
        description="The best jobs, best first; empty if its next claim would be a 204."
    )
    blocked: dict[str, int] = Field(
        description="How many jobs each reason keeps from it.",
        examples=[{"missing_capability": 12, "lock_held": 3}],
    )
    survivors: list[SurvivorsReply] = Field(
        description="All waiting jobs put through the filter, check by check."
    )
    unlocks: list[UnlockReply] = Field(
        description="What each capability that it lacks would unlock, the most valuable first; "
        "several together come after single ones."
    )
