"""A turnstile: so many at once, some more in the queue, and nobody beyond.

Claims and explanations share one event loop and one set of connections. A dashboard that asks for
a hundred explanations at once waits for its turn holding neither; those who claim never pass here.
And whoever had a turn leaves it empty for some time after, in proportion to what it took: who asks
now and then never notices, and who asks without a pause leaves half of the time to claims.

Dry runs of ticks have a turnstile of their own: each asks the forge, which may take its time, and
explanations of the queue must not wait for it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.errors import Unavailable

EXPLANATIONS_AT_ONCE = 2
"""One may wait for the database while the other computes; more would only compute by turns."""

REHEARSALS_AT_ONCE = 1
"""They ask the forge the same questions, and decide on the same rows."""

REST = 3.0
"""How many times as long as it was taken a turn stays empty: two are taken half the time."""

REST_MAX_S = 1.0
QUEUE_MAX = 32
RETRY_AFTER_S = 2


class Turnstile:
    """Lets few work at once."""

    def __init__(
        self,
        at_once: int = EXPLANATIONS_AT_ONCE,
        queue_max: int = QUEUE_MAX,
        rest: float = REST,
    ) -> None:
        """Let ``at_once`` through, and ``queue_max`` wait; a turn rests ``rest`` times as long."""
        self._rest = rest
        self._free = asyncio.Semaphore(at_once)
        self._queue_max = queue_max
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, and have it for as long as the block takes.

        Raises:
            Unavailable: too many are waiting already.
        """
        if self._free.locked() and self._waiting >= self._queue_max:
            detail = "Too many explanations or dry runs are being asked for at once."
            raise Unavailable(detail, retry_after_s=RETRY_AFTER_S)
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            yield
        finally:
            rest_s = min(self._rest * (loop.time() - begun), REST_MAX_S)
            loop.call_later(rest_s, self._free.release)
