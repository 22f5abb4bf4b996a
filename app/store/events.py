"""What happened to jobs: appended, never changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter

from app.fleet import FactoryId, JobId, JsonObject, Outcome
from app.store.session import Connection
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """Something that happened to a job, now.

    ``outcome`` and ``claimed_at`` are set when it ended a lease: such events are the record of the
    factory (derived health) and the receipt of the fence.
    """

    job_id: JobId
    event: str
    factory_id: FactoryId | None = None
    fence: int | None = None
    outcome: Outcome | None = None
    claimed_at: datetime | None = None
    by: str | None = None
    detail: JsonObject = field(default_factory=dict)


_COLUMNS = tuple(each.name for each in fields(NewEvent))
_values = attrgetter(*_COLUMNS)
_COPY_FROM = 50
"""From so many on, a copy is faster than a statement, although it takes another round trip."""


async def record(conn: Connection, events: Iterable[NewEvent]) -> None:
    """Append events in the caller's transaction."""
    rows = list(events)
    if not rows:
        return
    if len(rows) > _COPY_FROM:
        records = [_values(row) for row in rows]
        await conn.copy_records_to_table("job_event", records=records, columns=_COLUMNS)
        return
    await conn.execute(
        sql("event_record"),
        [row.job_id for row in rows],
        [row.event for row in rows],
        [row.factory_id for row in rows],
        [row.fence for row in rows],
        [row.outcome for row in rows],
        [row.claimed_at for row in rows],
        [row.by for row in rows],
        [row.detail for row in rows],
    )


async def cancelled_by(conn: Connection, job_id: JobId) -> str | None:
    """Tell who last cancelled a job by hand, or asked for it; None if nobody did."""
    name: str | None = await conn.fetchval(sql("event_cancelled_by"), job_id)
    return name
