"""Being told to stop: SIGTERM and Ctrl-C as an event that a program waits for."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def told_to_stop() -> Iterator[asyncio.Event]:
    """Set an event at SIGTERM and Ctrl-C, in place of what they did before.

    What they did before comes back with the end of the block; asyncio's own way would not do that.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def told(number: int, frame: FrameType | None) -> None:
        del number, frame
        loop.call_soon_threadsafe(stop.set)

    before = {each: signal.signal(each, told) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
