"""New jobs: how they are written, and how they read in the transaction that made them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import asyncpg

from app.fleet import ClassId, JobId, JobRecord, JobSpec, JobState
from app.store.copying import Row, copy_in
from app.store.retrying import Moved
from app.store.session import Connection
from app.store.sql import sql

STEP = 100
"""So many rows are sent first: few enough for PostgreSQL to begin early."""


class NewJob(NamedTuple):
    """A job to insert, with the place that its parents and its time give it.

    A tuple, because a thousand of them are made at once.
    """

    id: JobId
    class_id: ClassId
    kin: bytes
    spec: JobSpec
    depends_on: frozenset[JobId]
    state: JobState
    parents_left: int
    cancelled_by_parent: JobId | None


async def insert(
    conn: Connection,
    jobs: Sequence[NewJob],
    now: datetime,
    *,
    by: str,
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Insert jobs: those with a dedupe key in one statement, the others as a copy, which is faster.

    Args:
        conn: the caller's transaction.
        jobs: what to insert.
        now: the time of that transaction.
        by: who submits them.
        meanwhile: called once, while PostgreSQL is at work if there is a copy.

    Returns:
        How many were inserted. One is missing if its dedupe key belongs to another job, which may
        have been inserted meanwhile, or if its class was pruned meanwhile.

    Raises:
        Moved: the class of one without a key was pruned meanwhile.
    """
    keyed = [job for job in jobs if job.spec.dedupe_key is not None]
    others = [job for job in jobs if job.spec.dedupe_key is None] if keyed else jobs
    pieces = (others[step.start : step.stop] for step in steps(len(others)))
    await insert_in_steps(conn, pieces, now, by=by, meanwhile=meanwhile)
    return len(others) + (await _insert_keyed(conn, keyed, by) if keyed else 0)


def steps(count: int) -> Iterator[range]:
    """Divide so many rows into steps, each twice the one before.

    Making a row here takes less than half the time that PostgreSQL takes to store one, so that the
    next step is ready when it comes to the end of one.
    """
    first, size = 0, STEP
    while first < count:
        yield range(first, min(first + size, count))
        first, size = first + size, 2 * size


async def insert_in_steps(
    conn: Connection,
    pieces: Iterable[Sequence[NewJob]],
    now: datetime,
    *,
    by: str,
    meanwhile: Callable[[], None],
) -> None:
    """Insert jobs without a dedupe key; each piece is made while the one before is stored.

    Args:
        conn: the caller's transaction.
        pieces: what to insert.
        now: the time of that transaction.
        by: who submits them.
        meanwhile: called once, while the last piece is stored.

    Raises:
        Moved: the class of one was pruned meanwhile.
    """
    rows = ([_columns(job, now, by) for job in piece] for piece in pieces)
    try:
        await copy_in(conn, "job", _COPIED, rows, meanwhile)
    except asyncpg.ForeignKeyViolationError as error:
        raise Moved from error


def as_inserted(job: NewJob, now: datetime) -> JobRecord:
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
        depends_on=tuple(sorted(job.depends_on)),
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


async def _insert_keyed(conn: Connection, jobs: Sequence[NewJob], by: str) -> int:
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
        by,
    )
    return len(rows)


_COPIED = (
    *("id", "class_id", "kin", "state", "kind", "repo", "payload", "labels", "if_parent_fails"),
    *("run_after", "timeout_s", "attempts_max", "parents_left", "cancelled_by_parent"),
    *("wake_at", "finished_at", "submitted_by"),
)


def _columns(job: NewJob, now: datetime, by: str) -> Row:
    spec, state = job.spec, job.state
    return (
        job.id,
        job.class_id,
        job.kin,
        state,
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
        spec.run_after if state is JobState.SCHEDULED else None,
        now if state is JobState.CANCELLED else None,
        by,
    )
