"""Cooling: the usage limit of a provider account keeps all who share it from claiming.

Whatever a factory says of its account stands for others too, so it is believed for a week at most;
and whoever of ops knows better lifts it (:func:`app.coordinator.standing.resume`).
"""

from datetime import datetime, timedelta

from app.errors import Invalid
from app.fleet import FactoryId
from app.life import COOLDOWN_S_MAX
from app.store import accounts, factories
from app.store.session import Connection


async def cool(conn: Connection, factory_id: FactoryId, until: datetime) -> None:
    """Cool the account of a factory down, as the last thing of a transaction.

    Raises:
        Invalid: ``until`` is too far ahead.
    """
    latest = await factories.now(conn) + timedelta(seconds=COOLDOWN_S_MAX)
    if until > latest:
        detail = "It must lie at most 7 days ahead."
        raise Invalid(detail, errors=[{"field": "cooldown_until", "message": detail}])
    await accounts.cool_factory(conn, factory_id, until)
