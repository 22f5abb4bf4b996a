"""The ear: hears the wake-up calls of other transactions, for as long as it can.

Notifications get lost whenever the connection does, so whoever listens is also woken when the ear
comes back, and should look by himself now and then besides. LISTEN needs a direct connection:
beside a pooler in transaction mode ``url`` must lead around it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

import asyncpg

from app.store.session import CONNECTION_LOST
from app.store.wake import ANY, CHANNEL

RECONNECT_S = 0.5
PING_S = 5.0

log = logging.getLogger(__name__)


class Listener:
    """Calls ``heard`` with the payload of each wake-up call, and with ``ANY`` after a gap."""

    def __init__(self, *, url: str, heard: Callable[[str], None]) -> None:
        """Remember where to listen; nothing is opened before :meth:`run`."""
        self._url = url
        self._heard = heard
        self.listening = asyncio.Event()

    async def run(self) -> None:
        """Listen until cancelled, reconnecting for as long as it takes."""
        while True:
            try:
                await self._listen_until_lost()
            except CONNECTION_LOST as error:
                log.warning("the listening connection was lost: %s", error)
            finally:
                self.listening.clear()
            await asyncio.sleep(RECONNECT_S)

    async def _listen_until_lost(self) -> None:
        lost = asyncio.Event()
        ear = await asyncpg.connect(
            dsn=self._url, timeout=5, server_settings={"application_name": "fleet listener"}
        )
        try:
            ear.add_termination_listener(lambda *_: lost.set())
            await ear.add_listener(CHANNEL, self._on_notification)
            self.listening.set()
            self._heard(ANY)
            while not lost.is_set():
                await _either(lost.wait(), seconds=PING_S)
                # A peer that vanished without a word is noticed by asking.
                await ear.execute("select 1", timeout=PING_S)
        finally:
            with contextlib.suppress(*CONNECTION_LOST):
                await ear.close(timeout=1)

    def _on_notification(self, _ear: object, _pid: int, _channel: str, payload: object) -> None:
        self._heard(str(payload))


async def _either(event: Awaitable[object], *, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event, seconds)
