"""Picks in flight: what this process is committing, so that its next batch leaves it alone.

Two batches overlap: while one is being committed, the next is read and matched. It reads heads that
the first has not committed yet and that still look ready. Picked again they would be lost, and cost
another round; so whatever is in flight when a reading begins is left out of it.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from app.fleet import Job
from app.scheduler import Pick


class Flight:
    """The picks that batches of this process are committing."""

    def __init__(self) -> None:
        """Begin with none."""
        self.choosing = asyncio.Lock()
        """Held from before heads are read until what was picked of them is in flight."""
        self._open: dict[int, Job] = {}
        self._landed = asyncio.Event()

    def __bool__(self) -> bool:
        """Whether anything is in flight."""
        return bool(self._open)

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
