"""Ticking: what the tick over workflows and the tick over repos have in common.

**One at a time.** Both serialise on one advisory lock that is only tried for: a second tick answers
at once that another is running. The lock is held by a transaction on a connection that does nothing
else, and ends with it, however it ends. That connection is beside the pool, one for all ticks of a
process: what a tick does takes one connection of the pool at a time, as any request does.

**Heard first.** The forge may take its time. So a tick asks it before it does anything, and a dry
run before its transaction: while it is asked, neither a connection of the pool nor a row is held.

**Epoch.** A connection can die and take the lock along while the tick lives on. So each tick takes
a number, and everything it writes is committed only while that number is the newest. A successor
begins by taking the next, which waits for what is being committed and refuses all that comes later.

**Window.** Cron may say which occasion it calls for. An occasion that was served is skipped, so a
call may be repeated; one whose tick fell is not served.

**Dry run.** The same work in one transaction that is rolled back, without the lock: every write
that would be a transaction of its own is a savepoint of it, so that each step sees those before.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from logging import getLogger
from typing import Final, TypeAlias, TypeVar
from uuid import UUID

from app.coordinator.paging import Page, page_of, place
from app.errors import Unavailable
from app.fleet import Json, JsonObject, Principal, Role, TokenId
from app.runtime.ids import new_id
from app.store import ticks
from app.store.retrying import settled, settled_within
from app.store.session import Connection, Database
from app.store.ticks import Epoch, TickId, TickRecord

T = TypeVar("T")
News = TypeVar("News")

LOG: Final = getLogger("app.scheduler")
"""What goes wrong in a tick is logged here, with ``[scheduler]`` in front."""

TICK: Final = Principal(token_id=TokenId(UUID(int=0)), role=Role.CRON, name="scheduler")
"""Who submits the jobs of ticks, and withdraws them."""

BUSY: Final = "another tick is running"
SERVED: Final = "this window was served already"
SUPERSEDED: Final = "another tick took over"


class TickKind(StrEnum):
    """The ticks that take turns."""

    WORKFLOWS = "workflows"
    REPOS = "repos"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """Which tick, for which window if the caller names one, and whether nothing is to change."""

    kind: TickKind
    window: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """What a tick did: its report, and why nothing more was started, by id.

    ``skipped`` says why it did nothing at all; then there is no report.
    """

    report: JsonObject = field(default_factory=dict)
    reasons: JsonObject = field(default_factory=dict)
    skipped: str | None = None

    @property
    def answer(self) -> JsonObject:
        """The report as it is answered and stored."""
        return {"skipped": self.skipped, **self.report}


class Superseded(Exception):  # noqa: N818 - a signal to stop, never seen by a caller
    """The turn went to another tick; nothing more may be done in this one."""


STOPS: Final = (Unavailable, Superseded)
"""What ends a whole tick; anything else that goes wrong concerns one workflow or repo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A tick's turn: how its work reads and writes.

    ``rehearsal`` is the connection of a dry run, in the transaction that is rolled back.
    """

    db: Database
    epoch: Epoch
    rehearsal: Connection | None = None

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """Lend a connection to read on."""
        if self.rehearsal is not None:
            yield self.rehearsal
            return
        async with self.db.connection() as conn:
            yield conn

    async def write(self, act: Callable[[Connection], Awaitable[T]]) -> T:
        """Run ``act`` in a transaction of its own, again if something moved under it.

        Raises:
            Superseded: the turn is over; nothing was written.
            LostRace: something moved every time.
        """
        conn = self.rehearsal
        if conn is not None:
            return await settled_within(conn, lambda: act(conn))

        async def in_turn(conn: Connection) -> T:
            # Well before the statement's time is up: a row that is held is a fault of one item.
            await ticks.wait_briefly(conn, self.db.limits.statement_timeout_s / 6)
            if not await ticks.is_current(conn, self.epoch):
                raise Superseded
            return await act(conn)

        return await settled(self.db, in_turn)


Hear: TypeAlias = Callable[[], Awaitable[News]]
Work: TypeAlias = Callable[[Turn, News], Awaitable[Ticked]]


async def take_turn(db: Database, occasion: Occasion, hear: Hear[News], work: Work[News]) -> Ticked:
    """Do a tick's work if it is its turn, and store its report.

    Args:
        db: where.
        occasion: which tick.
        hear: asks elsewhere for what the work needs to know; it keeps no connection meanwhile.
        work: does it, knowing that.

    Raises:
        Unavailable: the database cannot be reached; what was committed before stays.
    """
    if occasion.dry_run:
        return await _rehearse(db, occasion, hear, work)
    ticked: Ticked | None = None
    try:
        async with db.aside() as lock:
            if lock is None:  # The other one is a tick of this very process.
                return Ticked(skipped=BUSY)
            async with lock.transaction():
                if not await ticks.try_lock(lock):
                    return Ticked(skipped=BUSY)
                ticked = await _in_turn(db, occasion, hear, work)
    except Unavailable:
        if ticked is None:
            raise
        # Only the lock's own connection was lost, and all was done by then.
    return ticked


async def list_ticks(
    db: Database, kind: TickKind | None, cursor: str | None, limit: int
) -> Page[TickRecord]:
    """List the reports of ticks that were not skipped, newest first.

    Raises:
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _tick_id)
    async with db.connection() as conn:
        found = await ticks.page(conn, kind=kind, after=after, limit=limit + 1)
    return page_of(found, limit, lambda tick: str(tick.id))


async def last_tick(db: Database, kind: TickKind) -> TickRecord | None:
    """Read the newest report of a kind."""
    async with db.connection() as conn:
        return await ticks.latest(conn, kind)


async def newest_ticks(db: Database) -> dict[str, datetime]:
    """Tell when a tick of each kind last did its work, whichever process that was."""
    async with db.connection() as conn:
        return await ticks.newest(conn, [*TickKind])


def complain(what: str, error: Exception) -> str:
    """Log an error that concerns only ``what``, and word it for the report."""
    said = f"{type(error).__name__}: {error}"
    LOG.error("[scheduler] %s: %s", what, said, exc_info=error)
    return said


async def _in_turn(db: Database, occasion: Occasion, hear: Hear[News], work: Work[News]) -> Ticked:
    async def begin(conn: Connection) -> Epoch | None:
        if await _was_served(conn, occasion):
            return None
        return await ticks.next_epoch(conn)

    epoch = await settled(db, begin)
    if epoch is None:
        return Ticked(skipped=SERVED)
    turn = Turn(db=db, epoch=epoch)
    try:
        ticked = await work(turn, await hear())
        await turn.write(lambda conn: _keep(conn, occasion, ticked))
    except Superseded:
        LOG.warning("[scheduler] the tick over %s was overtaken by another", occasion.kind)
        return Ticked(skipped=SUPERSEDED)
    return ticked


async def _rehearse(db: Database, occasion: Occasion, hear: Hear[News], work: Work[News]) -> Ticked:
    async with db.connection() as conn:
        if await _was_served(conn, occasion):
            return Ticked(skipped=SERVED)
    news = await hear()
    async with db.connection() as conn:
        rehearsal = conn.transaction()
        await rehearsal.start()
        try:
            return await work(Turn(db=db, epoch=Epoch(0), rehearsal=conn), news)
        finally:
            await rehearsal.rollback()


async def _was_served(conn: Connection, occasion: Occasion) -> bool:
    window = occasion.window
    return window is not None and await ticks.was_served(conn, occasion.kind, window)


async def _keep(conn: Connection, occasion: Occasion, ticked: Ticked) -> None:
    await ticks.keep(
        conn,
        TickId(new_id()),
        kind=occasion.kind,
        window=occasion.window,
        report=ticked.answer,
        reasons=ticked.reasons,
    )


def _tick_id(key: Json) -> TickId:
    if not isinstance(key, str):
        raise TypeError
    return TickId(UUID(key))
