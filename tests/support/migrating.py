"""The way back: a database as an older build left it."""

from alembic import command
from sqlalchemy import Connection, pool
from sqlalchemy.ext.asyncio import create_async_engine

from app.store.migrate import alembic_config, driver_url


async def back_to(url: str, revision: str) -> None:
    """Take the schema of a database back to a revision."""

    def down(connection: Connection) -> None:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.downgrade(config, revision)

    engine = create_async_engine(driver_url(url), poolclass=pool.NullPool)
    async with engine.connect() as connection:
        await connection.run_sync(down)
        await connection.commit()
    await engine.dispose()
