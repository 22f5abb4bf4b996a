"""``fleet serve --workers N``: several processes on one port, and one that looks after them.

The one that looks after them binds the port once for each, so that the system spreads connections
over them, and serves nothing itself. A worker that ends is replaced; those who connected meanwhile
wait at its socket, which stays. Told to stop, it stops them all and waits; should it fall, each
notices that by the end of its standard input, and stops as if told to.
"""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from logging import getLogger
from typing import Any, Final

import typer

from app.cli.errors import CliError
from app.launch.replica import check, direct_url_of
from app.launch.serving import first, run, serving
from app.runtime.listening import bound_often, inherited, url_of
from app.runtime.settings import Settings
from app.runtime.signals import told_to_stop

_PROGRAM: Final = (sys.executable, "-P", "-m", "app", "worker", "--socket")
_READY: Final = "ready"
_RESTART_AFTER_S: Final = 1.0
_STOP_S: Final = 20.0
"""How long workers may take to answer who is there; the server itself waits half of that."""

_LOG = getLogger(__name__)


def serve_together(settings: Settings, count: int) -> None:
    """Serve one replica by several processes until told to stop.

    Raises:
        CliError: there is no database, its schema is not up to date, or a worker cannot serve.
    """
    direct_url = direct_url_of(settings)
    with bound_often(settings.host, settings.port, count) as listeners:
        run(_look_after(settings, direct_url, listeners))


def work(settings: Settings, descriptor: int) -> None:
    """Serve at a socket that was left to this process, until told to stop or left alone."""
    with inherited(descriptor) as listener:
        run(_work(settings, listener))


async def _look_after(
    settings: Settings, direct_url: str, listeners: Sequence[socket.socket]
) -> None:
    await check(settings, direct_url)
    with told_to_stop() as stop:
        workers = [_Worker(listener) for listener in listeners]
        try:
            ready = asyncio.gather(*(each.start() for each in workers))
            await _unless_told(stop, ready)
            if not stop.is_set():
                url = url_of(listeners[0])
                typer.echo(f"The fleet coordinator serves at {url}, by {len(workers)} workers")
                keeping = asyncio.gather(*(each.keep() for each in workers))
                await _unless_told(stop, keeping)
        finally:
            # Nobody new is let in while those who are there are answered.
            for listener in listeners:
                listener.close()
            await asyncio.gather(*(each.stop() for each in workers))


async def _unless_told(stop: asyncio.Event, work: "asyncio.Future[list[None]]") -> None:
    told = asyncio.create_task(stop.wait())
    both: set[asyncio.Future[Any]] = {told, work}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
    finally:
        told.cancel()
        work.cancel()
        with suppress(asyncio.CancelledError, CliError):
            await work


class _Worker:
    """A process that serves at one of the sockets."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._process: Process | None = None

    async def start(self) -> None:
        """Start it, and wait until it serves.

        Raises:
            CliError: it ended before it did.
        """
        descriptor = self._listener.fileno()
        self._process = await asyncio.create_subprocess_exec(
            *(*_PROGRAM, str(descriptor)), stdin=PIPE, stdout=PIPE, pass_fds=[descriptor]
        )
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        if (await self._process.stdout.readline()).decode().strip() != _READY:
            message = f"a worker ended with {await self._process.wait()} before it could serve"
            raise CliError(message)

    async def keep(self) -> None:
        """Put another in its place whenever it ends."""
        while self._process is not None:
            code = await self._process.wait()
            _LOG.error("a worker ended with %d; another one takes its place", code)
            await self._replace()

    async def _replace(self) -> None:
        """Start another, however often that takes."""
        while True:
            await asyncio.sleep(_RESTART_AFTER_S)
            try:
                await self.start()
            except Exception:  # noqa: BLE001 - no memory, no descriptor, no thread: until there is
                _LOG.exception("no worker could be started; that is tried again")
            else:
                return

    async def stop(self) -> None:
        """Tell it to stop, and wait for its end."""
        process = self._process
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _work(settings: Settings, listener: socket.socket) -> None:
    with told_to_stop() as stop:
        async with serving(settings, listener) as server:
            typer.echo(_READY)
            sys.stdout.flush()
            alone = asyncio.create_task(_left_alone())
            await first(stop, server, alone)


async def _left_alone() -> None:
    """Wait until whoever started this process is gone: it holds the other end of the pipe."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(os.dup(0), "rb")
    )
    try:
        await reader.read()
    finally:
        transport.close()
