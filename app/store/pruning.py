"""Forgetting, in bounded batches: finished jobs with their history, classes, keys, runs, warmth.

A class is found by submitters without a lock. One that is deleted in between costs them another
try: the job's foreign key tells. And one that gets a job in between is not deleted: the same key
tells us.
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
    """Delete those of these classes that no job belongs to."""
    try:
        async with conn.transaction():
            await conn.execute(sql("prune_classes"), list(candidates))
    except asyncpg.ForeignKeyViolationError:
        # A job was submitted in this moment; its class is looked at when it is pruned in turn.
        return


async def stray_classes(conn: Connection, place: float, limit: int) -> None:
    """Look through some classes, from a place (a share of all) on, for those without a job."""
    try:
        async with conn.transaction():
            await conn.execute(sql("prune_stray_classes"), place, limit)
    except asyncpg.ForeignKeyViolationError:
        return


async def warmth(conn: Connection, place: float, limit: int) -> None:
    """Look through successes of factories, from a place on, for those too old to matter."""
    await conn.execute(sql("prune_warmth"), place, limit, WARM_FOR)


async def runs(conn: Connection, retention: timedelta, limit: int) -> None:
    """Delete runs of repos that ended so long ago."""
    await conn.execute(sql("prune_runs"), retention, limit)


async def claim_keys(conn: Connection, limit: int) -> None:
    """Delete keys of claims whose time is over."""
    await conn.execute(sql("prune_claim_keys"), limit)
