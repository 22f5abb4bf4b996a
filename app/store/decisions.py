"""Past claims, read back: their decisions, and the receipts of leases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from app.fleet import DecisionId, FactoryId, JobId, JsonObject, Outcome
from app.store.session import Connection, Record, statement
from app.store.sql import sql
from app.store.tables import DecisionRow

_CLOCKS_APART = timedelta(hours=1)
"""Ids are made by the clocks of replicas, times are the database's: they differ by far less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A claim's record: who got what under which fence, and everything it was decided on."""

    id: DecisionId
    at: datetime
    factory_id: FactoryId
    job_id: JobId
    fence: int
    total: int
    record: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """Which decisions to list: those to which all applies that is named."""

    job_id: JobId | None = None
    factory_id: FactoryId | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptEvent:
    """Something that happened under a fence."""

    at: datetime
    event: str
    outcome: Outcome | None
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One lease of a job: who had it, by which decision, and all that happened under it."""

    fence: int
    factory_id: FactoryId
    claimed_at: datetime
    decision_id: DecisionId
    total: int
    open: bool
    events: tuple[ReceiptEvent, ...]


async def decision(conn: Connection, decision_id: DecisionId) -> Decision | None:
    """Read the record of a claim."""
    row = await conn.fetchrow(sql("decision_read"), decision_id)
    return None if row is None else _decision(row)


async def page(
    conn: Connection, wanted: DecisionFilter, *, after: DecisionId | None, limit: int
) -> list[Decision]:
    """Read the newest decisions that pass, older than ``after``, outside a transaction."""
    text, arguments = statement(page_query(wanted, after=after, limit=limit))
    # One snapshot for both: else one pruned in between would make the page look like the last.
    async with conn.transaction(isolation="repeatable_read", readonly=True):
        ids = [row["id"] for row in await conn.fetch(text, *arguments)]
        rows = {row["id"]: row for row in await conn.fetch(sql("decisions_read"), ids)}
    return [_decision(rows[each]) for each in ids]


def page_query(
    wanted: DecisionFilter, *, after: DecisionId | None, limit: int
) -> "SelectOfScalar[Any]":
    """Build the select of a page's ids: new is what has a greater id."""
    query = select(DecisionRow.id)
    if wanted.job_id is not None:
        query = query.where(col(DecisionRow.job_id) == wanted.job_id)
    if wanted.factory_id is not None:
        query = query.where(col(DecisionRow.factory_id) == wanted.factory_id)
    if wanted.since is not None:
        query = query.where(
            col(DecisionRow.at) >= wanted.since,
            col(DecisionRow.id) >= _least_id(wanted.since - _CLOCKS_APART),
        )
    if wanted.until is not None:
        query = query.where(
            col(DecisionRow.at) < wanted.until,
            col(DecisionRow.id) < _least_id(wanted.until + _CLOCKS_APART),
        )
    if after is not None:
        query = query.where(col(DecisionRow.id) < after)
    return query.order_by(col(DecisionRow.id).desc()).limit(limit)


async def receipts(conn: Connection, job_id: JobId, *, after: int, limit: int) -> list[Receipt]:
    """Read the leases of a job, the oldest first, those with a fence greater than ``after``."""
    rows = await conn.fetch(sql("lease_history"), job_id, after, limit)
    events = await conn.fetch(sql("lease_history_events"), job_id, [row["fence"] for row in rows])
    return [
        _receipt(row, [each for each in events if each["fence"] == row["fence"]]) for row in rows
    ]


def _decision(row: Record) -> Decision:
    return Decision(
        id=DecisionId(row["id"]),
        at=row["at"],
        factory_id=FactoryId(row["factory_id"]),
        job_id=JobId(row["job_id"]),
        fence=row["fence"],
        total=row["total"],
        record=row["record"],
    )


def _receipt(row: Record, events: Sequence[Record]) -> Receipt:
    return Receipt(
        fence=row["fence"],
        factory_id=FactoryId(row["factory_id"]),
        claimed_at=row["at"],
        decision_id=DecisionId(row["id"]),
        total=row["total"],
        open=row["open"],
        events=tuple(
            ReceiptEvent(
                at=each["at"],
                event=each["event"],
                outcome=None if each["outcome"] is None else Outcome(each["outcome"]),
                by=each["by"] or each["factory_id"],
            )
            for each in events
        ),
    )


def _least_id(at: datetime) -> UUID:
    """The least UUIDv7 of a moment: its first 48 bits are milliseconds since 1970."""
    return UUID(int=max(0, int(at.timestamp() * 1000)) << 80)
