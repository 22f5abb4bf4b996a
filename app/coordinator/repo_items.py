"""What may be done in a repo, as people bring and change it: candidates, pull requests, issues.

All of it goes through the repo's book, so that a candidate, the repo's focus and a tick never
disagree. A person's word on a status comes with all tries anew.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from app import runs
from app.coordinator.edit import UNSET, Unset
from app.coordinator.repo_book import RepoBook, in_book
from app.coordinator.repo_reads import found, read_candidate, read_issue, read_pull
from app.errors import Conflict, VersionMismatch
from app.repo import (
    Candidate,
    CandidateId,
    CandidateStatus,
    Issue,
    IssueStatus,
    Pull,
    PullId,
    PullStatus,
    RepoId,
)
from app.runtime.ids import new_id
from app.store.retrying import settled, settled_within
from app.store.session import Connection, Database

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought(Generic[T]):
    """Something of a repo as it now stands, and whether it is new."""

    item: T
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePatch:
    """What to change of a candidate."""

    focus: str | Unset = UNSET
    score: float | Unset = UNSET
    status: CandidateStatus | Unset = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class PullPatch:
    """What to change of a pull request."""

    head_sha: str | Unset = UNSET
    status: PullStatus | Unset = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuePatch:
    """What to change of an issue."""

    title: str | Unset = UNSET
    score: float | Unset = UNSET
    solutions_wanted: int | Unset = UNSET
    solutions_done: int | Unset = UNSET
    status: IssueStatus | Unset = UNSET
    next_try_at: datetime | Unset | None = UNSET


# ---------------------------------------------------------------------------- bring


async def add_candidate(
    conn: Connection, repo_id: RepoId, focus: str, score: float
) -> Brought[Candidate]:
    """Queue an idea.

    Raises:
        NotFound: there is no such repo.
    """

    def act(book: RepoBook) -> Brought[Candidate]:
        id_ = CandidateId(new_id())
        new = Candidate(id=id_, focus=focus, score=score, created_at=book.now)
        book.candidates[id_] = new
        return Brought(item=new, created=True)

    return await settled_within(conn, lambda: in_book(conn, repo_id, act))


async def bring_pull(
    conn: Connection, repo_id: RepoId, number: int, head_sha: str
) -> Brought[Pull]:
    """Tell of a pull request; of one that is known, of its newest commit.

    Raises:
        NotFound: there is no such repo.
    """

    def act(book: RepoBook) -> Brought[Pull]:
        known = book.pulls.get(number)
        if known is None:
            book.pulls[number] = Pull(id=PullId(new_id()), number=number, head_sha=head_sha)
        else:
            book.pulls[number] = runs.pull_seen(known, head_sha)
        return Brought(item=book.pulls[number], created=known is None)

    async def once() -> Brought[Pull]:
        brought = await in_book(conn, repo_id, act)
        return replace(brought, item=await read_pull(conn, repo_id, number))

    return await settled_within(conn, once)


async def bring_issue(
    conn: Connection, repo_id: RepoId, number: int, patch: IssuePatch
) -> Brought[Issue]:
    """Tell of an issue; of one that is known, what is new of it.

    Raises:
        NotFound: there is no such repo.
    """

    def act(book: RepoBook) -> Brought[Issue]:
        known = book.issues.get(number)
        blank = Issue(number=number, title="", score=0.0)
        book.issues[number] = _patched_issue(known or blank, patch)
        return Brought(item=book.issues[number], created=known is None)

    async def once() -> Brought[Issue]:
        brought = await in_book(conn, repo_id, act)
        return replace(brought, item=await read_issue(conn, repo_id, number))

    return await settled_within(conn, once)


# ---------------------------------------------------------------------------- change


async def patch_candidate(
    db: Database, repo_id: RepoId, id_: CandidateId, patch: CandidatePatch, *, if_match: int
) -> Candidate:
    """Change a candidate at version ``if_match``.

    Raises:
        NotFound: there is no such candidate.
        VersionMismatch: it is at another version.
        Conflict: it was to be selected while another is.
        LostRace: others kept changing it.
    """

    def act(book: RepoBook) -> None:
        known = found(book.candidates.get(id_), "candidate", id_)
        _check_version(known.version, if_match)
        candidate = replace(
            known, focus=_or(patch.focus, known.focus), score=_or(patch.score, known.score)
        )
        if not isinstance(patch.status, Unset):
            candidate = runs.candidate_put(candidate, patch.status)
        _put_candidate(book, candidate)

    async def once(conn: Connection) -> Candidate:
        await in_book(conn, repo_id, act)
        return await read_candidate(conn, repo_id, id_)

    return await settled(db, once)


async def patch_pull(
    db: Database, repo_id: RepoId, number: int, patch: PullPatch, *, if_match: int
) -> Pull:
    """Change a pull request at version ``if_match``.

    Raises:
        NotFound: there is no such pull request.
        VersionMismatch: it is at another version.
        Conflict: its status cannot be put to verifying by hand.
        LostRace: others kept changing it.
    """

    def act(book: RepoBook) -> None:
        known = found(book.pulls.get(number), "pull request", number)
        _check_version(known.version, if_match)
        pull = runs.pull_seen(known, _or(patch.head_sha, known.head_sha))
        if patch.status is PullStatus.VERIFYING and pull.status is not PullStatus.VERIFYING:
            detail = "A pull request is verifying while its job is; put it to needs_verify."
            raise Conflict(detail)
        book.pulls[number] = replace(pull, status=_or(patch.status, pull.status))

    async def once(conn: Connection) -> Pull:
        await in_book(conn, repo_id, act)
        return await read_pull(conn, repo_id, number)

    return await settled(db, once)


async def patch_issue(
    db: Database, repo_id: RepoId, number: int, patch: IssuePatch, *, if_match: int
) -> Issue:
    """Change an issue at version ``if_match``.

    Raises:
        NotFound: there is no such issue.
        VersionMismatch: it is at another version.
        LostRace: others kept changing it.
    """

    def act(book: RepoBook) -> None:
        known = found(book.issues.get(number), "issue", number)
        _check_version(known.version, if_match)
        book.issues[number] = _patched_issue(known, patch)

    async def once(conn: Connection) -> Issue:
        await in_book(conn, repo_id, act)
        return await read_issue(conn, repo_id, number)

    return await settled(db, once)


# ---------------------------------------------------------------------------- what they share


def _put_candidate(book: RepoBook, candidate: Candidate) -> None:
    if candidate.status is not CandidateStatus.SELECTED:
        book.put_candidate(candidate)
        return
    others = (each for each in book.candidates.values() if each.id != candidate.id)
    other = next((each for each in others if each.status is CandidateStatus.SELECTED), None)
    if other is not None:
        detail = f"The candidate {other.id} is selected; put it elsewhere first."
        raise Conflict(detail, candidate_id=str(other.id))
    book.select(candidate)


def _patched_issue(known: Issue, patch: IssuePatch) -> Issue:
    issue = replace(
        known,
        title=_or(patch.title, known.title),
        score=_or(patch.score, known.score),
        solutions_wanted=_or(patch.solutions_wanted, known.solutions_wanted),
        solutions_done=_or(patch.solutions_done, known.solutions_done),
    )
    if not isinstance(patch.status, Unset):
        issue = runs.issue_put(issue, patch.status)
    elif issue.status is IssueStatus.SOLVED and known.solutions_wanted < issue.solutions_wanted:
        # More solutions are wanted of it than it has.
        issue = runs.issue_put(issue, IssueStatus.IN_PROGRESS)
    if not isinstance(patch.next_try_at, Unset):
        issue = replace(issue, next_try_at=patch.next_try_at)
    return issue


def _or(new: T | Unset, old: T) -> T:
    return old if isinstance(new, Unset) else new


def _check_version(present: int, if_match: int | None) -> None:
    if if_match is not None and present != if_match:
        detail = f"It is at version {present}."
        raise VersionMismatch(detail, current_version=present)
