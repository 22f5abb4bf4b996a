"""Repos as people set them up: put, read, listed, changed, paused, deleted.

A PUT says all settings, but one without ``focus`` keeps the focus, and what happened stays: pause,
last run, candidates, pull requests, issues and runs. A focus that a person gives replaces one that
came from a candidate, which goes back to the queue.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from app.coordinator.cancel import cancel_once
from app.coordinator.edit import UNSET, Unset
from app.coordinator.moving import reading_of
from app.coordinator.paging import Page, page_of, place
from app.coordinator.repo_book import RepoBook, no_such_repo, open_book, write_book
from app.coordinator.standing_until import ahead
from app.errors import Invalid, NotFound, VersionMismatch
from app.fleet import JobId, Json, Principal, Standing
from app.repo import ExploreLevel, PullStatus, Repo, RepoId
from app.store import repos
from app.store.repos import RepoRecord
from app.store.retrying import Moved, settled
from app.store.session import Connection, Database
from app.tick_jobs import JobDefaults

__all__ = ["RepoPatch", "RepoRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoPatch:
    """What to change of a repo; a field that is not named stays as it is."""

    enabled: bool | Unset = UNSET
    objective: str | Unset | None = UNSET
    focus: str | Unset | None = UNSET
    explore_enabled: bool | Unset = UNSET
    explore_level: ExploreLevel | Unset = UNSET
    pr_watching_enabled: bool | Unset = UNSET
    issue_solving_enabled: bool | Unset = UNSET
    issue_scout_enabled: bool | Unset = UNSET
    daily_run_cap: int | Unset = UNSET
    cooldown_s: int | Unset = UNSET
    timezone: str | Unset = UNSET
    required_capabilities: frozenset[str] | Unset = UNSET
    job_defaults: JobDefaults | Unset = UNSET
    github: str | Unset | None = UNSET

    def apply(self, book: RepoBook) -> None:
        """Write it into the book of a repo."""
        named = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if getattr(self, each.name) is not UNSET
        }
        if "focus" in named:
            book.set_focus(named.pop("focus"))
        book.repo = replace(book.repo, **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A repo as it now stands, and whether it is new."""

    record: RepoRecord
    created: bool


async def put_repo(
    db: Database, repo: Repo, *, keeps_focus: bool, if_match: int | None = None
) -> Put:
    """Set all settings of a repo, which is made if there is none.

    Raises:
        Invalid: there is no such time zone.
        VersionMismatch: ``if_match`` names another version, or there is no such repo.
        LostRace: others kept changing it.
    """
    _check_zone(repo.timezone)

    async def once(conn: Connection) -> Put:
        if not await repos.lock(conn, repo.id):
            if if_match is not None:
                raise _mismatch(None)
            if not await repos.insert(conn, repo):
                raise Moved
            return Put(record=await _record(conn, repo.id), created=True)
        book = await open_book(conn, repo.id)
        _check_version(book, if_match)
        before = book.repo
        if not keeps_focus:
            book.set_focus(repo.focus)
        book.repo = replace(
            repo,
            version=before.version,
            focus=book.repo.focus,
            focus_candidate_id=book.repo.focus_candidate_id,
            last_run_at=before.last_run_at,
            paused=before.paused,
        )
        await write_book(conn, book)
        return Put(record=await _record(conn, repo.id), created=False)

    return await settled(db, once)


async def patch_repo(
    db: Database, repo_id: RepoId, patch: RepoPatch, *, if_match: int
) -> RepoRecord:
    """Change a repo at version ``if_match``.

    Raises:
        NotFound: there is no such repo.
        Invalid: there is no such time zone.
        VersionMismatch: it is at another version.
        LostRace: others kept changing it.
    """
    if not isinstance(patch.timezone, Unset):
        _check_zone(patch.timezone)
    return await _change(db, repo_id, patch.apply, if_match=if_match)


async def pause_repo(
    db: Database, repo_id: RepoId, *, reason: str, until: datetime | None, by: Principal
) -> RepoRecord:
    """Dispatch nothing more for a repo; what is under way is polled to its end.

    Raises:
        NotFound: there is no such repo.
        Invalid: ``until`` is past.
        LostRace: others kept changing it.
    """
    standing = Standing(reason=reason, by=by.name, until=until)

    def pause(book: RepoBook) -> None:
        book.repo = replace(book.repo, paused=ahead(standing, book.now))

    return await _change(db, repo_id, pause)


async def resume_repo(db: Database, repo_id: RepoId) -> RepoRecord:
    """Lift the pause of a repo.

    Raises:
        NotFound: there is no such repo.
        LostRace: others kept changing it.
    """

    def resume(book: RepoBook) -> None:
        book.repo = replace(book.repo, paused=None)

    return await _change(db, repo_id, resume)


async def delete_repo(
    db: Database, repo_id: RepoId, *, by: Principal, if_match: int | None = None
) -> None:
    """Forget a repo with all that belongs to it; its unfinished jobs are cancelled first.

    Raises:
        NotFound: there is no such repo.
        VersionMismatch: ``if_match`` names another version.
        LostRace: others kept changing it.
    """

    async def once(conn: Connection) -> None:
        book = await open_book(conn, repo_id)
        _check_version(book, if_match)
        verifying = (e.job_id for e in book.pulls.values() if e.status is PullStatus.VERIFYING)
        for job_id in (None if book.run is None else book.run.job_id, *verifying):
            if job_id is not None:
                await _cancel(conn, job_id, by)
        await repos.remove(conn, repo_id)

    await settled(db, once)


async def get_repo(db: Database, repo_id: RepoId) -> RepoRecord:
    """Read a repo.

    Raises:
        NotFound: there is no such repo.
    """
    async with db.connection() as conn:
        return await _record(conn, repo_id)


async def list_repos(db: Database, cursor: str | None, limit: int) -> Page[RepoRecord]:
    """List repos by id.

    Raises:
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _repo_id)
    async with db.connection() as conn:
        found = await repos.page(conn, after=after, limit=limit + 1)
    return page_of(found, limit, lambda record: record.repo.id)


async def _change(
    db: Database, repo_id: RepoId, act: Callable[[RepoBook], None], if_match: int | None = None
) -> RepoRecord:
    async def once(conn: Connection) -> RepoRecord:
        book = await open_book(conn, repo_id)
        _check_version(book, if_match)
        act(book)
        await write_book(conn, book)
        return await _record(conn, repo_id)

    return await settled(db, once)


async def _record(conn: Connection, repo_id: RepoId) -> RepoRecord:
    record = (await repos.by_ids(conn, [repo_id])).get(repo_id)
    if record is None:
        raise no_such_repo(repo_id)
    return record


async def _cancel(conn: Connection, job_id: JobId, by: Principal) -> None:
    try:
        reading = await reading_of(conn, job_id)
    except NotFound:
        return
    await cancel_once(conn, reading, "its repo was deleted", by)


def _check_version(book: RepoBook, if_match: int | None) -> None:
    if if_match is not None and book.repo.version != if_match:
        raise _mismatch(book.repo.version)


def _mismatch(present: int | None) -> VersionMismatch:
    if present is None:
        return VersionMismatch("There is no such repo yet.", current_version=None)
    return VersionMismatch(f"It is at version {present}.", current_version=present)


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        message = "is no time zone that is known here; one is called Europe/Berlin, for example"
        detail = f"timezone {message}."
        raise Invalid(detail, errors=[{"field": "timezone", "message": message}]) from error


def _repo_id(key: Json) -> RepoId:
    if not isinstance(key, str) or not key.isprintable():
        raise TypeError
    return RepoId(key)
