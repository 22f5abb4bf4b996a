"""How often a factory shows a sign of life: as it was told, or sooner for a short lease."""

import asyncio
from contextlib import suppress


class Pace:
    """The time between two heartbeats."""

    def __init__(self, seconds: float) -> None:
        """Begin with a pause of so many seconds."""
        self._seconds = seconds
        self._quicker = asyncio.Event()

    def set(self, seconds: float) -> None:
        """Take the pace that the coordinator set."""
        self._seconds = seconds

    def at_least(self, seconds: float) -> None:
        """Be at least as quick as this, in the present pause already."""
        self._seconds = min(self._seconds, seconds)
        self._quicker.set()

    async def pause(self) -> None:
        """Wait until the next heartbeat is due."""
        clock = asyncio.get_running_loop().time
        began = clock()
        while (left_s := began + self._seconds - clock()) > 0:
            self._quicker.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._quicker.wait()
