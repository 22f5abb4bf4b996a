"""What may be done in a repo: candidates, pull requests, issues; and its runs."""

from typing import Annotated
from uuid import UUID

from pydantic import Field, Strict

from app.repo import CandidateStatus, IssueStatus, PullStatus, RunStatus
from app.wire.job_fields import ID_EXAMPLE
from app.wire.values import (
    Integer,
    Moment,
    Omissible,
    Reply,
    Request,
    Sentence,
    Timestamp,
    Word,
    never_null,
)

Score = Annotated[float, Strict(), Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Number = Annotated[Integer, Field(ge=1, le=2**31 - 1)]
Solutions = Annotated[Integer, Field(ge=0, le=100)]

_SCORE = "How much it matters: the highest goes first."
_SHA = "Its newest commit; a new one has to be verified."
_WANTED = "How many solutions are wanted of it."
_PAGE = "Pass it as `cursor` for the next page; null on the last."
_CURSOR = "Nw"


class CandidateCreate(Request):
    """An idea of what to work on (``POST /repos/{id}/candidates``)."""

    focus: Sentence = Field(description="What to work on.", examples=["Speed up the tests"])
    score: Score = Field(default=0.0, description=_SCORE, examples=[3.5])


class CandidatePatch(Request):
    """What is to change of a candidate; fields left out stay as they are."""

    focus: Omissible[Sentence] = Field(
        default=None,
        description="What to work on.",
        examples=["Speed up the tests"],
        json_schema_extra=never_null,
    )
    score: Omissible[Score] = Field(
        default=None, description=_SCORE, examples=[3.5], json_schema_extra=never_null
    )
    status: Omissible[CandidateStatus] = Field(
        default=None,
        description="Where to put it, with all its tries. Selecting one sets the repo's focus.",
        examples=["queued"],
        json_schema_extra=never_null,
    )


class CandidateReply(Reply):
    """A candidate."""

    id: UUID = Field(description="Its id (UUIDv7).", examples=[ID_EXAMPLE])
    version: int = Field(description="Grows with every change; its `ETag`.", examples=[2])
    focus: str = Field(description="What to work on.", examples=["Speed up the tests"])
    score: float = Field(description=_SCORE, examples=[3.5])
    status: CandidateStatus = Field(description="Where it is.", examples=["queued"])
    failures: int = Field(description="Spawns of it that failed.", examples=[0])
    created_at: Moment = Field(
        description="When it was brought.", examples=["2026-03-01T09:00:00Z"]
    )


class CandidatePage(Reply):
    """One page of candidates, oldest first."""

    items: list[CandidateReply] = Field(description="The candidates of this page.")
    next_cursor: str | None = Field(default=None, description=_PAGE, examples=[_CURSOR])


class PullCreate(Request):
    """A pull request (``POST /repos/{id}/pulls``); of a known one, its newest commit."""

    number: Number = Field(description="Its number at the forge.", examples=[12])
    head_sha: Word = Field(description=_SHA, examples=["6dcb09b5b57875f334f61aebed695e2e4193db5e"])


class PullPatch(Request):
    """What is to change of a pull request; fields left out stay as they are."""

    head_sha: Omissible[Word] = Field(
        default=None,
        description=_SHA,
        examples=["6dcb09b5b57875f334f61aebed695e2e4193db5e"],
        json_schema_extra=never_null,
    )
    status: Omissible[PullStatus] = Field(
        default=None,
        description="Where to put it; `needs_verify` has it verified once more.",
        examples=["needs_verify"],
        json_schema_extra=never_null,
    )


class PullReply(Reply):
    """A pull request."""

    number: int = Field(description="Its number at the forge.", examples=[12])
    version: int = Field(description="Grows with every change; its `ETag`.", examples=[2])
    head_sha: str = Field(description=_SHA, examples=["6dcb09b5b57875f334f61aebed695e2e4193db5e"])
    status: PullStatus = Field(description="What is known of that commit.", examples=["verified"])
    attempt: int = Field(description="How often it was verified, or tried to be.", examples=[1])
    job_id: UUID | None = Field(description="The job that did, or does.", examples=[ID_EXAMPLE])


class PullPage(Reply):
    """One page of pull requests, by number."""

    items: list[PullReply] = Field(description="The pull requests of this page.")
    next_cursor: str | None = Field(default=None, description=_PAGE, examples=[_CURSOR])


class IssueCreate(Request):
    """An issue to solve (``POST /repos/{id}/issues``); of a known one, what is new of it."""

    number: Number = Field(description="Its number at the forge.", examples=[7])
    title: Sentence = Field(description="Its title.", examples=["Totals are off by one"])
    score: Score = Field(default=0.0, description=_SCORE, examples=[80.0])
    solutions_wanted: Solutions = Field(default=1, description=_WANTED, examples=[1])


class IssuePatch(Request):
    """What is to change of an issue; fields left out stay as they are."""

    title: Omissible[Sentence] = Field(
        default=None,
        description="Its title.",
        examples=["Totals are off by one"],
        json_schema_extra=never_null,
    )
    score: Omissible[Score] = Field(
        default=None, description=_SCORE, examples=[80.0], json_schema_extra=never_null
    )
    solutions_wanted: Omissible[Solutions] = Field(
        default=None, description=_WANTED, examples=[2], json_schema_extra=never_null
    )
    solutions_done: Omissible[Solutions] = Field(
        default=None,
        description="How many it has.",
        examples=[0],
        json_schema_extra=never_null,
    )
    status: Omissible[IssueStatus] = Field(
        default=None,
        description="Where to put it, with all its tries and without a wait.",
        examples=["open"],
        json_schema_extra=never_null,
    )
    next_try_at: Timestamp | None = Field(
        default=None,
        description="Not before this time; null lifts the wait.",
        examples=["2026-03-01T10:00:00Z"],
    )


class IssueReply(Reply):
    """An issue."""

    number: int = Field(description="Its number at the forge.", examples=[7])
    version: int = Field(description="Grows with every change; its `ETag`.", examples=[2])
    title: str = Field(description="Its title.", examples=["Totals are off by one"])
    score: float = Field(description=_SCORE, examples=[80.0])
    solutions_wanted: int = Field(description=_WANTED, examples=[1])
    solutions_done: int = Field(description="How many it has.", examples=[0])
    status: IssueStatus = Field(description="How far it is solved.", examples=["open"])
    failures: int = Field(description="Failures in a row.", examples=[0])
    next_try_at: Moment | None = Field(
        description="When it is tried again after a failure.", examples=[None]
    )


class IssuePage(Reply):
    """One page of issues, by number."""

    items: list[IssueReply] = Field(description="The issues of this page.")
    next_cursor: str | None = Field(default=None, description=_PAGE, examples=[_CURSOR])


class RunReply(Reply):
    """A run of a repo."""

    id: UUID = Field(description="Its id (UUIDv7).", examples=[ID_EXAMPLE])
    kind: str = Field(
        description="`scout`, `fix_issue`, `issue_scout` or `spawn`.", examples=["spawn"]
    )
    status: RunStatus = Field(description="Whether it runs, or how it ended.", examples=["running"])
    job_id: UUID | None = Field(description="Its job.", examples=[ID_EXAMPLE])
    candidate_id: UUID | None = Field(
        description="The candidate that it carries.", examples=[ID_EXAMPLE]
    )
    issue_number: int | None = Field(description="The issue that it is to solve.", examples=[7])
    started_at: Moment = Field(description="When it began.", examples=["2026-03-01T09:30:00Z"])
    finished_at: Moment | None = Field(
        description="When it ended.", examples=["2026-03-01T09:45:00Z"]
    )


class RunPage(Reply):
    """One page of runs, newest first."""

    items: list[RunReply] = Field(description="The runs of this page.")
    next_cursor: str | None = Field(default=None, description=_PAGE, examples=[_CURSOR])
