"""The wake-up call: something may have become possible for a factory that waits."""

from collections.abc import Iterable

from app.fleet import ClassId
from app.store.session import Connection
from app.store.sql import sql

CHANNEL = "fleet_wake"
ANY = "*"
"""The payload that says: whatever class it may be."""


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
