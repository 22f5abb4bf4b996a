"""The first migration: how its hot tables are kept, and the way back from it."""

from alembic import command
from sqlalchemy import Connection, inspect, pool, text
from sqlalchemy.ext.asyncio import create_async_engine

from app.store.migrate import alembic_config, driver_url, migrate, schema_is_current

HOT = {"job", "job_event", "decision", "factory_seat", "factory_pulse", "job_lock"}


async def test_hot_tables_are_vacuumed_early(database_url: str) -> None:
    engine = create_async_engine(driver_url(database_url), poolclass=pool.NullPool)
    async with engine.connect() as connection:
        found = await connection.execute(
            text("select relname, reloptions from pg_class where reloptions is not null")
        )
        options = {row.relname: ",".join(row.reloptions) for row in found}
    await engine.dispose()
    assert {name for name, set_to in options.items() if "vacuum_scale_factor" in set_to} >= HOT
    assert "fillfactor=80" in options["job"]
    assert "fillfactor=70" in options["factory_seat"]


async def test_the_way_back_leaves_nothing_and_can_be_gone_again(database_url: str) -> None:
    def down(connection: Connection) -> set[str]:
        config = alembic_config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        return set(inspect(connection).get_table_names())

    engine = create_async_engine(driver_url(database_url), poolclass=pool.NullPool)
    async with engine.connect() as connection:
        assert await connection.run_sync(down) == {"alembic_version"}
        await connection.commit()
    await engine.dispose()
    assert (await migrate(database_url)).before is None
    assert await schema_is_current(database_url)
