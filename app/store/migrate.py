"""Bringing the schema up to date, safely for many replicas that start at once.

Whoever gets the advisory lock migrates; the others wait for it, a bounded time, and then find
nothing left to do. Lock and migrations share one connection, so that a broken connection gives up
both. The lock is one of the session, so a URL that leads through a pooler is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, pool, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from app.store.direct import leads_directly

_LOCK_KEY: Final = 0x666C656574  # "fleet": one lock of this name per database
_LOCK_NOT_AVAILABLE: Final = "55P03"


class MigrationError(RuntimeError):
    """The schema could not be brought up to date."""


class SchemaAheadError(MigrationError):
    """The database was migrated by a newer build than this one."""


class MigrationTimeoutError(MigrationError):
    """A lock was not free in time: another migration, or a long transaction on a table."""


class PoolerInTheWayError(MigrationError):
    """The URL leads through a pooler, where a lock of the session is nobody's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What a migration did: the revision before (None: an empty database) and after."""

    before: str | None
    after: str | None


async def migrate(url: str, *, wait_s: float = 60.0, lock_timeout_s: float = 5.0) -> Migrated:
    """Upgrade the schema to the newest revision of this build.

    Args:
        url: a direct connection, as ``postgresql://…``.
        wait_s: longest wait for another process that is migrating.
        lock_timeout_s: longest wait of one statement for a table; a waiting ``alter table`` makes
            everybody else wait behind it, so it had better give up.

    Returns:
        The revisions before and after; the same one if there was nothing to do.

    Raises:
        SchemaAheadError: if the database is at a revision this build does not know.
        MigrationTimeoutError: if a lock was not free in time; nothing is half done, try again.
        PoolerInTheWayError: if the URL is no direct connection.
        Unavailable: if nobody answers there.
    """
    if not await leads_directly(url):
        message = (
            "migrations need a direct connection to PostgreSQL, and this one leads through a "
            "pooler: set FLEET_LISTEN_URL to one that leads around it"
        )
        raise PoolerInTheWayError(message)
    engine = create_async_engine(driver_url(url), poolclass=pool.NullPool)
    try:
        async with engine.connect() as connection:
            before = await connection.run_sync(_checked_revision)
            if before != newest_revision():
                await _wait_for_turn(connection, wait_s)
                before = await connection.run_sync(_checked_revision)
                await _set_lock_timeout(connection, lock_timeout_s)
                await _upgrade(connection)
            return Migrated(before=before, after=newest_revision())
    finally:
        await engine.dispose()  # closes the connection, and with it the lock is free


async def schema_is_current(url: str) -> bool:
    """Tell whether the schema is at the newest revision of this build; changes nothing.

    Raises:
        SchemaAheadError: if the database is at a revision this build does not know.
    """
    engine = create_async_engine(driver_url(url), poolclass=pool.NullPool)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_checked_revision) == newest_revision()
    finally:
        await engine.dispose()


def newest_revision() -> str | None:
    """Tell the newest revision of this build; None if it has none at all."""
    return ScriptDirectory.from_config(alembic_config()).get_current_head()


def alembic_config() -> Config:
    """Make alembic's configuration: where the migrations are, in a checkout or in a wheel."""
    package = Path(__file__).parents[1]
    installed = package / "_alembic"
    config = Config()
    folder = installed if installed.is_dir() else package.parent / "alembic"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config


def driver_url(url: str) -> str:
    """Turn ``postgresql://…`` into the URL by which SQLAlchemy finds asyncpg."""
    return "postgresql+asyncpg://" + url.partition("://")[2]


def _checked_revision(connection: Connection) -> str | None:
    """Read the database's revision.

    Raises:
        SchemaAheadError: if this build does not know it.
    """
    with connection.begin():
        have = MigrationContext.configure(connection).get_current_revision()
    script = ScriptDirectory.from_config(alembic_config())
    if have is not None and have not in {each.revision for each in script.walk_revisions()}:
        message = (
            f"the database is at schema revision {have}, which this build does not know "
            f"(its newest is {newest_revision()}): a newer build migrated it; start that one"
        )
        raise SchemaAheadError(message)
    return have


async def _wait_for_turn(connection: AsyncConnection, wait_s: float) -> None:
    """Take the lock of migrations for as long as the connection lives."""
    await _set_lock_timeout(connection, wait_s)
    with _lock_timeouts_as("another process is migrating this database and did not finish"):
        async with connection.begin():
            await connection.execute(select(func.pg_advisory_lock(_LOCK_KEY)))


async def _upgrade(connection: AsyncConnection) -> None:
    config = alembic_config()

    def run(on: Connection) -> None:
        config.attributes["connection"] = on
        command.upgrade(config, "head")

    with _lock_timeouts_as("a table was locked for too long by somebody's transaction"):
        await connection.run_sync(run)
        await connection.commit()


async def _set_lock_timeout(connection: AsyncConnection, seconds: float) -> None:
    milliseconds = max(1, round(seconds * 1000))
    async with connection.begin():
        await connection.exec_driver_sql(f"set lock_timeout = '{milliseconds}ms'")


@contextmanager
def _lock_timeouts_as(why: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
            raise
        message = f"{why}; nothing is half done, try again"
        raise MigrationTimeoutError(message) from error
