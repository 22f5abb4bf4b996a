"""The book of a repo: everything of it read under its lock, changed as values, written back.

Whoever changes anything of a repo opens its book, so that one thing happens to a repo at a time and
every decision sees all that is there. Only what changed is written, over the versions that were
read.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from app import feature_chain, runs
from app.day import day_start
from app.errors import NotFound
from app.fleet import Factory
from app.repo import (
    Candidate,
    CandidateId,
    CandidateStatus,
    Issue,
    Pull,
    Repo,
    RepoId,
    RepoState,
    Run,
)
from app.store import offers, repo_work, repos
from app.store.retrying import Moved
from app.store.session import Connection
from app.tick_jobs import placeable

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class RepoBook:
    """A repo and all that its chain looks at, as it was read and as it is to be."""

    now: datetime
    factories: tuple[Factory, ...]
    repo: Repo
    candidates: dict[CandidateId, Candidate]
    pulls: dict[int, Pull]
    issues: dict[int, Issue]
    run: Run | None
    read: "_Read"

    async def state(self, conn: Connection, forge_silent: str | None = None) -> RepoState:
        """Show it to the chain, with the runs of the repo's present day."""
        since = day_start(self.now, ZoneInfo(self.repo.timezone))
        return RepoState(
            repo=self.repo,
            candidates=tuple(self.candidates.values()),
            pulls=tuple(self.pulls.values()),
            issues=tuple(self.issues.values()),
            run_active=self.run is not None,
            runs_today=await repo_work.runs_since(conn, self.repo.id, since),
            placeable=placeable(self.repo.required_capabilities, self.factories),
            forge_silent=forge_silent,
        )

    def select(self, candidate: Candidate) -> None:
        """Make a candidate's focus the repo's."""
        self.repo, chosen = feature_chain.select(self.repo, candidate)
        self.candidates[chosen.id] = chosen

    def put_candidate(self, candidate: Candidate) -> None:
        """Take a candidate as it is now; the repo's focus goes with it if that was its."""
        self.candidates[candidate.id] = candidate
        self.repo = runs.focus_cleared(self.repo, candidate)

    def set_focus(self, focus: str | None) -> None:
        """Give the repo a focus that is a person's; what was selected goes back to the queue."""
        for each in list(self.candidates.values()):
            self.candidates[each.id] = runs.deselected(each)
        self.repo = replace(self.repo, focus=focus, focus_candidate_id=None)

    def drop_candidate(self, candidate_id: CandidateId) -> None:
        """Forget a candidate; the repo's focus goes with it if that was its."""
        candidate = self.candidates.pop(candidate_id)
        let_go = replace(candidate, status=CandidateStatus.REJECTED)
        self.repo = runs.focus_cleared(self.repo, let_go)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    repo: Repo
    candidates: dict[CandidateId, Candidate]
    pulls: dict[int, Pull]
    issues: dict[int, Issue]


async def open_book(conn: Connection, repo_id: RepoId) -> RepoBook:
    """Lock a repo and read all of it.

    Raises:
        NotFound: there is no such repo.
    """
    if not await repos.lock(conn, repo_id):
        raise no_such_repo(repo_id)
    # Read after the lock was got: each statement sees what was committed before it.
    record = (await repos.by_ids(conn, [repo_id]))[repo_id]
    offered = await offers.read(conn)
    candidates = {each.id: each for each in await repo_work.candidates(conn, repo_id)}
    pulls = {each.number: each for each in await repo_work.pulls(conn, repo_id)}
    issues = {each.number: each for each in await repo_work.issues(conn, repo_id)}
    return RepoBook(
        now=offered.now,
        factories=offered.factories,
        repo=record.repo,
        candidates=candidates,
        pulls=pulls,
        issues=issues,
        run=await repo_work.active_run(conn, repo_id),
        read=_Read(
            repo=record.repo, candidates=dict(candidates), pulls=dict(pulls), issues=dict(issues)
        ),
    )


async def write_book(conn: Connection, book: RepoBook) -> None:
    """Write what changed of a repo; runs and jobs are written as they happen.

    Raises:
        Moved: something changed since it was read.
    """
    if book.repo != book.read.repo and not await repos.write(conn, book.repo):
        raise Moved
    await _write_candidates(conn, book)
    await _write_pulls(conn, book)
    await _write_issues(conn, book)


async def in_book(conn: Connection, repo_id: RepoId, act: Callable[[RepoBook], T]) -> T:
    """Open the book of a repo, let ``act`` change it, and write what it changed.

    Raises:
        NotFound: there is no such repo.
        Moved: something changed since it was read.
    """
    book = await open_book(conn, repo_id)
    done = act(book)
    await write_book(conn, book)
    return done


def no_such_repo(repo_id: RepoId) -> NotFound:
    """Make the refusal."""
    return NotFound(f"There is no repo {repo_id}.")


async def _write_candidates(conn: Connection, book: RepoBook) -> None:
    before, after = book.read.candidates, book.candidates
    for gone in before.keys() - after.keys():
        await repo_work.remove_candidate(conn, gone)
    fresh = [each for each in after.values() if each.id not in before]
    await repo_work.add_candidates(conn, book.repo.id, fresh)
    changed = [each for each in after.values() if each.id in before and each != before[each.id]]
    # One at most is selected, at every moment: who lets go is written first.
    for each in sorted(changed, key=lambda each: each.status is CandidateStatus.SELECTED):
        await repo_work.write_candidate(conn, each)


async def _write_pulls(conn: Connection, book: RepoBook) -> None:
    before, after = book.read.pulls, book.pulls
    for gone in before.keys() - after.keys():
        await repo_work.remove_pull(conn, book.repo.id, gone)
    for each in after.values():
        if each.number not in before:
            await repo_work.add_pull(conn, book.repo.id, each)
        elif each != before[each.number]:
            await repo_work.write_pull(conn, book.repo.id, each)


async def _write_issues(conn: Connection, book: RepoBook) -> None:
    before, after = book.read.issues, book.issues
    for gone in before.keys() - after.keys():
        await repo_work.remove_issue(conn, book.repo.id, gone)
    for each in after.values():
        if each.number not in before:
            await repo_work.add_issue(conn, book.repo.id, each)
        elif each != before[each.number]:
            await repo_work.write_issue(conn, book.repo.id, each)
