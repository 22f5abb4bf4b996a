"""Repos: their settings, and what the chain does with them."""

from typing import Annotated

from pydantic import Field, JsonValue, StringConstraints

from app.repo import ExploreLevel
from app.wire.job_fields import ID_EXAMPLE
from app.wire.projects import JobDefaults, JobDefaultsReply
from app.wire.values import (
    OWNER_AND_NAME,
    Flag,
    Integer,
    Moment,
    Name,
    Omissible,
    Reply,
    Request,
    StandingReply,
    Text,
    Words,
    never_null,
)

CAP_MAX = 10_000
COOLDOWN_MAX_S = 30 * 86_400

Cap = Annotated[Integer, Field(ge=0, le=CAP_MAX)]
Cooldown = Annotated[Integer, Field(ge=0, le=COOLDOWN_MAX_S)]
GitHubName = Annotated[str, StringConstraints(max_length=200, pattern=OWNER_AND_NAME)]

_OBJECTIVE = "What a person wants done: it is all that is worked on, and bars explore and issues."
_FOCUS = "What is worked on without an objective; explore sets it. Blank is none."
_EXPLORE = "Whether ideas are scouted for and worked on."
_LEVEL = "How far a scout looks; it is told so."
_WATCH = "Whether pull requests are verified at every new commit."
_SOLVE = "Whether issues are solved, the highest score first."
_SCOUT = "Whether issues are looked for; always on, it starves the spawn behind it."
_CAP = "Runs that may start in a day of the time zone; verifying is no run."
_COOLDOWN = "Seconds of rest from the start of one run to the next dispatch."
_ZONE = "The time zone whose midnight begins the day of the cap."
_REQUIRED = "What a factory must offer to do its jobs."
_DEFAULTS = "How its jobs are submitted."
_GITHUB = "Its repository at GitHub; null if it is not read there."
_DEFAULTS_EXAMPLE = {"priority": "high", "timeout_s": 7200}


class RepoPut(Request):
    """All settings of a repo (``PUT /repos/{id}``); without ``focus`` it keeps the one it has."""

    enabled: Flag = Field(default=True, description="Whether the tick works on it.")
    objective: Text | None = Field(default=None, description=_OBJECTIVE, examples=["Bump deps"])
    focus: Text | None = Field(default=None, description=_FOCUS, examples=["Speed up the tests"])
    explore_enabled: Flag = Field(default=False, description=_EXPLORE)
    explore_level: ExploreLevel = Field(
        default=ExploreLevel.LOW, description=_LEVEL, examples=["max"]
    )
    pr_watching_enabled: Flag = Field(default=False, description=_WATCH)
    issue_solving_enabled: Flag = Field(default=False, description=_SOLVE)
    issue_scout_enabled: Flag = Field(default=False, description=_SCOUT)
    daily_run_cap: Cap = Field(default=10, description=_CAP)
    cooldown_s: Cooldown = Field(default=0, description=_COOLDOWN)
    timezone: Name = Field(default="UTC", description=_ZONE, examples=["Asia/Ho_Chi_Minh"])
    required_capabilities: Words = Field(
        default_factory=list, description=_REQUIRED, examples=[["docker"]]
    )
    job_defaults: JobDefaults = Field(
        default_factory=JobDefaults, description=_DEFAULTS, examples=[_DEFAULTS_EXAMPLE]
    )
    github: GitHubName | None = Field(default=None, description=_GITHUB, examples=["acme/shop"])


class RepoPatch(Request):
    """What is to change of a repo; fields left out stay as they are."""

    enabled: Omissible[Flag] = Field(
        default=None,
        description="Whether the tick works on it.",
        examples=[True],
        json_schema_extra=never_null,
    )
    objective: Text | None = Field(default=None, description=_OBJECTIVE, examples=["Bump deps"])
    focus: Text | None = Field(
        default=None,
        description="A focus of a person's; a candidate that was selected goes back to the queue.",
        examples=["Speed up the tests"],
    )
    explore_enabled: Omissible[Flag] = Field(
        default=None, description=_EXPLORE, examples=[True], json_schema_extra=never_null
    )
    explore_level: Omissible[ExploreLevel] = Field(
        default=None, description=_LEVEL, examples=["max"], json_schema_extra=never_null
    )
    pr_watching_enabled: Omissible[Flag] = Field(
        default=None, description=_WATCH, examples=[True], json_schema_extra=never_null
    )
    issue_solving_enabled: Omissible[Flag] = Field(
        default=None, description=_SOLVE, examples=[True], json_schema_extra=never_null
    )
    issue_scout_enabled: Omissible[Flag] = Field(
        default=None, description=_SCOUT, examples=[False], json_schema_extra=never_null
    )
    daily_run_cap: Omissible[Cap] = Field(
        default=None, description=_CAP, examples=[20], json_schema_extra=never_null
    )
    cooldown_s: Omissible[Cooldown] = Field(
        default=None, description=_COOLDOWN, examples=[600], json_schema_extra=never_null
    )
    timezone: Omissible[Name] = Field(
        default=None,
        description=_ZONE,
        examples=["Asia/Ho_Chi_Minh"],
        json_schema_extra=never_null,
    )
    required_capabilities: Omissible[Words] = Field(
        default=None, description=_REQUIRED, examples=[["docker"]], json_schema_extra=never_null
    )
    job_defaults: Omissible[JobDefaults] = Field(
        default=None,
        description=_DEFAULTS,
        examples=[_DEFAULTS_EXAMPLE],
        json_schema_extra=never_null,
    )
    github: GitHubName | None = Field(default=None, description=_GITHUB, examples=["acme/shop"])


class RepoReply(Reply):
    """A repo."""

    id: str = Field(description="Its id.", examples=["shop"])
    version: int = Field(description="Grows with every change; its `ETag`.", examples=[7])
    enabled: bool = Field(description="Whether the tick works on it.", examples=[True])
    objective: str | None = Field(description=_OBJECTIVE, examples=["Bump deps"])
    focus: str | None = Field(description=_FOCUS, examples=["Speed up the tests"])
    focus_candidate_id: str | None = Field(
        description="The candidate that the focus comes from, if from one.", examples=[ID_EXAMPLE]
    )
    explore_enabled: bool = Field(description=_EXPLORE, examples=[True])
    explore_level: ExploreLevel = Field(description=_LEVEL, examples=["max"])
    pr_watching_enabled: bool = Field(description=_WATCH, examples=[True])
    issue_solving_enabled: bool = Field(description=_SOLVE, examples=[True])
    issue_scout_enabled: bool = Field(description=_SCOUT, examples=[False])
    daily_run_cap: int = Field(description=_CAP, examples=[10])
    cooldown_s: int = Field(description=_COOLDOWN, examples=[600])
    timezone: str = Field(description=_ZONE, examples=["UTC"])
    last_run_at: Moment | None = Field(
        description="When its last run started.", examples=["2026-03-01T09:30:00Z"]
    )
    paused: StandingReply | None = Field(
        description="The pause it is under, if any.", examples=[None]
    )
    required_capabilities: list[str] = Field(description=_REQUIRED, examples=[["docker"]])
    job_defaults: JobDefaultsReply = Field(description=_DEFAULTS)
    github: str | None = Field(description=_GITHUB, examples=["acme/shop"])
    created_at: Moment = Field(description="When it was made.", examples=["2026-03-01T09:00:00Z"])
    updated_at: Moment = Field(
        description="When it last changed.", examples=["2026-03-01T09:30:00Z"]
    )


class RepoPage(Reply):
    """One page of repos, by id."""

    items: list[RepoReply] = Field(description="The repos of this page.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor` for the next page; null on the last.",
        examples=["InNob3Ai"],
    )


class TraceLine(Reply):
    """What one check of the chain came to."""

    check: str = Field(
        description="`explore`, `pr_watcher`, `issue_solving`, `issue_scout` or `spawn`.",
        examples=["issue_solving"],
    )
    outcome: str = Field(
        description="`dispatched`, `fell_through`, `blocked_by_objective`, `disabled`, `capped`, "
        "`nothing_to_do`, or `shadowed_by: ` and what took the cycle from it.",
        examples=["shadowed_by: verify_pr"],
    )
    why: str = Field(description="Why, in words.", examples=["#7, solution 1 of 1"])


class RepoCycle(Reply):
    """One cycle of a repo: what it dispatched, or why it was skipped, and what each check said."""

    repo_id: str = Field(description="The repo.", examples=["shop"])
    dispatched: str | None = Field(
        description="`scout`, `verify_pr`, `fix_issue`, `issue_scout`, `spawn`, or null.",
        examples=["fix_issue"],
    )
    job_id: str | None = Field(
        description="The job; null if none was submitted.", examples=[ID_EXAMPLE]
    )
    skipped: str | None = Field(
        description="`disabled`, `paused`, `run_active`, `cooldown` or `no_factory` if it was "
        "skipped whole.",
        examples=[None],
    )
    trace: list[TraceLine] = Field(description="A line for each check.")


class RepoError(Reply):
    """What went wrong with one repo; the tick went on."""

    repo_id: str = Field(description="The repo.", examples=["shop"])
    error: str = Field(description="What went wrong.", examples=["the forge was not read"])


class RepoTick(Reply):
    """What a tick over repos did (``POST /tick/repos``); of a skipped one only why."""

    skipped: str | None = Field(
        default=None,
        description="Why nothing was done: another tick is running, or the window was served.",
        examples=[None],
    )
    repos: list[RepoCycle] = Field(
        default_factory=list, description="A cycle for each enabled repo, by id."
    )
    errors: list[RepoError] = Field(
        default_factory=list, description="What went wrong with single repos."
    )


class RepoExplanation(Reply):
    """Why a repo did what it did, and what it would do now (``GET /explain/repos/{id}``)."""

    repo_id: str = Field(description="The repo.", examples=["shop"])
    last: dict[str, JsonValue] | None = Field(
        description="Its last cycle and when that was, `at`; null before the first.",
        examples=[{"at": "2026-03-01T09:30:00Z", "dispatched": "scout"}],
    )
    next: RepoCycle = Field(description="What a tick would do now, by the same code.")
