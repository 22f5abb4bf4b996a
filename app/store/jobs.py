"""Jobs as people read and change them: read whole, found by their keys, and edited."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from app.errors import Conflict
from app.fleet import (
    ClassId,
    FactoryId,
    IfParentFails,
    Job,
    JobClass,
    JobId,
    JobRecord,
    JobState,
    JsonObject,
    Standing,
)
from app.store import classes
from app.store.retrying import Moved
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is to be run, and how: what an edit of a job may replace, its place apart."""

    class_id: ClassId
    repo: str | None
    payload: JsonObject
    labels: Mapping[str, str]
    if_parent_fails: IfParentFails
    timeout_s: int
    attempts_max: int
    dedupe_key: str | None


async def by_ids(conn: Connection, ids: Iterable[JobId]) -> dict[JobId, JobRecord]:
    """Read jobs whole; one that does not exist is left out."""
    rows = await conn.fetch(sql("job_read"), list(ids))
    return {JobId(row["id"]): to_record(row) for row in rows}


async def by_dedupe_keys(conn: Connection, keys: Iterable[str]) -> dict[str, JobId]:
    """Find the jobs that have these dedupe keys."""
    rows = await conn.fetch(sql("job_by_dedupe_key"), list(keys))
    return {row["dedupe_key"]: JobId(row["id"]) for row in rows}


async def edit(conn: Connection, job_id: JobId, *, version: int, content: Content) -> bool:
    """Replace the content of a job at this version, and keep its row locked.

    The version stays: :func:`app.store.lives.write` moves it, in the same transaction.

    Returns:
        Whether the job was at that version.

    Raises:
        Conflict: another job has the dedupe key.
        Moved: the class was pruned meanwhile.
    """
    try:
        row = await conn.fetchrow(
            sql("job_edit"),
            job_id,
            version,
            content.class_id,
            content.repo,
            content.payload,
            dict(content.labels),
            content.if_parent_fails,
            content.timeout_s,
            content.attempts_max,
            content.dedupe_key,
        )
    except asyncpg.UniqueViolationError as error:
        detail = "Another job has this dedupe key."
        raise Conflict(detail, dedupe_key=content.dedupe_key) from error
    except asyncpg.ForeignKeyViolationError as error:
        raise Moved from error
    return row is not None


def to_record(row: Record) -> JobRecord:
    """Translate a row of ``job_read``, or of a statement that returns its columns."""
    return _record(row, classes.from_row(row), row["created_at"], row["updated_at"])


def to_leased(row: Record, job: Job) -> JobRecord:
    """Translate a row of ``claim_commit``, which leaves out what the claimed job says already."""
    return _record(row, job.job_class, job.created_at, row["claimed_at"])


def _record(
    row: Record, job_class: JobClass, created_at: datetime, updated_at: datetime
) -> JobRecord:
    hold = None
    if row["hold_reason"] is not None:
        hold = Standing(reason=row["hold_reason"], by=row["hold_by"], until=row["hold_until"])
    return JobRecord(
        id=JobId(row["id"]),
        version=row["version"],
        kind=row["kind"],
        state=JobState(row["state"]),
        job_class=job_class,
        repo=row["repo"],
        payload=row["payload"],
        labels=row["labels"],
        depends_on=tuple(JobId(parent) for parent in row["depends_on"]),
        if_parent_fails=IfParentFails(row["if_parent_fails"]),
        run_after=row["run_after"],
        timeout_s=row["timeout_s"],
        attempts=row["attempts"],
        attempts_max=row["attempts_max"],
        dedupe_key=row["dedupe_key"],
        hold=hold,
        factory_id=None if row["holder"] is None else FactoryId(row["holder"]),
        fence=row["fence"],
        fence_open=row["fence_open"],
        claimed_at=row["claimed_at"],
        lease_expires_at=row["lease_expires_at"],
        cancel_requested=row["cancel_requested_at"] is not None,
        result=row["result"],
        error=row["error"],
        created_at=created_at,
        updated_at=updated_at,
        finished_at=row["finished_at"],
    )
