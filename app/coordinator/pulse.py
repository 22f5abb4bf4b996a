"""Signs of life: any call of a factory is one, and they are written for all factories together."""

from collections.abc import Callable, Iterable

from app.fleet import FactoryId
from app.store import pulses
from app.store.pulses import Pulse
from app.store.session import Database

FLUSH_S = 20.0
"""How often they are written: well within the heartbeat interval of 60 s."""


class PulseBook:
    """Who called this process since the last flush; ``waiting`` names who stays on the line."""

    def __init__(self, waiting: Callable[[], Iterable[FactoryId]]) -> None:
        """Start with nobody seen."""
        self._waiting = waiting
        self._seen: set[FactoryId] = set()

    def seen(self, factory_id: FactoryId) -> None:
        """Note a call of a factory; costs nothing but memory."""
        self._seen.add(factory_id)

    async def flush(self, db: Database) -> dict[str, int]:
        """Write down everybody seen, in one statement; tells how many.

        Raises:
            Unavailable: the database cannot be reached; they are written the next time.
        """
        called, self._seen = self._seen, set()
        seen = called | set(self._waiting())
        if seen:
            try:
                async with db.connection() as conn:
                    await pulses.touch(conn, [Pulse(factory_id=each) for each in sorted(seen)])
            except BaseException:
                self._seen |= called
                raise
        return {"seen": len(seen)}
