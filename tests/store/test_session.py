"""Connections: lent, kept for the next who asks, and never given on in a state he could see."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from app.errors import Unavailable
from app.store.session import Connection, Database, Limits

WHO = "select pg_backend_pid()"


async def of_size(url: str, size: int) -> Database:
    return await Database.open(url, Limits(size=size, timeout_s=5.0))


async def pid(db: Database) -> int:
    async with db.connection() as conn:
        found: int = await conn.fetchval(WHO)
        return found


async def test_the_connection_that_was_given_back_last_is_lent_next(database_url: str) -> None:
    db = await of_size(database_url, 3)
    async with db.connection() as first, db.connection() as second:
        pids = [await conn.fetchval(WHO) for conn in (second, first)]

    assert [await pid(db) for _ in range(3)] == [pids[1]] * 3
    await db.close()


@pytest.mark.parametrize("size", [1, 2])
async def test_everybody_gets_one_of_a_few_in_the_end(database_url: str, size: int) -> None:
    db = await of_size(database_url, size)
    pids = await asyncio.gather(*(pid(db) for _ in range(30)))
    assert len(set(pids)) <= size
    await db.close()


async def _leave_a_transaction_open(conn: Connection) -> None:
    await conn.execute("begin")


async def _fail(conn: Connection) -> None:
    with pytest.raises(asyncpg.DivisionByZeroError):
        await conn.execute("select 1/0")


async def _fail_in_a_transaction(conn: Connection) -> None:
    await conn.execute("begin")
    await conn.execute("select 1/0")


async def _be_cut_off(conn: Connection) -> None:
    await conn.execute("select pg_terminate_backend(pg_backend_pid())")


async def _give_up(conn: Connection) -> None:
    async with asyncio.timeout(0.05):
        await conn.execute("select pg_sleep(60)")


@pytest.mark.parametrize(
    "act", [_leave_a_transaction_open, _fail, _fail_in_a_transaction, _be_cut_off, _give_up]
)
async def test_whatever_one_leaves_behind_the_next_meets_nothing_of_it(
    database_url: str, act: Callable[[Connection], Awaitable[None]]
) -> None:
    db = await of_size(database_url, 1)
    for _ in range(3):
        try:
            async with db.connection() as conn:
                await act(conn)
        except (asyncpg.PostgresError, TimeoutError, Unavailable):
            pass
        async with db.connection() as conn:
            assert not conn.is_in_transaction()
            assert await conn.fetchval("select count(*) from job") == 0
    await db.close()


async def test_who_is_cancelled_while_a_statement_runs_spoils_nothing(database_url: str) -> None:
    db = await of_size(database_url, 1)
    begun = asyncio.Event()

    async def sleeping() -> None:
        async with db.connection() as conn:
            begun.set()
            await conn.execute("select pg_sleep(60)")

    task = asyncio.create_task(sleeping())
    await begun.wait()
    others = [asyncio.create_task(pid(db)) for _ in range(3)]
    task.cancel()

    assert len(set(await asyncio.gather(*others))) == 1
    await db.close()


async def test_closing_waits_for_who_is_at_work_and_keeps_nothing(database_url: str) -> None:
    db = await of_size(database_url, 2)
    await pid(db)
    lent, done = asyncio.Event(), asyncio.Event()

    async def working() -> int:
        async with db.connection() as conn:
            lent.set()
            await done.wait()
            found: int = await conn.fetchval("select 7")
            return found

    task = asyncio.create_task(working())
    await lent.wait()
    closing = asyncio.create_task(db.close())
    await asyncio.sleep(0)
    done.set()

    await closing
    assert await task == 7
