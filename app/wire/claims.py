"""Claiming work, and settling it: complete, fail, release, renew."""

from typing import Annotated, TypeAlias
from uuid import UUID

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from app.fleet import JobState
from app.masking import mask
from app.wire.jobs import JobReply
from app.wire.values import (
    CLAIMS_MAX,
    ERROR_MAX,
    WAIT_MAX_S,
    ClaimNext,
    Fence,
    Flag,
    Integer,
    LeaseSeconds,
    Moment,
    PersonalId,
    Reply,
    Request,
    RetryAfter,
    Sentence,
    Timestamp,
)

_ID_EXAMPLE = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
_FENCE = "The fence of the lease, as its claim gave it; compared for equality only."
_RESULT = (
    "Anything worth keeping; some kinds of job require members (see the job contract). In `error`, "
    "`stdout_tail` and `stderr_tail` what looks like a secret is masked before it is stored."
)
_CLAIM_NEXT = "Take up to so many next jobs in the same call (0 to 100)."
_MASKED = "What looks like a secret is masked before it is stored."
_SAID = frozenset({"error", "stdout_tail", "stderr_tail"})
"""Members of a result that are what a program printed, and not what it found."""


def _mask_said(result: JsonValue) -> JsonValue:
    if not isinstance(result, dict) or _SAID.isdisjoint(result):
        return result
    return {
        name: mask(each) if name in _SAID and isinstance(each, str) else each
        for name, each in result.items()
    }


Result: TypeAlias = Annotated[JsonValue, AfterValidator(_mask_said)]


class ClaimRequest(Request):
    """A factory asks for its best next jobs (``POST /claim``)."""

    factory_id: PersonalId = Field(
        description="The factory; its token must be bound to it.", examples=["f1"]
    )
    max_jobs: Annotated[Integer, Field(ge=1, le=CLAIMS_MAX)] = Field(
        default=1,
        description="How many it takes at most; its free seats limit it too.",
        examples=[1],
    )
    wait_s: Annotated[Integer, Field(ge=0, le=WAIT_MAX_S)] = Field(
        default=0,
        description="How long to wait for something to do; `Prefer: wait=N` says the same.",
        examples=[30],
    )
    lease_s: LeaseSeconds | None = Field(
        default=None,
        description="How long each lease lasts unless renewed; 60 by default.",
        examples=[60],
    )


class LeaseGrant(Reply):
    """A lease: the right to work on a job until it ends."""

    fence: int = Field(
        description="Names this lease among all of the job; every report must carry it.",
        examples=[3],
    )
    expires_at: Moment = Field(
        description="When it ends unless renewed.", examples=["2026-03-01T09:31:00Z"]
    )
    next_heartbeat_s: int = Field(
        description="In how many seconds to renew it: a third of its length.", examples=[20]
    )


class ScoreReply(Reply):
    """Why this job was the best: weighted terms that add up to the total."""

    total: int = Field(description="The score.", examples=[1580])
    breakdown: dict[str, int] = Field(
        description="The weighted terms, the starvation penalty with its sign.",
        examples=[
            {
                "capability_fit": 200,
                "affinity": 100,
                "load": 100,
                "cost_fit": 480,
                "health": 300,
                "starvation_penalty": -600,
            }
        ],
    )


class ClaimReply(Reply):
    """A job that was handed out."""

    job: JobReply = Field(description="The job.")
    lease: LeaseGrant = Field(description="The right to work on it.")
    score: ScoreReply = Field(description="Why this one.")
    decision_id: UUID = Field(
        description="The stored decision: see `GET /explain/decisions/{id}`.",
        examples=[_ID_EXAMPLE],
    )


class ClaimsReply(Reply):
    """The jobs that were handed out, best first; never empty (nothing to do is a 204)."""

    claims: list[ClaimReply] = Field(description="The jobs, best first.")


class RenewRequest(Request):
    """Keep a lease (``POST /jobs/{id}/renew``)."""

    fence: Fence = Field(description=_FENCE, examples=[3])
    lease_s: LeaseSeconds | None = Field(
        default=None,
        description="The lease's new length; by default, as it was claimed.",
        examples=[60],
    )


class CompleteRequest(Request):
    """A job succeeded (``POST /jobs/{id}/complete``)."""

    fence: Fence = Field(description=_FENCE, examples=[3])
    result: Result = Field(
        default=None,
        description=_RESULT,
        examples=[{"pr_url": "https://forge.example/acme/web/pull/12"}],
    )
    claim_next: ClaimNext = Field(default=0, description=_CLAIM_NEXT, examples=[1])


class FailRequest(Request):
    """An attempt at a job failed (``POST /jobs/{id}/fail``)."""

    fence: Fence = Field(description=_FENCE, examples=[3])
    error: Annotated[
        str, StringConstraints(min_length=1, max_length=ERROR_MAX), AfterValidator(mask)
    ] = Field(
        description=f"What went wrong (at most 65,536 characters). {_MASKED}",
        examples=["tests failed: 3 of 120"],
    )
    retryable: Flag = Field(
        default=True, description="Whether another attempt makes sense.", examples=[True]
    )
    retry_after_s: RetryAfter | None = Field(
        default=None,
        description="Not again before so many seconds; by default an exponential backoff.",
        examples=[300],
    )
    exclude_me: Flag = Field(
        default=True,
        description="Whether another factory should try next, if there is one.",
        examples=[True],
    )


class ReleaseRequest(Request):
    """Give a job back without a verdict (``POST /jobs/{id}/release``); burns no attempt."""

    fence: Fence = Field(description=_FENCE, examples=[3])
    reason: Annotated[Sentence, AfterValidator(mask)] = Field(
        description=f"Why. {_MASKED}", examples=["drain"]
    )
    retry_after_s: RetryAfter | None = Field(
        default=None, description="Not again before so many seconds.", examples=[60]
    )
    cooldown_until: Timestamp | None = Field(
        default=None,
        description="Until when the usage limit of the factory's account holds, if that is why; "
        "at most 7 days ahead.",
        examples=["2026-03-01T12:00:00Z"],
    )


class SettledJob(Reply):
    """Where a job stands after a report on it."""

    id: UUID = Field(description="The job.", examples=[_ID_EXAMPLE])
    state: JobState = Field(description="Its state now.", examples=["succeeded"])
    version: int = Field(description="Its version now.", examples=[8])


class SettledReply(Reply):
    """The answer to complete, fail and release; repeating the call returns the first answer."""

    job: SettledJob = Field(description="Where the job stands.")
    outcome: str = Field(
        description="What the report came to: `succeeded`, `failed` or `released`; `cancelled` "
        "where a cancel had been asked for and the report was not a success.",
        examples=["succeeded"],
    )
    replayed: bool = Field(
        default=False,
        description="Whether this call was a repeat and changed nothing.",
        examples=[False],
    )


class CompleteReply(SettledReply):
    """The answer to complete: where the job stands, and what to do next."""

    claims: list[ClaimReply] = Field(
        default_factory=list, description="The next jobs, as far as `claim_next` asked for them."
    )


class LeaseCompletion(Request):
    """One of several jobs that succeeded."""

    job_id: UUID = Field(description="The job.", examples=[_ID_EXAMPLE])
    fence: Fence = Field(description=_FENCE, examples=[3])
    result: Result = Field(default=None, description=_RESULT, examples=[{"summary": "done"}])


class CompleteLeasesRequest(Request):
    """Several jobs succeeded (``POST /leases/complete``); each is settled on its own."""

    leases: list[LeaseCompletion] = Field(
        min_length=1, max_length=CLAIMS_MAX, description="The leases, 1 to 100."
    )
    claim_next: ClaimNext = Field(default=0, description=_CLAIM_NEXT, examples=[2])


class LeaseOutcome(Reply):
    """What became of one report."""

    job_id: UUID = Field(description="The job.", examples=[_ID_EXAMPLE])
    outcome: str = Field(
        description="`succeeded`; `stale_fence`: that lease was over, nothing changed; "
        "`not_yours`: it is another factory's; `not_found`.",
        examples=["succeeded"],
    )
    state: JobState | None = Field(
        default=None, description="The job's state now, if it exists.", examples=["succeeded"]
    )
    version: int | None = Field(
        default=None, description="The job's version now, if it exists.", examples=[8]
    )
    replayed: bool = Field(
        default=False,
        description="Whether this was a repeat and changed nothing.",
        examples=[False],
    )


class CompleteLeasesReply(Reply):
    """The answer to several completions."""

    outcomes: list[LeaseOutcome] = Field(description="One for each lease, in the order sent.")
    claims: list[ClaimReply] = Field(
        default_factory=list, description="The next jobs, as far as `claim_next` asked for them."
    )
