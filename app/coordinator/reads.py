"""Reads: one job, lists of jobs, and what happened to a job."""

from datetime import UTC, datetime
from uuid import UUID

from app.coordinator.moving import no_such_job, record_of
from app.coordinator.paging import Page, page_of, place
from app.fleet import JobId, JobRecord, Json
from app.store import history, listing
from app.store.history import JobEvent
from app.store.history import Place as PlaceInHistory
from app.store.listing import JobFilter
from app.store.session import Database

__all__ = ["JobEvent", "JobFilter", "Page", "get_job", "job_events", "list_jobs"]

_BIGINT_MAX = 2**63 - 1


async def get_job(db: Database, job_id: JobId) -> JobRecord:
    """Read a job.

    Raises:
        NotFound: there is no such job.
    """
    async with db.connection() as conn:
        return await record_of(conn, job_id)


async def list_jobs(
    db: Database, wanted: JobFilter, cursor: str | None, limit: int
) -> Page[JobRecord]:
    """Read a page of jobs, newest first.

    Raises:
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _job_id)
    async with db.connection() as conn:
        found = await listing.page(conn, wanted, after=after, limit=limit + 1)
    return page_of(found, limit, lambda job: str(job.id))


async def job_events(db: Database, job_id: JobId, cursor: str | None, limit: int) -> Page[JobEvent]:
    """Read a page of what happened to a job, oldest first.

    Raises:
        NotFound: there is no such job, and nothing is known of one.
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _place_in_history)
    async with db.connection() as conn:
        found = await history.read(conn, job_id, after=after, limit=limit + 1)
    if not found and after is None:
        raise no_such_job(job_id)
    return page_of(found, limit, _key)


def _job_id(key: Json) -> JobId:
    if not isinstance(key, str):
        raise TypeError
    return JobId(UUID(key))


def _key(event: JobEvent) -> Json:
    at = event.place
    return [at.at.isoformat(), at.turn, at.source, at.ord]


def _place_in_history(key: Json) -> PlaceInHistory:
    if not isinstance(key, list):
        raise TypeError
    at, *numbers = key
    turn, source, order = (number for number in numbers if type(number) is int)
    if max(turn, order) > _BIGINT_MAX or source not in {0, 1}:
        raise ValueError
    time = datetime.fromisoformat(str(at)).astimezone(UTC)
    return PlaceInHistory(at=time, turn=turn, source=source, ord=order)
