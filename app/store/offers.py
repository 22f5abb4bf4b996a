"""What the registered factories offer: as much of them as it takes to say "never"."""

from dataclasses import dataclass
from datetime import datetime

from app.fleet import Factory, FactoryId, Health, Standing
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Factories with their capabilities, engines, drain and reported health, no more of them."""

    now: datetime
    factories: tuple[Factory, ...]


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
