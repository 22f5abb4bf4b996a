"""What the ticks ask a forge: the port that GitHub implements, and what it answers.

Every answer is whole or there is none: a list of which a page is missing is never returned. Whoever
asks is told by :class:`ForgeSilent` why there is no answer and, if the forge said so, until when it
wants to be left alone.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class ForgeSilent(Exception):  # noqa: N818 - "no answer now" is a finding, not a fault of ours
    """The forge gave no whole answer; ``until`` is how long it wants to be left alone."""

    def __init__(self, why: str, until: datetime | None = None) -> None:
        """Say why."""
        super().__init__(why)
        self.why = why
        self.until = until


class PullState(StrEnum):
    """What became of a pull request; squashed and rebased ones are merged too."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"


class Verdict(StrEnum):
    """What the reviewers say, taken together."""

    PENDING = "pending"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFacts:
    """A pull request as the forge knows it; ``closes`` are the issues that it says it solves."""

    number: int
    head_sha: str
    state: PullState
    title: str = ""
    merged_at: datetime | None = None
    closed_by: str | None = None
    closes: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueFacts:
    """An issue as the forge knows it; ``score`` is what its label says, if one does."""

    number: int
    title: str
    open: bool
    labels: frozenset[str] = frozenset()
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFacts:
    """The reviewers' word on a pull request, when it was last changed, and what they wrote."""

    verdict: Verdict
    at: datetime | None = None
    comments: tuple[str, ...] = field(default=())


class Forge(Protocol):
    """A forge; a repository is named as there, ``owner/name``. All raise :class:`ForgeSilent`."""

    async def open_pulls(self, repository: str) -> tuple[PullFacts, ...]:
        """Read all open pull requests."""

    async def labelled_issues(self, repository: str) -> tuple[IssueFacts, ...]:
        """Read all open issues with the label that says they are for us."""

    async def pull(self, repository: str, number: int) -> PullFacts | None:
        """Read one pull request; None if there is none."""

    async def issue(self, repository: str, number: int) -> IssueFacts | None:
        """Read one issue; None if there is none."""

    async def pull_at(self, pr_url: str) -> PullFacts | None:
        """Read the pull request at an address; None if it is not one of this forge."""

    async def review_at(self, pr_url: str) -> ReviewFacts | None:
        """Read what the reviewers of a pull request say; None if it is not one of this forge."""
