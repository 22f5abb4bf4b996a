"""Factories, written: registered, changed over the version that was read, removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.fleet import CostClass, FactoryId, Health, Standing
from app.store.factories import standing_of
from app.store.pulses import Pulse
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorySettings:
    """The row that a change starts from and is compared with: everything but signs of life."""

    id: FactoryId
    version: int
    now: datetime
    capabilities: frozenset[str]
    engines: frozenset[str]
    declared_cost_ceiling: CostClass
    declared_seat_limit: int
    ops_cost_ceiling: CostClass | None = None
    ops_seat_limit: int | None = None
    account: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    drain: Standing | None = None
    pause: Standing | None = None
    quarantined_until: datetime | None = None
    quarantine_strikes: int = 0
    quarantine_lifted_at: datetime | None = None


async def settings(conn: Connection, ids: Sequence[FactoryId]) -> tuple[FactorySettings, ...]:
    """Read what changes start from, in the order of the ids; unknown ones are left out."""
    return tuple(_settings(row) for row in await conn.fetch(sql("factory_settings"), ids))


async def register(conn: Connection, new: FactorySettings, pulse: Pulse) -> bool:
    """Register a factory that may not be known yet; False if someone else just did."""
    registered: bool = await conn.fetchval(
        sql("factory_register"),
        new.id,
        *_declared(new),
        (pulse.health or Health.OK).value,
        pulse.external_load or 0,
        list(pulse.warm_repos or ()),
    )
    return registered


async def write(conn: Connection, changed: FactorySettings) -> bool:
    """Write settings over the version they name, and move the epoch; False if it moved before."""
    written: bool = await conn.fetchval(
        sql("factory_write"),
        changed.id,
        changed.version,
        *_declared(changed),
        *_standing_columns(changed.drain),
        *_standing_columns(changed.pause),
        changed.quarantined_until,
        changed.quarantine_strikes,
        changed.quarantine_lifted_at,
    )
    return written


async def lock_seats(conn: Connection, factory_id: FactoryId) -> int | None:
    """Keep a factory's seats as they are until the end of the transaction; tells those used."""
    used: int | None = await conn.fetchval(sql("factory_seats_used"), factory_id)
    return used


async def remove(conn: Connection, factory_id: FactoryId) -> None:
    """Remove a factory whose seats the caller has locked."""
    await conn.execute(sql("factory_remove"), factory_id)


def _settings(row: Record) -> FactorySettings:
    now: datetime = row["now"]
    override = row["ops_cost_ceiling"]
    return FactorySettings(
        id=FactoryId(row["id"]),
        version=row["version"],
        now=now,
        capabilities=frozenset(row["capabilities"]),
        engines=frozenset(row["engines"]),
        declared_cost_ceiling=CostClass(row["declared_cost_ceiling"]),
        declared_seat_limit=row["declared_seat_limit"],
        ops_cost_ceiling=None if override is None else CostClass(override),
        ops_seat_limit=row["ops_seat_limit"],
        account=row["account"],
        labels=row["labels"],
        drain=standing_of(row, "drain", now),
        pause=standing_of(row, "pause", now),
        quarantined_until=row["quarantined_until"],
        quarantine_strikes=row["quarantine_strikes"],
        quarantine_lifted_at=row["quarantine_lifted_at"],
    )


def _declared(new: FactorySettings) -> tuple[object, ...]:
    return (
        sorted(new.capabilities),
        sorted(new.engines),
        new.declared_cost_ceiling.value,
        new.declared_seat_limit,
        None if new.ops_cost_ceiling is None else new.ops_cost_ceiling.value,
        new.ops_seat_limit,
        new.account,
        dict(new.labels),
    )


def _standing_columns(standing: Standing | None) -> tuple[object, ...]:
    if standing is None:
        return (None, None, None)
    return (standing.reason, standing.by, standing.until)
