"""What quarantine rests on: how leases ended lately, and how many factories are in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.fleet import FactoryId, Outcome
from app.health import COUNTED, QUARANTINE_OUTCOMES, PastLease
from app.store.session import Connection
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How many factories are registered, and how many of them in quarantine."""

    registered: int
    quarantined: int


async def census(conn: Connection) -> Census:
    """Count the factories."""
    row = await conn.fetchrow(sql("factory_count"))
    assert row is not None  # noqa: S101 - an aggregate without grouping has one row
    return Census(registered=row["registered"], quarantined=row["quarantined"])


async def past_leases(
    conn: Connection, ids: Sequence[FactoryId]
) -> dict[FactoryId, tuple[PastLease, ...]]:
    """Read the outcomes that quarantine rests on: the newest few since it was last lifted."""
    rows = await conn.fetch(sql("factory_past"), ids, sorted(COUNTED), QUARANTINE_OUTCOMES)
    found: dict[FactoryId, list[PastLease]] = {}
    for row in rows:
        found.setdefault(FactoryId(row["id"]), []).append(
            PastLease(
                outcome=Outcome(row["outcome"]),
                claimed_at=row["claimed_at"],
                ended_at=row["ended_at"],
            )
        )
    return {factory_id: tuple(past) for factory_id, past in found.items()}


async def try_quarantine_lock(conn: Connection) -> bool:
    """Be the only one who puts factories in quarantine until the transaction ends, or not."""
    mine: bool = await conn.fetchval(sql("quarantine_lock"))
    return mine
