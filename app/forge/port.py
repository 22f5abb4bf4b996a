"""What the tick over repos asks a forge: the port that GitHub implements, and what it answers.

Every answer is whole or there is none: a list of which a page is missing is never returned. Whoever
asks is told by :class:`ForgeSilent` why there is no answer and, if the forge said so, until when it
wants to be left alone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.pull import PullState


class ForgeSilent(Exception):  # noqa: N818 - "no answer now" is a finding, not a fault of ours
    """The forge gave no whole answer; ``until`` is how long it wants to be left alone."""

    def __init__(self, why: str, until: datetime | None = None) -> None:
        """Say why."""
        super().__init__(why)
        self.why = why
        self.until = until


@dataclass(frozen=True, slots=True, kw_only=True)
class PullFacts:
    """A pull request as the forge knows it; ``closes`` are the issues that it says it solves.

    ``strange``: it comes from a fork, and its author is nobody whom the repository knows.
    """

    number: int
    head_sha: str
    state: PullState
    title: str = ""
    closes: frozenset[int] = frozenset()
    strange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueFacts:
    """An issue as the forge knows it; ``score`` is what its label says, if one does."""

    number: int
    title: str
    open: bool
    labels: frozenset[str] = frozenset()
    score: float | None = None


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
