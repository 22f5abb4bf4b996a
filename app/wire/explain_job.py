"""Explanations of a job: why it is (not) taken, what it waits for, what waits for it."""

from uuid import UUID

from pydantic import Field

from app.fleet import JobState
from app.wire.explain import RankedJob, ReasonReply, ScoreDetail
from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import Reply, Timestamp


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


class JobExplanationReply(Reply):
    """Why a job is, or is not, taken (``GET /explain/jobs/{id}``)."""

    job_id: UUID = Field(description="The job.", examples=[ID_EXAMPLE])
    state: JobState = Field(description="Its state.", examples=["ready"])
    sentence: str = Field(
        description="Where it is, in a sentence.",
        examples=["It is ready, and waits for a factory."],
    )
    version: int = Field(description="Its version.", examples=[7])
    now: Timestamp = Field(
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
