"""Forgetting, in bounded batches: finished jobs with their history, classes and keys of claims."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

import asyncpg

from app.fleet import ClassId
from app.store.session import Connection
from app.store.sql import sql


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


async def claim_keys(conn: Connection, limit: int) -> None:
    """Delete keys of claims whose time is over."""
    await conn.execute(sql("prune_claim_keys"), limit)
