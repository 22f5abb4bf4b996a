"""What may be done in a repo, and its runs, as people read it; and why it did what it did."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from app.coordinator.paging import Page, page_of, place
from app.coordinator.repo_book import no_such_repo
from app.errors import NotFound
from app.fleet import Json
from app.repo import Candidate, CandidateId, Issue, Pull, RepoId, Run, RunId
from app.store import repo_work, repos
from app.store.session import Connection, Database

T = TypeVar("T")

_INT_MAX = 2**31 - 1


async def list_candidates(
    db: Database, repo_id: RepoId, cursor: str | None, limit: int
) -> Page[Candidate]:
    """List the candidates of a repo, oldest first.

    Raises:
        NotFound: there is no such repo.
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _time_and_id)
    async with db.connection() as conn:
        await _check(conn, repo_id)
        all_ = await repo_work.candidates(conn, repo_id)
    found = [e for e in all_ if after is None or (e.created_at, e.id) > after]
    return page_of(found[: limit + 1], limit, lambda e: [e.created_at.isoformat(), str(e.id)])


async def list_pulls(db: Database, repo_id: RepoId, cursor: str | None, limit: int) -> Page[Pull]:
    """List the pull requests of a repo, by number.

    Raises:
        NotFound: there is no such repo.
        Invalid: the cursor is none of ours.
    """
    async with db.connection() as conn:
        await _check(conn, repo_id)
        all_ = await repo_work.pulls(conn, repo_id)
    return _by_number(all_, cursor, limit, lambda pull: pull.number)


async def list_issues(db: Database, repo_id: RepoId, cursor: str | None, limit: int) -> Page[Issue]:
    """List the issues of a repo, by number.

    Raises:
        NotFound: there is no such repo.
        Invalid: the cursor is none of ours.
    """
    async with db.connection() as conn:
        await _check(conn, repo_id)
        all_ = await repo_work.issues(conn, repo_id)
    return _by_number(all_, cursor, limit, lambda issue: issue.number)


async def list_runs(db: Database, repo_id: RepoId, cursor: str | None, limit: int) -> Page[Run]:
    """List the runs of a repo, newest first.

    Raises:
        NotFound: there is no such repo.
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _run_id)
    async with db.connection() as conn:
        await _check(conn, repo_id)
        runs = await repo_work.runs_page(conn, repo_id, after=after, limit=limit + 1)
    return page_of(runs, limit, lambda run: str(run.id))


async def get_candidate(db: Database, repo_id: RepoId, id_: CandidateId) -> Candidate:
    """Read a candidate.

    Raises:
        NotFound: there is none.
    """
    async with db.connection() as conn:
        return await read_candidate(conn, repo_id, id_)


async def get_pull(db: Database, repo_id: RepoId, number: int) -> Pull:
    """Read a pull request.

    Raises:
        NotFound: there is none.
    """
    async with db.connection() as conn:
        return await read_pull(conn, repo_id, number)


async def get_issue(db: Database, repo_id: RepoId, number: int) -> Issue:
    """Read an issue.

    Raises:
        NotFound: there is none.
    """
    async with db.connection() as conn:
        return await read_issue(conn, repo_id, number)


async def read_candidate(conn: Connection, repo_id: RepoId, id_: CandidateId) -> Candidate:
    """Read a candidate in the caller's transaction.

    Raises:
        NotFound: there is none.
    """
    all_ = {each.id: each for each in await repo_work.candidates(conn, repo_id)}
    return found(all_.get(id_), "candidate", id_)


async def read_pull(conn: Connection, repo_id: RepoId, number: int) -> Pull:
    """Read a pull request in the caller's transaction.

    Raises:
        NotFound: there is none.
    """
    all_ = {each.number: each for each in await repo_work.pulls(conn, repo_id)}
    return found(all_.get(number), "pull request", number)


async def read_issue(conn: Connection, repo_id: RepoId, number: int) -> Issue:
    """Read an issue in the caller's transaction.

    Raises:
        NotFound: there is none.
    """
    all_ = {each.number: each for each in await repo_work.issues(conn, repo_id)}
    return found(all_.get(number), "issue", number)


def found(item: T | None, noun: str, key: object) -> T:
    """Return what was found.

    Raises:
        NotFound: nothing was.
    """
    if item is None:
        detail = f"There is no {noun} {key} in this repo."
        raise NotFound(detail)
    return item


async def _check(conn: Connection, repo_id: RepoId) -> None:
    if not await repos.by_ids(conn, [repo_id]):
        raise no_such_repo(repo_id)


def _by_number(
    all_: Sequence[T], cursor: str | None, limit: int, number: Callable[[T], int]
) -> Page[T]:
    after = place(cursor, _number)
    rest = [each for each in all_ if after is None or number(each) > after]
    return page_of(rest[: limit + 1], limit, number)


def _number(key: Json) -> int:
    if type(key) is not int:
        raise TypeError
    if not 0 <= key <= _INT_MAX:
        raise ValueError
    return key


def _run_id(key: Json) -> RunId:
    if not isinstance(key, str):
        raise TypeError
    return RunId(UUID(key))


def _time_and_id(key: Json) -> tuple[datetime, UUID]:
    if not isinstance(key, list):
        raise TypeError
    at, id_ = key
    return (datetime.fromisoformat(str(at)).astimezone(UTC), UUID(str(id_)))
