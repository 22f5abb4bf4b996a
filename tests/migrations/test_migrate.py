"""Migrating: many at once, behind a lock, and never over a newer schema."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, pool
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel import SQLModel

import app.store.tables
from app.store.migrate import (
    Migrated,
    MigrationTimeoutError,
    SchemaAheadError,
    alembic_config,
    driver_url,
    migrate,
    newest_revision,
    schema_is_current,
)
from tests.support.command import fleet_process
from tests.support.migrating import back_to

LOCK_KEY = 0x666C656574
REPLICAS = 5


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def test_an_empty_database_reaches_the_newest_revision(empty_database_url: str) -> None:
    assert not await schema_is_current(empty_database_url)
    assert await migrate(empty_database_url) == Migrated(before=None, after=newest_revision())
    assert await schema_is_current(empty_database_url)


async def test_a_second_migration_finds_nothing_to_do(database_url: str) -> None:
    newest = newest_revision()
    assert newest is not None
    assert await migrate(database_url) == Migrated(before=newest, after=newest)


async def test_of_five_replicas_that_start_at_once_one_migrates(empty_database_url: str) -> None:
    outcomes = await asyncio.gather(*(migrate(empty_database_url) for _ in range(5)))
    assert sorted(each.before is None for each in outcomes) == [False, False, False, False, True]
    assert {each.after for each in outcomes} == {newest_revision()}


async def test_from_one_step_behind_one_of_five_migrates(empty_database_url: str) -> None:
    """C51: three rounds of it."""
    for _ in range(3):
        behind = await _one_step_back(empty_database_url)
        outcomes = await asyncio.gather(*(migrate(empty_database_url) for _ in range(REPLICAS)))
        assert [each.before for each in outcomes].count(behind) == 1
        assert {each.after for each in outcomes} == {newest_revision()}


async def test_five_programs_that_migrate_at_once_all_come_up(empty_database_url: str) -> None:
    """C51."""
    migrating = (
        fleet_process("migrate", measured=False, FLEET_DATABASE_URL=empty_database_url)
        for _ in range(REPLICAS)
    )
    done = await asyncio.gather(*migrating)
    assert [(each.code, each.err) for each in done] == [(0, "")] * REPLICAS
    assert sum("from nothing to " in each.out for each in done) == 1
    assert sum("already" in each.out for each in done) == REPLICAS - 1


async def test_waiting_for_another_migration_has_an_end(empty_database_url: str) -> None:
    async with connected(empty_database_url) as other:
        await other.execute("select pg_advisory_lock($1)", LOCK_KEY)
        with pytest.raises(MigrationTimeoutError, match="another process is migrating"):
            await migrate(empty_database_url, wait_s=0.05)
    assert (await migrate(empty_database_url)).before is None


async def test_a_locked_table_stops_a_migration_and_leaves_nothing_half_done(
    empty_database_url: str,
) -> None:
    async with connected(empty_database_url) as other, other.transaction():
        await other.execute("create table alembic_version (version_num varchar(32) primary key)")
        with pytest.raises(MigrationTimeoutError, match="locked for too long"):
            await migrate(empty_database_url, lock_timeout_s=0.05)
    assert (await migrate(empty_database_url)).before is None


async def test_a_schema_ahead_of_this_build_is_named(database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute("update alembic_version set version_num = 'from_tomorrow'")
    with pytest.raises(SchemaAheadError, match=r"from_tomorrow.*a newer build"):
        await migrate(database_url)
    with pytest.raises(SchemaAheadError):
        await schema_is_current(database_url)


async def test_the_migrations_make_exactly_the_declared_tables(database_url: str) -> None:
    assert app.store.tables.__name__  # importing it filled the metadata

    def differences(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        return list(compare_metadata(context, SQLModel.metadata))

    engine = create_async_engine(driver_url(database_url), poolclass=pool.NullPool)
    async with engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    await engine.dispose()


async def _one_step_back(url: str) -> str:
    """Migrate, and take back the last step; returns where that leads."""
    await migrate(url)
    steps = [
        each.revision for each in ScriptDirectory.from_config(alembic_config()).walk_revisions()
    ]
    await back_to(url, steps[1])
    return steps[1]
