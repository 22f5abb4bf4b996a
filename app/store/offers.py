"""What the registered factories offer: as much of them as it takes to say "never"."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from app.fleet import ClassId, Factory, FactoryId, Health, Standing
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Factories with their capabilities, engines, drain and reported health, no more of them."""

    now: datetime
    factories: tuple[Factory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """Classes that no factory that stays may take; if there are any, what the factories offer."""

    now: datetime
    hopeless: frozenset[ClassId]
    factories: tuple[Factory, ...] = ()


async def prospects(conn: Connection, ids: Iterable[ClassId]) -> Prospects:
    """Tell which of these classes nobody will ever take, and the time of this transaction.

    Mostly there is no such class, and then it is enough to have found one factory for each.
    """
    rows = await conn.fetch(sql("offer_hopeless"), list(ids))
    now = rows[0]["now"]
    hopeless = frozenset(ClassId(row["class_id"]) for row in rows if row["class_id"] is not None)
    if not hopeless:
        return Prospects(now=now, hopeless=hopeless)
    return Prospects(now=now, hopeless=hopeless, factories=(await read(conn)).factories)


async def read(conn: Connection) -> Offers:
    """Read the offers of all registered factories, and the time of this transaction."""
    rows = await conn.fetch(sql("offer_read"))
    return Offers(
        now=rows[0]["now"],
        factories=tuple(_to_factory(row) for row in rows if row["id"] is not None),
    )


def _to_factory(row: Record) -> Factory:
    drain = None
    if row["drain_reason"] is not None:
        drain = Standing(reason=row["drain_reason"], by=row["drain_by"], until=row["drain_until"])
    return Factory(
        id=FactoryId(row["id"]),
        capabilities=frozenset(row["capabilities"]),
        engines=frozenset(row["engines"]),
        health=Health(row["health"]),
        drain=drain,
    )
