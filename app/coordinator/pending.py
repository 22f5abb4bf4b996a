"""What waits, and for what, as numbers: each job counted once, by what is in its way first."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from app.backlog import CLAIMABLE, pending
from app.eligibility import Reason
from app.fleet import Context, FactoryId
from app.store import backlogs, factories
from app.store.session import Database

FRESH_S = 10.0
"""Counting is bounded but not free: whoever asks sooner again gets the same numbers."""

LABELS = (CLAIMABLE, *(reason.value for reason in Reason))


class PendingCounts:
    """The counts, and when they were made."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._counts: Mapping[str, int] = dict.fromkeys(LABELS, 0)
        self._fresh_until = 0.0
        self._counting = asyncio.Lock()

    async def read(self, db: Database, waiting: frozenset[FactoryId]) -> Mapping[str, int]:
        """Count, unless that was done just now; those ``waiting`` at the desk are alive."""
        async with self._counting:
            if asyncio.get_running_loop().time() >= self._fresh_until:
                self._counts = await _count(db, waiting)
                self._fresh_until = asyncio.get_running_loop().time() + FRESH_S
            return self._counts


async def _count(db: Database, waiting: frozenset[FactoryId]) -> Mapping[str, int]:
    async with db.connection() as conn:
        backlog = await backlogs.read(conn)
        snapshot = await factories.snapshot(conn, None)
    ctx = Context(now=snapshot.now)
    fleet = [
        replace(each.factory, last_seen_at=ctx.now) if each.factory.id in waiting else each.factory
        for each in snapshot.factories
    ]
    return pending(backlog, fleet, ctx)
