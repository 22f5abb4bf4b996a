"""What the lease loop finds to do, and how several processes keep out of each other's way.

The loop's transactions are short, hold nothing between them, and each of them tries for the same
advisory lock; that spares work, while correctness rests on what every write compares. They wait
for a row no longer than they say at their beginning, so that somebody who sits on one cannot stop
the loop.
"""

from collections.abc import Collection
from typing import Final

import asyncpg

from app.fleet import ClassId, FactoryId, JobClass, JobId
from app.store import classes, lives
from app.store.lives import Reading
from app.store.session import Connection
from app.store.sql import sql

_LOCK_KEY: Final = 0x6C65617365  # "lease": one lock of this name per database

ROW_IN_USE: Final = (asyncpg.LockNotAvailableError,)
"""Somebody sat on a row for longer than the loop waits."""


async def begin(conn: Connection, *, wait_ms: int) -> bool:
    """Be the only lease loop at work until the transaction ends, or not; bound waits for rows."""
    row = await conn.fetchrow(sql("sweep_begin"), _LOCK_KEY, wait_ms)
    assert row is not None  # noqa: S101 - a select without a table has one row
    mine: bool = row["mine"]
    return mine


async def due(conn: Connection, limit: int, passed_over: Collection[JobId] = ()) -> list[JobId]:
    """Find jobs that have to be looked at, the longest overdue first."""
    rows = await conn.fetch(sql("lease_due"), limit, list(passed_over))
    return [JobId(row["id"]) for row in rows]


async def readings(conn: Connection, ids: Collection[JobId]) -> list[Reading]:
    """Read the lives of jobs, in the order given; one that is gone is left out."""
    found = await lives.read(conn, ids)
    return [found[job_id] for job_id in ids if job_id in found]


async def postpone(conn: Connection, job_id: JobId, by_s: int) -> None:
    """Put off a job that cannot be looked at; it needs somebody's attention."""
    await conn.execute(sql("lease_postpone"), job_id, by_s)


async def excluding_classes(conn: Connection) -> dict[ClassId, JobClass]:
    """Read the classes that exclude factories and have jobs that are ready."""
    rows = await conn.fetch(sql("exclusion_classes"))
    return {ClassId(row["id"]): classes.from_row(row) for row in rows}


async def reclassify(conn: Connection, old: ClassId, new: ClassId, limit: int) -> list[JobId]:
    """Move ready jobs from one class to another; those that somebody holds just now are left."""
    rows = await conn.fetch(sql("exclusion_drop"), old, new, limit)
    return [JobId(row["id"]) for row in rows]


async def failed_lately(conn: Connection, within_s: int) -> list[FactoryId]:
    """Find the factories where a lease failed so lately: candidates for quarantine."""
    rows = await conn.fetch(sql("factory_failed_lately"), within_s)
    return [FactoryId(row["id"]) for row in rows]
