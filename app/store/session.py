"""Connections to PostgreSQL: few, long-lived, and bounded.

A request holds one connection of the pool at most and waits at most ``timeout_s`` for it, else it
is answered :class:`app.errors.Unavailable`. A transaction that only stays open while others work,
as that of a tick's lock does, has a connection beside the pool (:meth:`Database.aside`), one in a
process. The pool's reset, a round trip at every release, is switched off: nothing here changes a
session's settings, and an open transaction is rolled back anyway. A connection that died is
replaced by the next request that needs one, so a database that went away and came back needs no
restart of ours. Whatever goes wrong with the connection itself, and not with the statement, is
``Unavailable`` to the caller.

Behind a pooler in transaction mode each transaction, and each statement outside of one, may meet
another server process. So nothing is kept there: statements are prepared without a name and, as
asyncpg asks for their types in one round trip and runs them in the next, sent again with the run;
time is up by our own clock, as PgBouncer refuses a ``statement_timeout``; advisory locks are the
transaction's; and what needs a session, LISTEN and migrations, goes around the pooler.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import asyncpg
import orjson
from asyncpg.pool import PoolConnectionProxy
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlmodel.sql.expression import Select, SelectOfScalar

from app.errors import Unavailable

Connection: TypeAlias = asyncpg.Connection | PoolConnectionProxy
Record: TypeAlias = asyncpg.Record

RETRY_AFTER_S = 2
"""What a caller is told when the database cannot be reached."""

CONNECTION_LOST = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.QueryCanceledError,
)
"""Faults of the way to the database, not of what was asked of it."""

_DIALECT = PGDialect_asyncpg()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on what the database may be asked for, and how it is reached."""

    size: int = 10
    timeout_s: float = 5.0
    statement_timeout_s: float = 30.0
    statement_cache: int = 256
    """Prepared statements kept per connection; with none, we may be behind a pooler."""
    steady_plans: bool = False
    """Plan each statement once, by its indexes, whatever the tables held at that moment.

    A plan that was made while a table was small reads the whole of it, and is kept when it is not
    small any more; and planning anew takes longer than the hot statements run.
    """


class Database:
    """A bounded set of connections to one PostgreSQL."""

    def __init__(self, *, url: str, limits: Limits, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """Use :meth:`open` instead."""
        self.url = url
        self.limits = limits
        self._pool = pool
        self._kept: list[PoolConnectionProxy[Record]] = []
        self._asking = 0
        self._closing = False
        self._aside = False

    @classmethod
    async def open(cls, url: str, limits: Limits | None = None) -> Self:
        """Prepare the pool; nothing is connected before the first use."""
        limits = limits or Limits()
        pool = await asyncpg.create_pool(
            dsn=url,
            min_size=0,
            max_size=limits.size,
            max_queries=1_000_000,
            init=_prepare,
            reset=_keep_as_it_is,
            **_options(limits),
        )
        return cls(url=url, limits=limits, pool=pool)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection in autocommit mode.

        Raises:
            Unavailable: none became free in time, or the database cannot be reached.
        """
        with reachable():
            lent = await self._take()
            try:
                yield lent
            except BaseException as error:
                if isinstance(error, asyncpg.InternalClientError):
                    # The driver lost track: the server's last word came when none was expected.
                    lent.terminate()
                await self._pool.release(lent)
                raise
            wanted = self._asking or self._closing
            if wanted or lent.is_closed() or lent.is_in_transaction():
                await self._pool.release(lent)
            else:
                self._kept.append(lent)

    async def _take(self) -> "PoolConnectionProxy[Record]":
        """Take what was kept last, or ask the pool.

        Giving a connection back to the pool and asking for it again costs as much as a short
        statement. So one that is sound, and that nobody asks for, is kept aside for the next.
        """
        while self._kept:
            kept = self._kept.pop()
            if not kept.is_closed():
                return kept
            await self._pool.release(kept)
        self._asking += 1
        try:
            return await self._pool.acquire(timeout=self.limits.timeout_s)
        finally:
            self._asking -= 1

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Lend a connection inside a READ COMMITTED transaction, committed at the end."""
        async with self.connection() as lent, lent.transaction():
            yield lent

    async def dedicated(self) -> "asyncpg.Connection[asyncpg.Record]":
        """Open a connection beside the pool, for a loop that keeps it; the caller closes it."""
        with reachable():
            lent = await asyncpg.connect(
                dsn=self.url, timeout=self.limits.timeout_s, **_options(self.limits)
            )
            await _prepare(lent)
            return lent

    @asynccontextmanager
    async def aside(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record] | None"]:
        """Lend a connection beside the pool, opened for the block; None while it is lent already.

        For a transaction that does nothing but stay open: one of the pool would be missed there.

        Raises:
            Unavailable: the database cannot be reached, or not any more.
        """
        if self._aside:
            yield None
            return
        self._aside = True
        try:
            lent = await self.dedicated()
            try:
                with reachable():
                    yield lent
            finally:
                with suppress(*CONNECTION_LOST):
                    await lent.close(timeout=self.limits.timeout_s)
        finally:
            self._aside = False

    async def close(self) -> None:
        """Close every connection; those in use are given a moment and then cut."""
        self._closing = True
        try:
            async with asyncio.timeout(self.limits.timeout_s):
                while self._kept:
                    await self._pool.release(self._kept.pop())
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()


@contextmanager
def reachable() -> Iterator[None]:
    """Turn faults of the connection into ``Unavailable``."""
    try:
        yield
    except CONNECTION_LOST as error:
        if isinstance(error, asyncpg.InterfaceError) and "clos" not in str(error):
            # The driver says so too of arguments that do not fit: a fault of ours, no outage.
            raise
        detail = "The database cannot be reached, or is too busy to answer in time."
        raise Unavailable(detail, retry_after_s=RETRY_AFTER_S) from error


def statement(select: "Select[Any] | SelectOfScalar[Any]") -> tuple[str, Sequence[Any]]:
    """Turn a SQLModel select into the text and the arguments that a connection takes.

    Statements whose text is fixed are ``.sql`` files; this is for those whose shape depends on
    which filters a caller named.
    """
    compiled = select.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return str(compiled), [compiled.params[name] for name in compiled.positiontup or ()]


def _options(limits: Limits) -> dict[str, Any]:
    if not limits.statement_cache:
        return {
            "statement_cache_size": 0,
            "command_timeout": limits.statement_timeout_s,
            "server_settings": {"application_name": "fleet"},
        }
    steady = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
    return {
        "statement_cache_size": limits.statement_cache,
        "server_settings": {
            "application_name": "fleet",
            "statement_timeout": str(int(limits.statement_timeout_s * 1000)),
            # Plans of short statements only lose by it.
            "jit": "off",
            **(steady if limits.steady_plans else {}),
        },
    }


async def _prepare(lent: Connection) -> None:
    # In binary form, so that rows can be copied in; jsonb puts the number of its version before it.
    await lent.set_type_codec(
        "json", schema="pg_catalog", encoder=orjson.dumps, decoder=orjson.loads, format="binary"
    )
    await lent.set_type_codec(
        "jsonb", schema="pg_catalog", encoder=_jsonb, decoder=_of_jsonb, format="binary"
    )


async def _keep_as_it_is(_lent: Connection) -> None:
    """Skip the reset: no session here changes settings."""


def _jsonb(value: object) -> bytes:
    return b"\x01" + orjson.dumps(value)


def _of_jsonb(data: bytes) -> object:
    read: object = orjson.loads(memoryview(data)[1:])
    return read
