"""Factories in a database, and a history for them: what tests of the shell start from."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import uuid5

from app.fleet import CostClass, FactoryId, Health, Outcome, Principal, Role, TokenId
from app.runtime.ids import new_id
from app.store import enlisting
from app.store.enlisting import FactorySettings
from app.store.pulses import Pulse
from app.store.session import Connection

OPS = Principal(token_id=TokenId(new_id()), role=Role.OPS, name="ann")


def factory_principal(name: str) -> Principal:
    """The caller that a factory's own token stands for."""
    token_id = TokenId(uuid5(OPS.token_id, name))
    return Principal(token_id=token_id, role=Role.FACTORY, name=name, factory_id=FactoryId(name))


async def database_now(conn: Connection) -> datetime:
    """The database's time."""
    now: datetime = await conn.fetchval("select clock_timestamp()")
    return now


async def register(
    conn: Connection,
    name: str = "f1",
    *,
    seat_limit: int = 1,
    capabilities: Sequence[str] = (),
    account: str | None = None,
    health: Health = Health.OK,
) -> FactoryId:
    """Register a factory straight in the store."""
    factory_id = FactoryId(name)
    new = FactorySettings(
        id=factory_id,
        version=1,
        now=await database_now(conn),
        capabilities=frozenset(capabilities),
        engines=frozenset(),
        declared_cost_ceiling=CostClass.HIGH,
        declared_seat_limit=seat_limit,
        account=account,
    )
    assert await enlisting.register(conn, new, Pulse(factory_id=factory_id, health=health))
    return factory_id


async def end_lease(
    conn: Connection,
    factory_id: str,
    outcome: Outcome,
    *,
    ago: timedelta = timedelta(),
    took: timedelta = timedelta(minutes=5),
) -> None:
    """Write down that a lease of the factory ended so, ``ago`` before now."""
    await conn.execute(
        """
        insert into job_event (job_id, event, factory_id, fence, outcome, claimed_at, at)
        values ($1, $2, $3, 1, $2, clock_timestamp() - $4::interval - $5::interval,
                clock_timestamp() - $4::interval)
        """,
        new_id(),
        outcome.value,
        factory_id,
        ago,
        took,
    )
