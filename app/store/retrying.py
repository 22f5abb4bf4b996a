"""Transactions that begin again: after a lost compare-and-swap, or as a deadlock's victim."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from app.errors import LostRace
from app.store.session import Connection, Database

T = TypeVar("T")

TRIES_MAX = 8
"""How often a call begins again before it says so; each time, somebody else got through."""


class Moved(Exception):  # noqa: N818 - a signal to begin again, never seen by a caller
    """What was read is not so any more; roll back, read again and decide again."""


BEGIN_AGAIN = (Moved, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


async def settled(db: Database, act: Callable[[Connection], Awaitable[T]]) -> T:
    """Run ``act`` in a transaction of its own, until nothing moved under it.

    Raises:
        LostRace: something moved every time.
    """
    for _ in range(TRIES_MAX):
        try:
            async with db.transaction() as conn:
                return await act(conn)
        except BEGIN_AGAIN:
            continue
    raise _lost()


async def settled_by_itself(db: Database, act: Callable[[Connection], Awaitable[T]]) -> T:
    """Run ``act``, one statement or several that each stand for themselves, without a transaction.

    Raises:
        LostRace: something moved every time.
    """
    for _ in range(TRIES_MAX):
        try:
            async with db.connection() as conn:
                return await act(conn)
        except BEGIN_AGAIN:
            continue
    raise _lost()


async def settled_within(conn: Connection, act: Callable[[], Awaitable[T]]) -> T:
    """Run ``act`` inside the caller's transaction, under a savepoint, until nothing moved.

    Rolling back to the savepoint gives up the row locks taken since, so that a deadlock is solved
    by it as well.

    Raises:
        LostRace: something moved every time.
    """
    for _ in range(TRIES_MAX):
        try:
            async with conn.transaction():
                return await act()
        except BEGIN_AGAIN:
            continue
    raise _lost()


def _lost() -> LostRace:
    return LostRace("Others kept changing the same jobs at the same time. Try again.")
