"""The server of one process: begins to listen when it can answer, ends when all are answered."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import uvicorn
from fastapi import FastAPI

from app.main import create_app, stop_waiting
from app.runtime.listening import listen
from app.runtime.settings import Settings

_SHUTDOWN_S: Final = 10
_KEEP_ALIVE_S: Final = 75
"""Longer than the pause between two plain heartbeats, so that a factory keeps its connection."""


class _Server(uvicorn.Server):
    """A server that says when it serves, and leaves signals to us."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                lifespan="on",
                log_config=None,
                log_level="warning",
                # Nobody here asks who is behind a proxy, speaks WebSocket, or reads our name.
                proxy_headers=False,
                server_header=False,
                ws="none",
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_SHUTDOWN_S,
            )
        )
        self.serving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(settings: Settings, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve a coordinator for as long as the block lasts; then answer whoever waits, and end.

    Yields:
        The server at work, which ends before the block only if it fell.
    """
    async with serving_app(create_app(settings), listener) as server:
        yield server


@asynccontextmanager
async def serving_app(app: FastAPI, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """As :func:`serving`, for any application: benchmarks serve an empty one in the same way.

    Yields:
        The server at work.
    """
    server = _Server(app)
    listen(listener)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    ready = asyncio.create_task(server.serving.wait())
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    try:
        yield task
    finally:
        server.should_exit = True
        stop_waiting(app)
        await task


async def first(
    stop: asyncio.Event, server: asyncio.Task[None], more: asyncio.Task[None] | None = None
) -> None:
    """Wait until told to stop, the server fell, or ``more`` is done, which is ended in any case."""
    told = asyncio.create_task(stop.wait())
    tasks: set[asyncio.Task[Any]] = {told, server}
    if more is not None:
        tasks.add(more)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if more is not None and more.done():
            more.result()
    finally:
        for each in (told, more):
            if each is not None:
                each.cancel()
                await asyncio.wait([each])


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run to the end, on the fastest event loop there is."""
    loop_factory = uvicorn.Config("app.main").get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(coroutine)
