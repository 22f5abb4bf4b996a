"""How alembic runs here: on a connection it is handed, or on one it opens itself.

``app.store.migrate`` hands over its connection, which holds the lock of migrations. On its own
(``alembic revision --autogenerate``) alembic asks the settings for the database.
"""

import asyncio

from alembic import context
from sqlalchemy import Connection, pool
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel import SQLModel

from app.runtime.settings import Settings
from app.store.migrate import driver_url


def run_on(connection: Connection) -> None:
    """Run what alembic was asked for on this connection."""
    context.configure(
        connection=connection,
        target_metadata=SQLModel.metadata,
        compare_server_default=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()


async def run_on_own_connection() -> None:
    """Open a connection to the database of the settings, for a developer's command."""
    url = Settings().direct_url
    if url is None:
        message = "set FLEET_DATABASE_URL; `fleet up` writes its own into fleet.json"
        raise SystemExit(message)
    engine = create_async_engine(driver_url(url), poolclass=pool.NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(run_on)
    await engine.dispose()


given = context.config.attributes.get("connection")
if given is None:
    asyncio.run(run_on_own_connection())
else:
    run_on(given)
