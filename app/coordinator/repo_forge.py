"""What the forge says of a repo: read before and outside of transactions, then taken in whole.

What is missing in a list is asked for by itself before it counts as closed, since a list may shift
between two of its pages. If the forge gives no whole answer, nothing of it is taken in; the chain
is told (:class:`app.repo.RepoState`), and no job is charged with it.

Asking takes its time, and meanwhile the forge may deliver what is newer than its answer. So what
was changed here since is left as it is: a pull request that was closed a moment ago must not be
opened again by a list from before. The next tick asks anew.

To verify a pull request is to run its code on a factory. So what a stranger proposes from a fork is
not taken up by itself: it is verified as it was when somebody brought it here, and anew when its
next commit is brought.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from app import runs
from app.coordinator.repo_book import RepoBook
from app.forge.port import Forge, ForgeSilent, IssueFacts, PullFacts
from app.pull import PullState
from app.repo import Issue, IssueStatus, Pull, PullId, Repo
from app.runtime.ids import new_id

ASKED_MAX: Final = 50
"""How many missing ones are asked for in a tick; the others are asked for in the next."""

UNSOLVED: Final = frozenset({IssueStatus.OPEN, IssueStatus.IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What was stored of a repo when the forge was asked, pull requests and issues by number."""

    repo: Repo
    pulls: Mapping[int, Pull] = field(default_factory=dict)
    issues: Mapping[int, Issue] = field(default_factory=dict)

    @property
    def unsolved(self) -> frozenset[int]:
        """The issues that still matter."""
        return frozenset(each.number for each in self.issues.values() if each.status in UNSOLVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What was seen of a repo at the forge; ``silent`` says why nothing was."""

    pulls: tuple[PullFacts, ...] = ()
    issues: tuple[IssueFacts, ...] = ()
    silent: str | None = None
    known: Known | None = None


async def look(forge: Forge | None, known: Known) -> Sight:
    """Read what the features of a repo need to know from the forge."""
    repo = known.repo
    wanted = repo.pr_watching_enabled or repo.issue_solving_enabled
    if forge is None or repo.github is None or not repo.enabled or not wanted:
        return Sight()
    try:
        pulls = await _pulls(forge, repo.github, frozenset(known.pulls))
        issues: tuple[IssueFacts, ...] = ()
        if repo.issue_solving_enabled:
            issues = await _issues(forge, repo.github, known.unsolved)
    except ForgeSilent as silent:
        until = "" if silent.until is None else f", not before {silent.until:%Y-%m-%dT%H:%M:%SZ}"
        return Sight(silent=f"the forge was not read: {silent.why}{until}")
    return Sight(pulls=pulls, issues=issues, known=known)


def take_in(book: RepoBook, sight: Sight) -> None:
    """Write what was seen into the book of a repo, but where that was changed meanwhile."""
    known = sight.known
    if sight.silent is not None or known is None:
        return
    there = book.read
    pulls = [
        each for each in sight.pulls if there.pulls.get(each.number) == known.pulls.get(each.number)
    ]
    for pull in pulls:
        pull_seen(book, pull)
    for issue in sight.issues:
        if there.issues.get(issue.number) == known.issues.get(issue.number):
            issue_seen(book, issue)
    _count_pulls(book, pulls)


def pull_seen(book: RepoBook, seen: PullFacts) -> None:
    """Take note of a pull request: of its newest commit, or that it is over."""
    known = book.pulls.get(seen.number)
    if seen.state is not PullState.OPEN:
        book.pulls.pop(seen.number, None)
    elif seen.strange:
        return
    elif known is not None:
        book.pulls[seen.number] = runs.pull_seen(known, seen.head_sha)
    elif book.repo.pr_watching_enabled:
        new = Pull(id=PullId(new_id()), number=seen.number, head_sha=seen.head_sha)
        book.pulls[seen.number] = new


def issue_seen(book: RepoBook, seen: IssueFacts) -> None:
    """Take note of an issue; how far it is solved stays, unless it is over."""
    known = book.issues.get(seen.number)
    if known is None:
        if seen.open:
            new = Issue(number=seen.number, title=seen.title, score=seen.score or 0.0)
            book.issues[seen.number] = new
        return
    score = known.score if seen.score is None else seen.score
    issue = replace(known, title=seen.title or known.title, score=score)
    if not seen.open and issue.status in UNSOLVED:
        issue = replace(issue, status=IssueStatus.SOLVED)
    elif seen.open and _opened_again(issue):
        issue = replace(issue, status=IssueStatus.OPEN)
    book.issues[seen.number] = issue


def _opened_again(issue: Issue) -> bool:
    return issue.status is IssueStatus.SOLVED and issue.solutions_done < issue.solutions_wanted


def _count_pulls(book: RepoBook, pulls: Iterable[PullFacts]) -> None:
    """Let open pull requests that say they solve an issue count as its solutions, at least.

    Not while a run is at that issue: its own pull request counts when its job succeeds.
    """
    running = None if book.run is None else book.run.issue_number
    counted: dict[int, int] = {}
    for pull in pulls:
        if pull.state is PullState.OPEN and not pull.strange:
            for number in pull.closes:
                counted[number] = counted.get(number, 0) + 1
    for number, count in counted.items():
        issue = book.issues.get(number)
        if issue is not None and number != running and count > issue.solutions_done:
            enough = count >= issue.solutions_wanted and issue.status in UNSOLVED
            status = IssueStatus.SOLVED if enough else issue.status
            book.issues[number] = replace(issue, solutions_done=count, status=status)


async def _pulls(forge: Forge, github: str, known: frozenset[int]) -> tuple[PullFacts, ...]:
    seen: Mapping[int, PullFacts] = {each.number: each for each in await forge.open_pulls(github)}
    missing: list[PullFacts] = []
    for number in sorted(known - seen.keys())[:ASKED_MAX]:
        pull = await forge.pull(github, number)
        if pull is not None:
            missing.append(pull)
    return (*seen.values(), *missing)


async def _issues(forge: Forge, github: str, unsolved: frozenset[int]) -> tuple[IssueFacts, ...]:
    listed = await forge.labelled_issues(github)
    seen: Mapping[int, IssueFacts] = {each.number: each for each in listed}
    missing: list[IssueFacts] = []
    for number in sorted(unsolved - seen.keys())[:ASKED_MAX]:
        issue = await forge.issue(github, number)
        if issue is not None:
            missing.append(issue)
    return (*seen.values(), *missing)
