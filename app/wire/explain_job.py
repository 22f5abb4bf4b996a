"""Explanations of a job: why it is (not) taken, what it waits for, what waits for it."""

from uuid import UUID

from pydantic import Field, JsonValue

from app.changes import ChangeKind
from app.fleet import JobState
from app.wire.explain import RankedJob, ReasonReply, ScoreDetail
from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import Moment, Reply


class VerdictReply(Reply):
    """Whether one factory can take a job now, and if not, every reason."""

    factory_id: str = Field(description="The factory.", examples=["f1"])
    eligible: bool = Field(description="Whether it can take the job now.", examples=[False])
    reasons: list[ReasonReply] = Field(description="Every reason why not; empty if it can.")
    rank: int | None = Field(
        description="The job's place in the factory's ranking, 1 being what its next claim gets; "
        "null if it is not eligible, and for all but the few factories that it suits best.",
        examples=[3],
    )
    rank_at_least: bool = Field(
        description="Whether the count stopped at its bound: the place is this or worse.",
        examples=[False],
    )
    score: ScoreDetail = Field(description="How the job scores there, whether eligible or not.")


class QueuePlace(Reply):
    """A job's place in the queue of the factory that would take it soonest."""

    factory_id: str = Field(description="The factory.", examples=["f1"])
    ahead: int = Field(description="Jobs that it would take before.", examples=[2])
    at_least: bool = Field(description="Whether the count stopped at its bound.", examples=[False])
    first: list[RankedJob] = Field(description="The first few of those ahead.")


class BlockerReply(Reply):
    """A job that really holds another up: it waits for no other job itself."""

    job_id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    state: JobState = Field(description="Its state.", examples=["leased"])
    sentence: str = Field(description="Where it is.", examples=["It runs at f2."])
    path: list[UUID] = Field(
        description="The way to it: each waits for the next, the last is the blocker.",
        examples=[[ID_EXAMPLE]],
    )
    reasons: list[ReasonReply] = Field(description="What its own side waits for.")


class DependantReply(Reply):
    """A job that waits for this one."""

    job_id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    state: JobState = Field(description="Its state.", examples=["blocked"])
    steps: int = Field(description="How many dependencies away.", examples=[1])


class CallReply(Reply):
    """A call that ops could make, as it would be sent."""

    method: str = Field(description="The method.", examples=["PATCH"])
    path: str = Field(description="The path.", examples=[f"/jobs/{ID_EXAMPLE}"])
    body: dict[str, JsonValue] = Field(
        description="The body. A PATCH needs `If-Match` with the version that the job then has.",
        examples=[{"priority": "high"}],
    )


class ChangeReply(Reply):
    """One change, in words."""

    kind: ChangeKind = Field(description="What is changed.", examples=["priority"])
    message: str = Field(description="It in words.", examples=["the job's priority is high"])


class FlipReply(Reply):
    """Changes that, made together, make the factory take the job next: tried on the scheduler."""

    changes: list[ChangeReply] = Field(description="The changes; none of them can be left out.")
    calls: list[CallReply] = Field(description="The calls that make them, in this order.")


class WaitReply(Reply):
    """When waiting alone makes the factory take the job next, the queue staying as it is."""

    at: Moment = Field(
        description="The exact time from which it would.", examples=["2026-03-01T15:00:00Z"]
    )
    until: Moment | None = Field(
        description="When it would lose its turn again, as others reach their next level of age.",
        examples=[None],
    )
    for_good_at: Moment | None = Field(
        description="From when it would not lose it again; null if that never is.",
        examples=["2026-03-02T09:00:00Z"],
    )


class PairReply(Reply):
    """Would this factory take this job next, and if not, what would make it."""

    would_take: bool = Field(
        description="Whether the factory's next claim gets the job.", examples=[False]
    )
    headline: str = Field(
        description="The answer in one line.",
        examples=[f"f1 cannot take {ID_EXAMPLE} now: the factory lacks docker."],
    )
    instead: UUID | None = Field(
        description="What its next claim gets instead, if anything.", examples=[None]
    )
    flips: list[FlipReply] = Field(
        description="The smallest changes that flip it, fewest and easiest first; empty if it "
        "would take it anyway, or if no call helps."
    )
    wait: WaitReply | None = Field(
        description="When waiting alone does; null if it never does, or if what is waited for has "
        "no time of its own."
    )


class TenureReply(Reply):
    """Who runs the job, and what ends that."""

    factory_id: str = Field(description="The factory that has it.", examples=["f1"])
    fence: int = Field(description="Under which fence.", examples=[3])
    since: Moment = Field(description="When it was claimed.", examples=["2026-03-01T09:10:00Z"])
    expires_at: Moment = Field(
        description="When the lease ends unless it is renewed.", examples=["2026-03-01T09:31:00Z"]
    )
    times_out_at: Moment = Field(
        description="When its time to run is over, however often it is renewed.",
        examples=["2026-03-01T13:10:00Z"],
    )
    attempt: int = Field(description="Which attempt this is.", examples=[1])
    attempts_max: int = Field(description="After how many it is dead.", examples=[3])
    cancel_requested: bool = Field(description="Whether a cancel was asked for.", examples=[False])
    ends: list[str] = Field(
        description="Whatever ends it, in words.",
        examples=[["f1 completes, fails or releases it"]],
    )


class JobExplanationReply(Reply):
    """Why a job is, or is not, taken (``GET /explain/jobs/{id}``)."""

    job_id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    kind: str | None = Field(
        description="What sort of work it is; null if it is gone meanwhile.", examples=["implement"]
    )
    state: JobState = Field(description="Its state.", examples=["ready"])
    sentence: str = Field(
        description="Where it is, in a sentence.",
        examples=["It is ready, and waits for a factory."],
    )
    tenure: TenureReply | None = Field(
        description="Who runs it, since when, and what ends that; null if it does not run.",
        examples=[None],
    )
    version: int = Field(description="Its version.", examples=[7])
    now: Moment = Field(
        description="The time of this answer, by the database's clock.",
        examples=["2026-03-01T09:30:00Z"],
    )
    headline: str = Field(
        description="The answer in one line.",
        examples=["1 of 3 factories can take it: 2 lack docker."],
    )
    weights: dict[str, int] = Field(
        description="What a percent of each term is worth.",
        examples=[
            {"capability": 2, "affinity": 2, "load": 1, "cost": 6, "health": 3, "starvation": 6}
        ],
    )
    verdicts: list[VerdictReply] = Field(
        description="One for each factory: those that can take it first, by score."
    )
    queue: QueuePlace | None = Field(
        description="Its place in the queue; null if no factory can take it now."
    )
    blockers: list[BlockerReply] = Field(
        description="Down the chain of parents and locks, the jobs that really hold it up, the "
        "nearest first; at most 10."
    )
    dependants: list[DependantReply] = Field(
        description="The jobs that wait for it, directly or not, the nearest first; at most 1,000."
    )
    pair: PairReply | None = Field(
        description="Whether the one factory asked about takes it next, and what would make it; "
        "null if no factory was named."
    )
