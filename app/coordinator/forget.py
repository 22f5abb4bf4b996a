"""Forget: delete finished work when its time is over, in bounded batches.

The hot set stays small by it, and no transaction is long. What is still queued or running stays,
and so does the dead letter.
"""

from collections.abc import Callable
from datetime import timedelta

from app.runtime.ids import chance
from app.store import idempotency, pruning, sweeping, ticks
from app.store.pruning import Pruned
from app.store.session import Database

WAIT_MS = 1000
BATCH = 500
BATCHES_MAX = 4
"""What is left after so many batches waits for the next pass."""

NOW_AND_THEN = 1 / 60
"""How often a pass looks for what grows slowly: about once a minute, a pass being a second."""


async def forget(db: Database, retention: timedelta, *, draw: Callable[[], float] = chance) -> int:
    """Delete old jobs, keys, reports, runs and successes, unused classes and locks; counts jobs.

    Args:
        db: where.
        retention: how long what is finished is kept.
        draw: chance, a number from 0 to below 1: whether and where to look for what grows slowly.
    """
    await _keys(db)
    await _reports(db, retention)
    if draw() < NOW_AND_THEN:
        await _slow_growers(db, retention, draw())
    total = 0
    for _ in range(BATCHES_MAX):
        pruned = await _jobs(db, retention)
        total += pruned.jobs
        if pruned.jobs < BATCH:
            break
    return total


async def _jobs(db: Database, retention: timedelta) -> Pruned:
    async with db.transaction() as conn:
        if not await sweeping.begin(conn, wait_ms=WAIT_MS):
            return Pruned(jobs=0, classes=frozenset())
        pruned = await pruning.jobs(conn, retention, BATCH)
        if pruned.classes:
            await pruning.unused(conn, pruned.classes)
        return pruned


async def _keys(db: Database) -> None:
    async with db.transaction() as conn:
        if await sweeping.begin(conn, wait_ms=WAIT_MS):
            await pruning.claim_keys(conn, BATCH)
            await idempotency.purge(conn, BATCH)


async def _reports(db: Database, retention: timedelta) -> None:
    async with db.transaction() as conn:
        if await sweeping.begin(conn, wait_ms=WAIT_MS):
            await ticks.prune(conn, retention, BATCH)


async def _slow_growers(db: Database, retention: timedelta, place: float) -> None:
    """Look through a stretch of what has no index by age; each time somewhere else."""
    async with db.transaction() as conn:
        if await sweeping.begin(conn, wait_ms=WAIT_MS):
            await pruning.runs(conn, retention, BATCH)
            await pruning.stray_classes(conn, place, BATCH)
            await pruning.stray_locks(conn, place, BATCH)
            await pruning.warmth(conn, place, BATCH)
