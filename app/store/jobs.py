"""Jobs as people ask for them and read them: inserted, read whole, and edited."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import asyncpg

from app.errors import Conflict
from app.fleet import (
    ClassId,
    FactoryId,
    IfParentFails,
    JobId,
    JobRecord,
    JobSpec,
    JobState,
    JsonObject,
    Standing,
)
from app.store import classes
from app.store.retrying import Moved
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to insert, with the place that its parents and its time give it."""

    id: JobId
    class_id: ClassId
    spec: JobSpec
    state: JobState
    parents_left: int
    cancelled_by_parent: JobId | None


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


async def insert(conn: Connection, jobs: Sequence[NewJob], now: datetime) -> int:
    """Insert jobs: those with a dedupe key in one statement, the others as a copy, which is faster.

    Args:
        conn: the caller's transaction.
        jobs: what to insert.
        now: the time of that transaction.

    Returns:
        How many were inserted. One is missing if its dedupe key belongs to another job, which may
        have been inserted meanwhile, or if its class was pruned meanwhile.

    Raises:
        Moved: the class of one without a key was pruned meanwhile.
    """
    keyed = [job for job in jobs if job.spec.dedupe_key is not None]
    others = [job for job in jobs if job.spec.dedupe_key is None]
    if others:
        try:
            await conn.copy_records_to_table(
                "job", records=[_columns(job, now) for job in others], columns=_COPIED
            )
        except asyncpg.ForeignKeyViolationError as error:
            raise Moved from error
    return len(others) + (await _insert_keyed(conn, keyed) if keyed else 0)


async def _insert_keyed(conn: Connection, jobs: Sequence[NewJob]) -> int:
    rows = await conn.fetch(
        sql("job_insert"),
        [job.id for job in jobs],
        [job.class_id for job in jobs],
        [job.state for job in jobs],
        [job.spec.kind for job in jobs],
        [job.spec.repo for job in jobs],
        [job.spec.payload for job in jobs],
        [dict(job.spec.labels) for job in jobs],
        [job.spec.if_parent_fails for job in jobs],
        [job.spec.run_after for job in jobs],
        [job.spec.timeout_s for job in jobs],
        [job.spec.attempts_max for job in jobs],
        [job.spec.dedupe_key for job in jobs],
        [job.parents_left for job in jobs],
        [job.cancelled_by_parent for job in jobs],
    )
    return len(rows)


_COPIED = (
    *("id", "class_id", "state", "kind", "repo", "payload", "labels", "if_parent_fails"),
    *("run_after", "timeout_s", "attempts_max", "parents_left", "cancelled_by_parent"),
    *("wake_at", "finished_at"),
)


def _columns(job: NewJob, now: datetime) -> tuple[object, ...]:
    spec = job.spec
    return (
        job.id,
        job.class_id,
        job.state,
        spec.kind,
        spec.repo,
        spec.payload,
        spec.labels,
        spec.if_parent_fails,
        spec.run_after,
        spec.timeout_s,
        spec.attempts_max,
        job.parents_left,
        job.cancelled_by_parent,
        spec.run_after if job.state is JobState.SCHEDULED else None,
        now if job.state is JobState.CANCELLED else None,
    )


def as_inserted(job: NewJob, depends_on: Iterable[JobId], now: datetime) -> JobRecord:
    """Return a job as it would be read in the transaction that inserted it, begun at ``now``."""
    spec = job.spec
    return JobRecord(
        id=job.id,
        version=1,
        kind=spec.kind,
        state=job.state,
        job_class=spec.job_class,
        repo=spec.repo,
        payload=spec.payload,
        labels=spec.labels,
        depends_on=tuple(sorted(depends_on)),
        if_parent_fails=spec.if_parent_fails,
        run_after=None if spec.run_after is None else spec.run_after.astimezone(UTC),
        timeout_s=spec.timeout_s,
        attempts=0,
        attempts_max=spec.attempts_max,
        dedupe_key=spec.dedupe_key,
        hold=None,
        factory_id=None,
        fence=0,
        fence_open=False,
        claimed_at=None,
        lease_expires_at=None,
        cancel_requested=False,
        result=None,
        error=None,
        created_at=now,
        updated_at=now,
        finished_at=now if job.state is JobState.CANCELLED else None,
    )


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
    hold = None
    if row["hold_reason"] is not None:
        hold = Standing(reason=row["hold_reason"], by=row["hold_by"], until=row["hold_until"])
    return JobRecord(
        id=JobId(row["id"]),
        version=row["version"],
        kind=row["kind"],
        state=JobState(row["state"]),
        job_class=classes.from_row(row),
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
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        finished_at=row["finished_at"],
    )
