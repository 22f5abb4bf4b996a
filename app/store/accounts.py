"""Provider accounts: until when a usage limit keeps all factories of one from claiming.

A factory that names no account cools down alone, under a private name: its id behind a control
character (U+001F), which no name given by people can hold.
"""

from datetime import datetime

from app.fleet import FactoryId
from app.store.session import Connection
from app.store.sql import sql


async def cool_factory(conn: Connection, factory_id: FactoryId, until: datetime) -> None:
    """Cool down the account of a factory, as it stands in its settings; else the factory alone.

    Until ``until``, or for longer if that was said before. Row locks of accounts come last in a
    transaction, after those of seats, jobs and locks.
    """
    await conn.execute(sql("account_cool_factory"), factory_id, until)


async def warm_factory(conn: Connection, factory_id: FactoryId) -> bool:
    """Lift the cool-down of a factory's account, or of the factory alone; tells if there was one.

    As with :func:`cool`, its row lock comes last in a transaction.
    """
    return bool(await conn.fetchval(sql("account_warm_factory"), factory_id))
