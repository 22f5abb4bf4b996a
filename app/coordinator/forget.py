"""Forget: delete finished work when its time is over, in bounded batches.

The hot set stays small by it, and no transaction is long. What is still queued or running stays,
and so does the dead letter.
"""

from datetime import timedelta

from app.store import idempotency, pruning, sweeping, ticks
from app.store.pruning import Pruned
from app.store.session import Database

WAIT_MS = 1000
BATCH = 500
BATCHES_MAX = 4
"""What is left after so many batches waits for the next pass."""


async def forget(db: Database, retention: timedelta) -> int:
    """Delete old jobs, unused classes, old keys and old reports; tells how many jobs."""
    await _keys(db)
    await _reports(db, retention)
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
