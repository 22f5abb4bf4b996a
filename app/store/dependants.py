"""The jobs that depend on others: found, locked, and their counts of unfinished parents kept."""

from collections.abc import Iterable, Mapping

from app.fleet import JobId
from app.store.session import Connection
from app.store.sql import sql


async def lock(conn: Connection, parents: Iterable[JobId]) -> list[JobId]:
    """Lock the unfinished jobs that depend on any of these; they are read afterwards.

    Two parents that end at once meet here: whoever comes second counts what the first left.
    """
    rows = await conn.fetch(sql("dependant_lock"), list(parents))
    return [JobId(row["id"]) for row in rows]


async def count(conn: Connection, parents_left: Mapping[JobId, int]) -> None:
    """Store the number of unfinished parents of locked jobs that stay where they are.

    Their version stays as well: nothing that anybody is shown has changed. Whoever decides by the
    number compares it beside the version.
    """
    if parents_left:
        await conn.execute(sql("dependant_count"), list(parents_left), list(parents_left.values()))
