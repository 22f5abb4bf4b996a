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


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A factory's newest outcomes, and whether it succeeded since its last quarantine ended."""

    leases: tuple[PastLease, ...]
    succeeded_since: bool


async def past(conn: Connection, ids: Sequence[FactoryId]) -> dict[FactoryId, Past]:
    """Read what quarantine rests on; outcomes from before it was last lifted are left out."""
    rows = await conn.fetch(sql("factory_past"), ids, sorted(COUNTED), QUARANTINE_OUTCOMES)
    return {
        FactoryId(row["id"]): Past(
            leases=tuple(
                PastLease(outcome=Outcome(outcome), claimed_at=claimed_at, ended_at=ended_at)
                for outcome, claimed_at, ended_at in zip(
                    row["outcomes"], row["claimed"], row["ended"], strict=True
                )
            ),
            succeeded_since=row["succeeded_since"],
        )
        for row in rows
    }


async def try_lock(conn: Connection) -> bool:
    """Be the only one who puts factories in quarantine until the transaction ends, or not."""
    mine: bool = await conn.fetchval(sql("quarantine_lock"))
    return mine
