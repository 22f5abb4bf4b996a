"""The nouns of the repo feature chain: a repo, what may be done in it, and its runs.

Which one feature a repo dispatches is decided in :mod:`app.feature_chain`; what the beginning and
the end of a dispatched job change is in :mod:`app.runs`.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NewType
from uuid import UUID

from app.fleet import JobId, Standing
from app.tick_jobs import JobDefaults, JobKind

RepoId = NewType("RepoId", str)
CandidateId = NewType("CandidateId", UUID)
PullId = NewType("PullId", UUID)
RunId = NewType("RunId", UUID)


class ExploreLevel(StrEnum):
    """How far a scout looks; it is told so, and the order of the chain does not change."""

    LOW = "low"
    MEDIUM = "medium"
    MAX = "max"


class CandidateStatus(StrEnum):
    """Where an idea of a scout is: at most one of a repo is selected at a time."""

    QUEUED = "queued"
    SELECTED = "selected"
    DONE = "done"
    REJECTED = "rejected"


class PullStatus(StrEnum):
    """What is known of a pull request at its newest commit."""

    NEEDS_VERIFY = "needs_verify"
    VERIFYING = "verifying"
    VERIFIED = "verified"
    FAILED = "failed"


class IssueStatus(StrEnum):
    """How far an issue is solved."""

    OPEN = "open"
    IN_PROGRESS = "in_progress"
    SOLVED = "solved"
    NEEDS_HUMAN = "needs_human"


class RunStatus(StrEnum):
    """Whether a run is under way, or how it ended."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repo:
    """A repo and its settings: all features are off until somebody turns them on.

    ``focus_candidate_id`` is the candidate whose focus the repo's focus is, if it is one's.
    """

    id: RepoId
    version: int = 1
    enabled: bool = True
    objective: str | None = None
    focus: str | None = None
    focus_candidate_id: CandidateId | None = None
    explore_enabled: bool = False
    explore_level: ExploreLevel = ExploreLevel.LOW
    pr_watching_enabled: bool = False
    issue_solving_enabled: bool = False
    issue_scout_enabled: bool = False
    daily_run_cap: int = 10
    cooldown_s: int = 0
    timezone: str = "UTC"
    last_run_at: datetime | None = None
    paused: Standing | None = None
    required_capabilities: frozenset[str] = frozenset()
    job_defaults: JobDefaults = field(default_factory=JobDefaults)
    github: str | None = None

    @property
    def lock(self) -> str:
        """The lock of its runs, which is the clone key of projects that name it, too."""
        return f"repo:{self.id}"

    @property
    def standing_objective(self) -> str | None:
        """The objective a human set; a blank one is none."""
        return (self.objective or "").strip() or None

    @property
    def present_focus(self) -> str | None:
        """What it works on without an objective; a blank focus is none."""
        return (self.focus or "").strip() or None

    def cools_until(self, now: datetime) -> datetime | None:
        """Until when it rests after its last run, or None if it does not rest any more."""
        if self.last_run_at is None:
            return None
        until = self.last_run_at + timedelta(seconds=self.cooldown_s)
        return until if now < until else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An idea of what to work on, found by a scout or brought by people."""

    id: CandidateId
    focus: str
    score: float
    created_at: datetime
    status: CandidateStatus = CandidateStatus.QUEUED
    failures: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A pull request; ``attempt`` counts its verify jobs and only grows.

    ``id`` is new whenever it is told of anew, as after it was closed, or removed: so its attempts
    are told from those of before, which begin at the same number.
    """

    id: PullId
    number: int
    head_sha: str
    status: PullStatus = PullStatus.NEEDS_VERIFY
    attempt: int = 0
    job_id: JobId | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue to solve, more than once if several solutions are wanted."""

    number: int
    title: str
    score: float
    solutions_wanted: int = 1
    solutions_done: int = 0
    status: IssueStatus = IssueStatus.OPEN
    failures: int = 0
    next_try_at: datetime | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One dispatched run of a repo; a verify job is none."""

    id: RunId
    kind: JobKind
    started_at: datetime
    status: RunStatus = RunStatus.RUNNING
    candidate_id: CandidateId | None = None
    issue_number: int | None = None
    job_id: JobId | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoState:
    """One reading of a repo and of everything its chain looks at.

    ``runs_today`` counts the runs started since :func:`app.day.day_start`. ``placeable``
    is false if every registered factory refuses its jobs permanently. ``forge_silent`` says why the
    forge could not be read whole, if it could not: a pull request that solves an issue may be in
    what is missing, so that no issue is dispatched meanwhile.
    """

    repo: Repo
    candidates: tuple[Candidate, ...] = ()
    pulls: tuple[Pull, ...] = ()
    issues: tuple[Issue, ...] = ()
    run_active: bool = False
    runs_today: int = 0
    placeable: bool = True
    forge_silent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """The one job a repo sends out, and the thing it is about, which its kind tells."""

    kind: JobKind
    prompt: str
    focus: str | None = None
    candidate: Candidate | None = None
    pull: Pull | None = None
    issue: Issue | None = None

    @property
    def is_run(self) -> bool:
        """Whether it is a run, which is recorded, counted and cooled down after."""
        return self.kind is not JobKind.VERIFY_PR
