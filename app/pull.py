"""What a forge says about a pull request: merged or closed, and what reviewers think of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.workflow import Review


class PullState(StrEnum):
    """Where a pull request is in its life."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The newest verdict of its reviewers, when it was given, and what they remarked."""

    review: Review
    at: datetime
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PullNews:
    """A pull request as the forge shows it now.

    ``ended_at`` and ``ended_by`` say when and by whom it was merged or closed, if that is known.
    """

    state: PullState
    ended_at: datetime | None = None
    ended_by: str | None = None
    verdict: Verdict | None = None
