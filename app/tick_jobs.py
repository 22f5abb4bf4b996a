"""The jobs that the two ticks submit: what they are called, and how a tick finds them again.

A tick never runs an agent. It submits a job and reads the outcome on a later tick, so that what it
calls *processing* (a workflow) or *running* (a run of a repo) lasts from the submission to the end
of that job, whoever takes it and however often.

:func:`ending` is the one place that says how such a job ended. A job that ended badly is one
failure, whatever attempts the queue gave it; one that somebody cancelled is a word to a person; one
that no registered factory could ever take, and that nobody has begun, is *withdrawn*: no failure,
so that work which nobody can do never holds a slot, a clone or a gate.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from app.fleet import CostClass, Factory, JobClass, JobRecord, JobState, Json, JsonObject, Priority

_OF_TICKS: Final = "\x1f"
"""Before the keys of ticks: no key that a caller can send begins like this."""


class JobKind(StrEnum):
    """What a tick's job is to do; also the ``stage`` of its payload."""

    IMPLEMENT = "implement"
    ADDRESS_REVIEW = "address_review"
    LOCAL_TEST = "local_test"
    POST_MERGE = "post_merge"
    UAT_TEST = "uat_test"
    PR_REVIEW = "pr_review"
    RUNBOOK = "runbook"
    SCOUT = "scout"
    VERIFY_PR = "verify_pr"
    FIX_ISSUE = "fix_issue"
    ISSUE_SCOUT = "issue_scout"
    SPAWN = "spawn"


class End(StrEnum):
    """How a tick's job ended; ``WITHDRAWN`` is for the tick to write, the others are found."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    MALFORMED = "malformed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefaults:
    """How the jobs of a project or a repo are submitted, unless the kind decides otherwise."""

    prefers_engine: str | None = None
    priority: Priority = Priority.NORMAL
    cost_class: CostClass = CostClass.LOW
    timeout_s: int = 4 * 3600
    attempts_max: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """A tick's job as the tick finds it.

    ``at_work`` is whether its fence is open: somebody has begun, and may come back even if the
    lease has lapsed. ``cancelled_by`` is the name on the event that cancelled it, if any.
    """

    state: JobState
    at_work: bool = False
    result: Json = None
    error: str | None = None
    cancelled_by: str | None = None
    finished_at: datetime | None = None

    @classmethod
    def of(cls, record: JobRecord, cancelled_by: str | None = None) -> "JobReport":
        """Read it off the stored job."""
        return cls(
            state=record.state,
            at_work=record.fence_open,
            result=record.result,
            error=record.error,
            cancelled_by=cancelled_by,
            finished_at=record.finished_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of a tick's job: of what kind, why (unless it went well), when, with what result."""

    end: End
    at: datetime
    why: str | None = None
    result: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """A result that is not what its kind of job has to bring; it fails that run."""

    why: str


def ending(job: JobReport | None, *, placeable: bool, now: datetime) -> Ending | None:
    """How the job ended, or None while it is unfinished.

    ``job`` is None if it is not stored any more: a failure, for its outcome is lost and a slot must
    not wait for it. ``placeable`` is false if every registered factory refuses it permanently.
    """
    if job is None:
        return Ending(end=End.FAILED, at=now, why="its job does not exist any more")
    at = job.finished_at or now
    match job.state:
        case JobState.SUCCEEDED:
            return _succeeded(job.result, at)
        case JobState.DEAD:
            return Ending(end=End.FAILED, at=at, why=job.error or "no error was reported")
        case JobState.CANCELLED:
            by = job.cancelled_by or "somebody"
            return Ending(end=End.CANCELLED, at=at, why=f"its job was cancelled by {by}")
        case _ if placeable or job.at_work:
            return None
        case _:
            return Ending(end=End.WITHDRAWN, at=now, why="no registered factory may ever take it")


def placeable(required: frozenset[str], factories: Iterable[Factory]) -> bool:
    """Whether any registered factory may ever take a job that requires this.

    Only a capability can be missing for good: a job is never kept away from the last factory that
    offers what it requires (:func:`app.eligibility.exclusion_stands`).
    """
    return any(required <= factory.offered for factory in factories)


def malformed(ended: Ending, complaint: Malformed) -> Ending:
    """Make a success that brought the wrong result the failure it is."""
    return Ending(end=End.MALFORMED, at=ended.at, why=complaint.why)


def class_of(required: frozenset[str], defaults: JobDefaults, lock: str | None) -> JobClass:
    """Make the class of a tick's job: what its owner requires and prefers, and the job's lock."""
    return JobClass(
        required=required,
        prefers_engine=defaults.prefers_engine,
        cost_class=defaults.cost_class,
        priority=defaults.priority,
        lock=lock,
    )


def dedupe_key(*parts: object) -> str:
    """Make the key under which a tick submits a job: one that nobody else can have taken."""
    return _OF_TICKS + ":".join(str(part) for part in parts)


def shown_key(key: str | None) -> str | None:
    """Return a job's dedupe key as people read it: without the mark of ticks."""
    return None if key is None else key.removeprefix(_OF_TICKS)


def text_of(value: Json) -> str | None:
    """Return a text that says something, without the blanks around it; None for all else."""
    return (value.strip() or None) if isinstance(value, str) else None


def number_of(value: Json) -> float | None:
    """Return a number that can be compared with others; None for all else, true and NaN too."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return None if value - value != 0 else value


def _succeeded(result: Json, at: datetime) -> Ending:
    if result is None:  # An agent that has nothing to say has still done its work.
        return Ending(end=End.SUCCEEDED, at=at, result={})
    if isinstance(result, dict):
        return Ending(end=End.SUCCEEDED, at=at, result=result)
    return Ending(end=End.MALFORMED, at=at, why="the result is not an object")
