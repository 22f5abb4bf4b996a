"""The turn of a tick: one lock, an epoch, windows already served, and stored reports.

The lock is an advisory one and only ever tried for; it is the transaction's, so that a connection
that dies or goes back to a pooler leaves none behind. The epoch is what writes compare: a tick
whose lock was lost with its connection holds an old number, and nothing it does commits beside its
successor.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NewType
from uuid import UUID

from app.fleet import JsonObject
from app.store.session import Connection, Record
from app.store.sql import sql

Epoch = NewType("Epoch", int)
TickId = NewType("TickId", UUID)

_LOCK_KEY: Final = 0x7469636B  # "tick": one lock of this name per database


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRecord:
    """A tick that was not skipped: its report, and why nothing more was started, by id."""

    id: TickId
    kind: str
    window: str | None
    at: datetime
    report: JsonObject
    reasons: JsonObject


async def try_lock(conn: Connection) -> bool:
    """Be the only tick until the caller's transaction ends, or not; never wait for it."""
    mine: bool = await conn.fetchval(sql("tick_lock"), _LOCK_KEY)
    return mine


async def next_epoch(conn: Connection) -> Epoch:
    """Begin a turn, once whatever an earlier turn is committing has been committed."""
    return Epoch(await conn.fetchval(sql("tick_epoch_next")))


async def is_current(conn: Connection, epoch: Epoch) -> bool:
    """Tell whether the turn is still ours; if so, it is until the transaction ends."""
    return bool(await conn.fetchval(sql("tick_epoch_check"), epoch))


async def wait_briefly(conn: Connection, seconds: float) -> None:
    """Wait for no row longer than so many seconds, until the transaction ends."""
    await conn.execute(sql("tick_lock_timeout"), f"{int(seconds * 1000)}ms")


async def was_served(conn: Connection, kind: str, window: str) -> bool:
    """Tell whether a tick of this kind was served for this window."""
    return bool(await conn.fetchval(sql("tick_served"), kind, window))


async def keep(
    conn: Connection,
    tick_id: TickId,
    *,
    kind: str,
    window: str | None,
    report: Mapping[str, object],
    reasons: Mapping[str, object],
) -> None:
    """Store the report of a tick; its window is served by that."""
    await conn.execute(sql("tick_keep"), tick_id, kind, window, report, reasons)


async def latest(conn: Connection, kind: str) -> TickRecord | None:
    """Read the newest report of a kind."""
    found = await page(conn, kind=kind, after=None, limit=1)
    return found[0] if found else None


async def newest(conn: Connection, kinds: Sequence[str]) -> dict[str, datetime]:
    """Tell when the newest tick of each kind was; one that never ticked is left out."""
    rows = await conn.fetch(sql("tick_newest"), kinds)
    return {row["kind"]: row["at"] for row in rows}


async def page(
    conn: Connection, *, kind: str | None, after: TickId | None, limit: int
) -> list[TickRecord]:
    """Read reports, newest first, older than ``after``; of one kind, or of all."""
    rows = await conn.fetch(sql("tick_page"), kind, after, limit)
    return [_to_record(row) for row in rows]


async def prune(conn: Connection, retention: timedelta, limit: int) -> None:
    """Delete old reports, a bounded number of them; the newest of each kind stays."""
    await conn.execute(sql("tick_prune"), retention, limit)


def _to_record(row: Record) -> TickRecord:
    return TickRecord(
        id=TickId(row["id"]),
        kind=row["kind"],
        window=row["window"],
        at=row["at"],
        report=row["report"],
        reasons=row["reasons"],
    )
