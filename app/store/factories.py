"""Factories, read whole: for decisions, and for people.

A factory is three rows. ``factory`` holds settings and what ops decided, and its version moves with
every change of them (:mod:`app.store.enlisting`). ``factory_seat`` counts leases and carries the
epoch that every such change moves too, so that a claim decided before it fails. ``factory_pulse``
holds signs of life and moves nothing (:mod:`app.store.pulses`).

Row locks are taken in the order seat → job → lock → factory → pulse → account.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.eligibility import STALE_AFTER
from app.fleet import (
    CostClass,
    Factory,
    FactoryId,
    FactoryRecord,
    FactorySpec,
    Health,
    Standing,
)
from app.health import (
    COUNTED,
    DEGRADED_OUTCOMES_MAX,
    health_shown,
    worse,
)
from app.store.session import Connection, Record
from app.store.sql import sql

WARM_REPOS_MAX = 16
"""How many repos may be warm at a factory: declared ones first, then its newest successes."""

MEASURES = (sorted(COUNTED), DEGRADED_OUTCOMES_MAX, WARM_REPOS_MAX)
"""What ``factory_read`` takes besides ids: outcomes that count, how many of them, how many repos.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryFacts:
    """A factory as decisions need it, and what the facts were read at."""

    factory: Factory
    epoch: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Factories as they were at ``now``, the database's time."""

    now: datetime
    factories: tuple[FactoryFacts, ...]


async def snapshot(conn: Connection, ids: Sequence[FactoryId] | None) -> Snapshot:
    """Read what decisions need of these factories, or of all; unknown ones are left out."""
    if ids is None:
        ids = await page(conn, after=None, limit=None)
    rows = await _read(conn, ids)
    read_at: datetime = rows[0]["now"] if rows else await now(conn)
    return Snapshot(
        now=read_at, factories=tuple(facts(row, read_at, row["last_seen_at"]) for row in rows)
    )


async def now(conn: Connection) -> datetime:
    """Tell the database's time."""
    time: datetime = await conn.fetchval(sql("now"))
    return time


async def records(
    conn: Connection, ids: Sequence[FactoryId], *, waiting: frozenset[FactoryId] = frozenset()
) -> tuple[FactoryRecord, ...]:
    """Read factories as people see them; those ``waiting`` at the desk are never stale."""
    return tuple(_record(row, waiting) for row in await _read(conn, ids))


async def page(conn: Connection, *, after: FactoryId | None, limit: int | None) -> list[FactoryId]:
    """List ids in their order, those after ``after``, at most ``limit``."""
    rows = await conn.fetch(sql("factory_page"), after or "", limit)
    return [FactoryId(row["id"]) for row in rows]


async def _read(conn: Connection, ids: Sequence[FactoryId]) -> list[Record]:
    rows: list[Record] = await conn.fetch(sql("factory_read"), ids, *MEASURES)
    return rows


def facts(row: Record, now: datetime, last_seen_at: datetime) -> FactoryFacts:
    """Translate the facts in a row of ``factory_read``."""
    return FactoryFacts(
        factory=Factory(
            id=FactoryId(row["id"]),
            capabilities=frozenset(row["capabilities"]),
            engines=frozenset(row["engines"]),
            warm_repos=_warm(row),
            cost_ceiling=CostClass(row["ops_cost_ceiling"] or row["declared_cost_ceiling"]),
            seat_limit=row["seat_limit"],
            seats_used=row["used"],
            external_load=row["external_load"],
            health=_health(row),
            drain=standing_of(row, "drain", now),
            pause=standing_of(row, "pause", now),
            quarantined_until=_ahead(row["quarantined_until"], now),
            account=row["account"],
            cooldown_until=_ahead(row["cooldown_until"], now),
            last_seen_at=last_seen_at,
            last_served_at=row["last_served_at"],
        ),
        epoch=row["epoch"],
        version=row["version"],
    )


def _record(row: Record, waiting: frozenset[FactoryId]) -> FactoryRecord:
    now: datetime = row["now"]
    override = row["ops_cost_ceiling"]
    factory_id = FactoryId(row["id"])
    return FactoryRecord(
        spec=FactorySpec(
            id=factory_id,
            capabilities=frozenset(row["capabilities"]),
            engines=frozenset(row["engines"]),
            warm_repos=tuple(row["warm_repos"]),
            cost_ceiling=CostClass(row["declared_cost_ceiling"]),
            seat_limit=row["declared_seat_limit"],
            health=Health(row["health"]),
            external_load=row["external_load"],
            account=row["account"],
            labels=row["labels"],
        ),
        version=row["version"],
        health=_health(row),
        seats_used=row["used"],
        seat_limit_override=row["ops_seat_limit"],
        cost_ceiling_override=None if override is None else CostClass(override),
        drain=standing_of(row, "drain", now),
        pause=standing_of(row, "pause", now),
        quarantined_until=_ahead(row["quarantined_until"], now),
        cooldown_until=_ahead(row["cooldown_until"], now),
        stale=factory_id not in waiting and now - row["last_seen_at"] > STALE_AFTER,
        last_seen_at=row["last_seen_at"],
        last_served_at=row["last_served_at"],
        registered_at=row["registered_at"],
    )


def _health(row: Record) -> Health:
    """The worse of what it reports and what its outcomes show."""
    return worse(Health(row["health"]), health_shown(row["seen"], row["bad"]))


def _warm(row: Record) -> frozenset[str]:
    """Declared repos first, then those of its newest successes, a limited number in all."""
    succeeded = row["repos"]
    if succeeded is None:
        return frozenset(row["warm_repos"][:WARM_REPOS_MAX])
    ordered = dict.fromkeys([*row["warm_repos"], *succeeded])
    return frozenset(list(ordered)[:WARM_REPOS_MAX])


def standing_of(row: Record, kind: str, now: datetime) -> Standing | None:
    """What an operator said of it, if it still stands."""
    reason = row[f"{kind}_reason"]
    if reason is None:
        return None
    standing = Standing(reason=reason, by=row[f"{kind}_by"], until=row[f"{kind}_until"])
    return standing if standing.in_force(now) else None


def _ahead(time: datetime | None, now: datetime) -> datetime | None:
    return time if time is not None and time > now else None
