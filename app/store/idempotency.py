"""Idempotency keys: the first answer to a creating call, kept beside what the call made.

An answer is kept as text inside the column, so that a repeat gets its members in the same order.
"""

from dataclasses import dataclass

import orjson

from app.fleet import Json
from app.store.session import Connection
from app.store.sql import sql

KEPT_S = 24 * 3600
"""How long a key is remembered; published in the API's description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept under a key: of which request, and what was answered."""

    fingerprint: bytes
    status: int
    body: Json


async def begin(conn: Connection, scope: str, key: str, fingerprint: bytes) -> bool:
    """Take a key for this transaction; False if another call has it.

    Waits for the end of a call that is taking the same key, and takes it if that failed.
    """
    mine = await conn.fetchval(sql("once_begin"), scope, key, fingerprint, KEPT_S)
    return mine is True


async def read(conn: Connection, scope: str, key: str) -> Kept | None:
    """Read what is kept under a key; None if it was forgotten in this moment."""
    row = await conn.fetchrow(sql("once_read"), scope, key)
    if row is None or row["status"] is None:
        return None
    return Kept(
        fingerprint=row["fingerprint"], status=row["status"], body=orjson.loads(row["body"])
    )


async def keep(conn: Connection, scope: str, key: str, *, status: int, body: Json) -> None:
    """Keep the answer under the key that this transaction took."""
    await conn.execute(sql("once_keep"), scope, key, status, orjson.dumps(body).decode())


async def purge(conn: Connection, limit: int) -> int:
    """Forget up to ``limit`` keys whose time is over; tells how many."""
    return int((await conn.execute(sql("once_purge"), limit)).removeprefix("DELETE "))
