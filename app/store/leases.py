"""Leases: renewed by the batch, and everything else that the law decides of them.

Renewing is a hot path: one statement, in which SQL holds the same rule as :mod:`app.lease` (a
property test ties them together), as it does in :mod:`app.store.completing`. What is rare is read
as a life, decided by :mod:`app.lease`, and written by one statement that compares what the decision
rested on.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.fleet import ClassId, FactoryId, JobId, JobState, Outcome
from app.life import SETTLING, Change, Event, JobLife, LockAction, next_due_at
from app.store.claims import LeaseId
from app.store.lives import Reading
from app.store.session import Connection, Record
from app.store.sql import sql

_OPENING: Final = frozenset({LockAction.FREE, LockAction.LAPSE})
"""What may let another job take the lock."""

_SETTLED_BY: Final = {event.value: event for event in SETTLING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewing:
    """A lease that its holder works on; ``lease_s`` is its new length, None keeps the old one."""

    lease: LeaseId
    factory_id: FactoryId
    lease_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """A running lease that now ends later."""

    lease: LeaseId
    lease_s: int
    expires_at: datetime
    cancel_requested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseMove:
    """A change to write, decided on this reading.

    ``class_id`` is the class the job belongs to from now on; ``error`` is what went wrong, if that
    is news.
    """

    reading: Reading
    change: Change
    class_id: ClassId
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A change that was written; ``makes_room``: a lock, or a seat of a full factory, is free."""

    version: int
    has_dependants: bool
    makes_room: bool
    over_committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """How a factory closed a fence by a call of its own."""

    factory_id: FactoryId
    event: Event
    outcome: Outcome
    state: JobState
    version: int


async def renew(
    conn: Connection, factory_id: FactoryId, leases: Iterable[LeaseId], lease_s: int | None = None
) -> dict[LeaseId, Renewed]:
    """Prolong running leases of a factory; one that has lapsed, or is over, is left out.

    Args:
        conn: any connection; in autocommit mode this is one round trip.
        factory_id: who holds them.
        leases: which ones.
        lease_s: their new length; None keeps the length of each.
    """
    return await renew_all(
        conn, [Renewing(lease=each, factory_id=factory_id, lease_s=lease_s) for each in leases]
    )


async def renew_all(conn: Connection, wanted: Sequence[Renewing]) -> dict[LeaseId, Renewed]:
    """Prolong running leases of several factories; no lease is in it for two of them."""
    rows = await conn.fetch(
        sql("lease_renew"),
        [each.lease.job_id for each in wanted],
        [each.lease.fence for each in wanted],
        [each.factory_id for each in wanted],
        [each.lease_s for each in wanted],
    )
    renewed = (
        Renewed(
            lease=LeaseId(job_id=JobId(row["id"]), fence=row["fence"]),
            lease_s=row["lease_s"],
            expires_at=row["lease_expires_at"],
            cancel_requested=row["cancel_requested"],
        )
        for row in rows
    )
    return {each.lease: each for each in renewed}


async def write(conn: Connection, moves: Sequence[LeaseMove]) -> dict[JobId, Moved]:
    """Write changes, seats and locks included; a job that is not as it was read is left out."""
    rows = await conn.fetch(sql("lease_write"), [_columns(move) for move in moves])
    by_id = {move.reading.id: move for move in moves}
    return {
        JobId(row["id"]): Moved(
            version=row["version"],
            has_dependants=row["dependants"] > 0,
            makes_room=row["seat_opened"] or _opens_lock(by_id[JobId(row["id"])]),
            over_committed=row["over_committed"],
        )
        for row in rows
    }


async def look_again(conn: Connection, readings: Sequence[tuple[Reading, datetime | None]]) -> None:
    """Say anew when the loop has to look at jobs; no part of them changes that anybody is shown."""
    await conn.execute(
        sql("lease_rewake"),
        [reading.id for reading, _ in readings],
        [reading.version for reading, _ in readings],
        [at for _, at in readings],
    )


async def receipts(conn: Connection, leases: Sequence[LeaseId]) -> dict[LeaseId, Receipt]:
    """Read how these fences were closed; left out are those that their holder did not close."""
    rows = await conn.fetch(
        sql("lease_receipt"),
        [lease.job_id for lease in leases],
        [lease.fence for lease in leases],
    )
    return {
        _lease_id(row): Receipt(
            factory_id=FactoryId(row["factory_id"]),
            event=_SETTLED_BY[row["event"]],
            outcome=Outcome(row["outcome"]),
            state=JobState(row["detail"]["state"]),
            version=row["detail"]["version"],
        )
        for row in rows
    }


def _lease_id(row: Record) -> LeaseId:
    return LeaseId(job_id=JobId(row["job_id"]), fence=row["fence"])


def _opens_lock(move: LeaseMove) -> bool:
    return move.reading.lock is not None and move.change.lock in _OPENING


def _columns(move: LeaseMove) -> dict[str, object]:
    reading, before, after = move.reading, move.change.before, move.change.after
    return {
        "id": str(reading.id),
        "version": reading.version,
        "parents_left_was": reading.parents_left,
        "fence": before.fence,
        "holder": before.holder,
        # Without an open fence the lock is none of this job's business.
        "lock": reading.lock if before.fence_open else None,
        "seat_delta": move.change.seat_delta,
        "lock_action": move.change.lock,
        "class_id": move.class_id,
        "error": move.error,
        **_life_columns(after),
    }


def _life_columns(life: JobLife) -> dict[str, object]:
    return {
        "state": life.state,
        "fence_open": life.fence_open,
        "seated": life.seated,
        "lease_s": life.lease_s,
        "lease_expires_at": life.lease_expires_at,
        "attempts": life.attempts,
        "run_after": life.run_after,
        "parents_left": life.unfinished_parents,
        "cancel_requested_at": life.cancel_requested_at,
        "cancel_deadline_at": life.cancel_deadline_at,
        "hold_reason": life.hold and life.hold.reason,
        "hold_by": life.hold and life.hold.by,
        "hold_until": life.hold and life.hold.until,
        "wake_at": next_due_at(life),
    }
