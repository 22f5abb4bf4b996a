"""What waits, as it was last counted, and how much of it is kept from a factory.

Counting costs more than a claim, so that an empty answer counts anew and a decision only tells what
was counted last, and when.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from app.backlog import Backlog, counted_reasons
from app.eligibility import Reason
from app.errors import Unavailable
from app.fleet import Context, Factory, FactoryId, JsonObject
from app.store import backlogs, factories
from app.store.session import Connection, Database

log = logging.getLogger(__name__)

KeptFrom: TypeAlias = Callable[[Factory, Context], JsonObject | None]
"""Counts the jobs that a factory could not take, by reason, as they were counted last."""


class Tally:
    """The last count of one process."""

    def __init__(self) -> None:
        """Begin with nothing counted."""
        self._backlog = Backlog()
        self._counted_at: datetime | None = None
        self._kept: dict[tuple[FactoryId, frozenset[str]], JsonObject] = {}
        self._told = False

    async def renew(self, db: Database) -> None:
        """Count anew if anybody was told of the last count, or none was made.

        A count that fails is made at the next occasion: no claim depends on it.
        """
        if not self._told and self._counted_at is not None:
            return
        try:
            async with db.connection() as conn:
                await self.count(conn)
        except Unavailable:
            pass
        except Exception:
            log.exception("what waits could not be counted")

    async def count(self, conn: Connection) -> None:
        """Count what waits."""
        self._backlog = await backlogs.read(conn)
        self._counted_at = await factories.now(conn)
        self._kept.clear()
        self._told = False

    def reasons(self, factory: Factory, ctx: Context) -> Mapping[Reason, int]:
        """Count, per reason, the jobs that a factory cannot take."""
        return counted_reasons(self._backlog, factory, ctx)

    def kept_from(self, factory: Factory, ctx: Context) -> JsonObject | None:
        """Return the same as it stands in a decision record; treat it as read-only."""
        if self._counted_at is None:
            return None
        self._told = True
        of = (factory.id, factory.offered)
        if of not in self._kept:
            counts = {reason.value: jobs for reason, jobs in self.reasons(factory, ctx).items()}
            self._kept[of] = {"counted_at": self._counted_at.isoformat(), "jobs": {**counts}}
        return self._kept[of]
