"""A thin timer: do one thing, again and again, until told to stop.

A pass that fails is a line in the log and nothing more: the next one comes anyway. Pauses vary a
little, so that replicas started together do not act together for ever. Nobody sleeps on this loop
from outside: :meth:`Every.run_once` is the same pass by hand, and ends when the pass ends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from logging import getLogger

_LOG = getLogger(__name__)

JITTER_SHARE = 0.1
"""A pause is the interval give or take at most this share of it."""

STOP_TIMEOUT_S = 5.0
"""How long the pass that is running may take to its end once the loop is told to stop."""

Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """One thing to do every so often.

    ``act`` does it and counts what it changed, by name; ``chance`` draws 0 <= x < 1.
    """

    name: str
    interval_s: float
    act: Callable[[], Awaitable[Counts]]
    chance: Callable[[], float]

    async def run_once(self) -> Counts:
        """Do it now; the counts are logged if anything changed, and returned."""
        counts = await self.act()
        changed = {name: count for name, count in counts.items() if count}
        if changed:
            _LOG.info("loop %s", self.name, extra=changed)
        return counts

    async def run(self, stop: asyncio.Event) -> None:
        """Do it now and then at every interval, until ``stop`` is set."""
        while not stop.is_set():
            await self._survive()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.pause_s()):
                    await stop.wait()

    def pause_s(self) -> float:
        """Draw the length of the next pause, within the bound on jitter."""
        return self.interval_s * (1 + JITTER_SHARE * (2 * self.chance() - 1))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run beside the block; at its end let the pass at work finish, or cut it if it hangs."""
        stop = asyncio.Event()
        task = asyncio.create_task(self.run(stop), name=f"loop {self.name}")
        try:
            yield
        finally:
            stop.set()
            _, late = await asyncio.wait([task], timeout=STOP_TIMEOUT_S)
            for each in late:
                each.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _survive(self) -> None:
        try:
            await self.run_once()
        except Exception:  # noqa: BLE001 - whatever it was, the next pass gets its chance
            _LOG.exception("loop %s failed; it goes on", self.name)
