"""Forgetting, in bounded batches: finished jobs and their history, classes, locks, keys, warmth.

A class is found by submitters without a lock. One that is deleted in between costs them another
try: the job's foreign key tells. And one that gets a job in between is not deleted: the same key
tells us.

A lock goes with the last class that names it. Whoever makes a class keeps its lock's row until the
transaction ends (``lock_make``), so that a class is never without; here the row is taken first, and
then asked, by a statement of its own, whether a class names it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from app.fleet import ClassId
from app.store.session import Connection
from app.store.sql import sql

WARM_FOR = timedelta(hours=24)
"""How long a success makes its repo warm at a factory; ``factory_read`` looks back as far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """How many jobs were deleted, and the classes that may be unused by that."""

    jobs: int
    classes: frozenset[ClassId]


async def jobs(conn: Connection, retention: timedelta, limit: int) -> Pruned:
    """Delete jobs that succeeded or were cancelled so long ago; the dead letter stays."""
    rows = await conn.fetch(sql("prune_jobs"), retention, limit)
    return Pruned(
        jobs=sum(row["jobs"] for row in rows),
        classes=frozenset(ClassId(row["class_id"]) for row in rows),
    )


async def unused(conn: Connection, candidates: Collection[ClassId]) -> None:
    """Delete those of these classes that no job belongs to, and their locks."""
    await _classes(conn, "prune_classes", list(candidates))


async def stray_classes(conn: Connection, place: float, limit: int) -> None:
    """Look through some classes, from a place (a share of all) on, for those without a job."""
    await _classes(conn, "prune_stray_classes", place, limit)


async def stray_locks(conn: Connection, place: float, limit: int) -> None:
    """Look through some locks, from a place on, for free ones that no class names."""
    await _locks(conn, "lock_stray", place, limit)


async def warmth(conn: Connection, place: float, limit: int) -> None:
    """Look through successes of factories, from a place on, for those too old to matter."""
    await conn.execute(sql("prune_warmth"), place, limit, WARM_FOR)


async def runs(conn: Connection, retention: timedelta, limit: int) -> None:
    """Delete runs of repos that ended so long ago."""
    await conn.execute(sql("prune_runs"), retention, limit)


async def claim_keys(conn: Connection, limit: int) -> None:
    """Delete keys of claims whose time is over."""
    await conn.execute(sql("prune_claim_keys"), limit)


async def _classes(conn: Connection, statement: str, *arguments: object) -> None:
    try:
        async with conn.transaction():
            gone = await conn.fetch(sql(statement), *arguments)
    except asyncpg.ForeignKeyViolationError:
        # A job was submitted in this moment; its class is looked at when it is pruned in turn.
        return
    locks = {row["lock"] for row in gone if row["lock"] is not None}
    if locks:
        await _locks(conn, "lock_idle", sorted(locks))


async def _locks(conn: Connection, statement: str, *arguments: object) -> None:
    idle = [row["name"] for row in await conn.fetch(sql(statement), *arguments)]
    if idle:
        await conn.execute(sql("prune_locks"), idle)
