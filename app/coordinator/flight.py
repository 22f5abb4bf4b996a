"""Picks in flight: what this process is committing, so that its next batch leaves it alone.

Two batches overlap: while one is being committed, the next is read and matched. It reads heads that
the first has not committed yet and that still look ready. Picked again they would be lost, and cost
another round; so whatever is in flight when a reading begins is left out of it.

Other processes cannot be seen in this way. All rank the same jobs first, and with several at once
more would be lost than won; so whoever loses takes turns with the others for a while.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from app.fleet import Job
from app.scheduler import Pick
from app.store.claims import take_turn
from app.store.session import Connection
from app.store.wake import warn_of_race

CONTESTED_S: Final = 1.0
"""How long after a pick that was lost processes take turns."""


class Flight:
    """The picks that batches of this process are committing."""

    def __init__(self) -> None:
        """Begin with none."""
        self.choosing = asyncio.Lock()
        """Held from before heads are read until what was picked of them is in flight."""
        self._open: dict[int, Job] = {}
        self._landed = asyncio.Event()
        self._contested_until = 0.0

    def __bool__(self) -> bool:
        """Whether anything is in flight."""
        return bool(self._open)

    @property
    def contested(self) -> bool:
        """Whether other processes have lately been after the same jobs."""
        return self._contested_until > asyncio.get_running_loop().time()

    def raced(self) -> None:
        """Note that processes are after the same jobs."""
        self._contested_until = asyncio.get_running_loop().time() + CONTESTED_S

    async def contend(self, conn: Connection) -> None:
        """Note that another process was first, and let all know, as the one that was does not."""
        known = self.contested
        self.raced()
        if not known:
            await warn_of_race(conn)

    def jobs(self) -> tuple[Job, ...]:
        """List what is in flight."""
        return tuple(self._open.values())

    @contextmanager
    def taking(self, picks: Iterable[Pick]) -> Iterator[None]:
        """Hold picks in flight while they are being committed."""
        mine = {id(pick): pick.job for pick in picks}
        self._open |= mine
        try:
            yield
        finally:
            for each in mine:
                del self._open[each]
            self._landed.set()
            self._landed = asyncio.Event()

    async def landing(self) -> None:
        """Wait until the next batch has been committed, if any is in flight."""
        if self._open:
            await self._landed.wait()


@asynccontextmanager
async def turn(conn: Connection, flight: Flight) -> AsyncIterator[None]:
    """Read and commit in turn with other processes, for as long as they race for the same jobs."""
    if conn.is_in_transaction() or not flight.contested:
        yield
        return
    async with conn.transaction():
        await take_turn(conn)
        yield
