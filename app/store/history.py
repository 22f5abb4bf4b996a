"""What happened to a job, read back: its events, and among them its claims."""

from dataclasses import dataclass
from datetime import datetime

from app.fleet import FactoryId, JobId, JsonObject, Outcome
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event stands in the history of its job: by time, then by lease, then as written."""

    at: datetime
    turn: int
    source: int
    ord: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """Something that happened to a job.

    ``outcome`` is set if it ended a lease, which had begun at ``claimed_at``. A claim is the event
    ``claimed``; its detail names the decision.
    """

    job_id: JobId
    place: Place
    event: str
    factory_id: FactoryId | None
    fence: int | None
    outcome: Outcome | None
    claimed_at: datetime | None
    by: str | None
    detail: JsonObject

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.place.at


async def read(
    conn: Connection, job_id: JobId, *, after: Place | None, limit: int
) -> list[JobEvent]:
    """Read a job's history, oldest first, after a place in it."""
    rows = await conn.fetch(
        sql("history_read"),
        job_id,
        after and after.at,
        after and after.turn,
        after and after.source,
        after and after.ord,
        limit,
    )
    return [_to_event(job_id, row) for row in rows]


def _to_event(job_id: JobId, row: Record) -> JobEvent:
    return JobEvent(
        job_id=job_id,
        place=Place(at=row["at"], turn=row["turn"], source=row["source"], ord=row["ord"]),
        event=row["event"],
        factory_id=None if row["factory_id"] is None else FactoryId(row["factory_id"]),
        fence=row["fence"],
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
        claimed_at=row["claimed_at"],
        by=row["by"],
        detail=row["detail"],
    )
