"""What the registered factories offer: as much of them as it takes to say "never"."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from app.fleet import ClassId, Factory, FactoryId, Health, JobClass, Standing
from app.store import classes
from app.store.retrying import Moved
from app.store.session import Connection, Record
from app.store.sql import sql

ClassKey: TypeAlias = tuple[ClassId, bytes]
"""A class's id and its kin, empty if it has none: what a job's row says of its class."""

_TRIES_MAX: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Factories with their capabilities, engines, drain and reported health, no more of them."""

    now: datetime
    factories: tuple[Factory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """Classes, and which of them no factory that stays may take; if any, what factories offer."""

    now: datetime
    keys: Mapping[JobClass, ClassKey]
    hopeless: frozenset[ClassId]
    factories: tuple[Factory, ...] = ()


async def prospects(conn: Connection, job_classes: Iterable[JobClass]) -> Prospects:
    """Find classes, making those that are new, and tell which of them nobody will ever take.

    Mostly they are there, and somebody may take each; then that is all that is asked.

    Args:
        conn: the caller's transaction.
        job_classes: what is to be found.

    Returns:
        With the time of the transaction.

    Raises:
        Moved: the classes were pruned as often as they were made.
    """
    wanted = {classes.digest(each): each for each in job_classes}
    for _ in range(_TRIES_MAX):
        rows = await conn.fetch(sql("offer_prospects"), list(wanted))
        found = [row for row in rows if row["id"] is not None]
        if len(found) == len(wanted):
            break
        await classes.intern(conn, wanted.values())
    else:
        raise Moved
    hopeless = frozenset(ClassId(row["id"]) for row in found if row["hopeless"])
    return Prospects(
        now=rows[0]["now"],
        keys={wanted[row["digest"]]: (ClassId(row["id"]), row["kin"]) for row in found},
        hopeless=hopeless,
        factories=(await read(conn)).factories if hopeless else (),
    )


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
