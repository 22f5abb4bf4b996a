"""The wake-up call: something may have become possible for a factory that waits.

A call names what changed, so that only those look again whom it may concern: the id of a class with
a new ready job, a lock that is free, a factory that has a seat again, or anything at all. Whoever
does not understand a call takes it for the last. Completions, which are many, call from within
their own statement.
"""

from collections.abc import Iterable

from app.fleet import ClassId, FactoryId
from app.store.session import Connection
from app.store.sql import sql

CHANNEL = "fleet_wake"
ANY = "*"
"""The payload that says: whatever class, and whatever factory it may be."""

LOCK = "lock:"
"""Before the name of a lock that is free."""

SEAT = "seat:"
"""Before the id of a factory that was full, with a claim waiting, and has a seat again."""


RACE = "race"
"""The payload that says: processes are after the same jobs, and had better take turns."""


async def warn_of_race(conn: Connection) -> None:
    """Tell every process that several are after the same jobs: who won has not noticed."""
    await conn.execute(sql("wake"), CHANNEL, [RACE])


async def wake(conn: Connection, class_ids: Iterable[ClassId] | None = None) -> None:
    """Tell every waiting desk, when this transaction commits, that it should look again.

    Args:
        conn: the caller's transaction.
        class_ids: classes with a job that became ready; None when a factory, a lock or a seat
            changed, which may concern any class.
    """
    payloads = [ANY] if class_ids is None else sorted({str(each) for each in class_ids})
    if payloads:
        await conn.execute(sql("wake"), CHANNEL, payloads)


async def await_seats(conn: Connection, ids: Iterable[FactoryId]) -> frozenset[FactoryId]:
    """Have those of these factories that are full be called when they have a seat again.

    Returns:
        Those that are still full; the others have a seat by now, and nobody will call.
    """
    rows = await conn.fetch(sql("seat_await"), list(ids))
    return frozenset(FactoryId(row["factory_id"]) for row in rows)
