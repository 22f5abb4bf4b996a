"""A database that is clean for each question: for properties, which are synchronous."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from app.store.session import Connection, Database
from tests.support.postgres import Databases

T = TypeVar("T")


class Clean:
    """A database of its own; whatever a question puts there is gone again afterwards."""

    def __init__(self, runner: asyncio.Runner, conn: Connection) -> None:
        """Ask on this connection."""
        self._runner = runner
        self._conn = conn

    def ask(self, act: Callable[[Connection], Awaitable[T]]) -> T:
        """Run ``act`` in a transaction that is rolled back."""

        async def asked() -> T:
            transaction = self._conn.transaction()
            await transaction.start()
            try:
                return await act(self._conn)
            finally:
                await transaction.rollback()

        return self._runner.run(asked())


@contextmanager
def clean(databases: Databases) -> Iterator[Clean]:
    """Lend one for as long as the block lasts."""
    with databases.fresh() as url, asyncio.Runner() as runner:
        db = runner.run(Database.open(url))
        conn = runner.run(db.dedicated())
        yield Clean(runner, conn)
        runner.run(conn.close())
        runner.run(db.close())
