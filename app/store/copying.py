"""Copying in: many rows into a table, in steps, so that both sides of the connection work at once.

PostgreSQL begins with a step when all of it has been sent. While it works on that, the next one is
made here; and what is left to do when all are sent is done beside the last.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

from app.store.session import Connection

Row = tuple[object, ...]


async def copy_in(
    conn: Connection,
    table: str,
    columns: Sequence[str],
    steps: Iterable[Iterable[Row]],
    meanwhile: Callable[[], None],
) -> None:
    """Copy rows into a table, in the caller's transaction.

    Args:
        conn: the caller's transaction.
        table: where the rows belong.
        columns: what the values of a row are, in order.
        steps: the rows; each step is asked for only when the one before has been sent.
        meanwhile: called once, when the last step has been sent.
    """
    under_way: asyncio.Task[str] | None = None
    try:
        for step in steps:
            if under_way is not None:
                await under_way
            under_way = await _sent(conn, table, columns, step)
        meanwhile()
        if under_way is not None:
            await under_way
    except BaseException:
        # The connection must be at rest before the transaction on it can be rolled back.
        if under_way is not None:
            under_way.cancel()
            await asyncio.gather(under_way, return_exceptions=True)
        raise


async def _sent(
    conn: Connection, table: str, columns: Sequence[str], rows: Iterable[Row]
) -> "asyncio.Task[str]":
    """Begin to copy; returns as soon as everything was sent, or it has failed."""
    sent = asyncio.Event()
    loop = asyncio.get_running_loop()

    def watched() -> Iterator[Row]:
        yield from rows
        # The driver writes what is left right after this row, in the same turn of the loop.
        loop.call_soon(sent.set)

    task = asyncio.create_task(
        conn.copy_records_to_table(table, records=watched(), columns=columns)
    )
    task.add_done_callback(lambda _: sent.set())
    try:
        await sent.wait()
    except BaseException:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return task
