"""``fleet up``: everything at once, on one machine.

In the order of need: PostgreSQL, the schema, the tokens and ``fleet.json``, the server, the ticks,
the demo. It ends in the reverse order: the demo's factories give their jobs back while somebody is
there to take them, then whoever waits is answered, and PostgreSQL stops last.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from app.cli.connection import Connection
from app.cli.demo.show import Stage, demo
from app.cli.errors import CliError
from app.cli.fleet_file import FleetFile, last_fleet_file, write_fleet_file
from app.cli.screen import warn
from app.cli.welcome import welcome
from app.launch.keys import tokens_for
from app.launch.serving import first, run, serving
from app.launch.way import check_the_way
from app.loops.ticker import ticker
from app.runtime.embedded import embedded_postgres
from app.runtime.ids import chance
from app.runtime.listening import bound, url_of
from app.runtime.settings import Settings
from app.runtime.signals import told_to_stop
from app.sdk import FleetClient, FleetError
from app.store.migrate import migrate

_WATCH_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """What was asked of the demo."""

    repo: Path | None
    exit_when_done: bool


def start(settings: Settings, show: Show | None) -> None:
    """Serve until told to stop, or until the demo is over if that was asked."""
    with bound(settings.host, settings.port) as listener, _database(settings) as database:
        # A way around somebody's pooler does not lead to the database that we bring.
        listen_url = None if settings.database_url is None else settings.listen_url
        served = settings.model_copy(
            update={"database_url": database.url, "listen_url": listen_url}
        )
        run(_serve(served, database, listener, show))


async def _serve(
    settings: Settings, database: "_Database", listener: socket.socket, show: Show | None
) -> None:
    database_url = database.url
    await check_the_way(settings)
    direct_url = settings.listen_url or database_url
    await migrate(direct_url)
    url = url_of(listener)
    settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = last_fleet_file(settings.data_dir)
    tokens = await tokens_for(direct_url, before.tokens if before else None)
    content = FleetFile(url=url, database_url=database_url, tokens=tokens)
    fleet_file = write_fleet_file(settings.data_dir, content)
    async with AsyncExitStack() as stack:
        stop = stack.enter_context(told_to_stop())
        server = await stack.enter_async_context(serving(settings, listener))
        for line in welcome(url, fleet_file):
            typer.echo(line)
        if settings.ticker:
            cron = await stack.enter_async_context(FleetClient(url, tokens.cron))
            ticks = ticker(cron, interval_s=settings.tick_interval_s, chance=chance)
            await stack.enter_async_context(ticks.running())
        beside = [_watch(database)]
        if show is not None:
            connection = Connection(settings.data_dir)
            stage = Stage(connection=connection, repo=show.repo, here=Path.cwd(), say=typer.echo)
            beside.append(_play(stage, show))
        await first(stop, server, asyncio.create_task(_until_one_ends(beside)))


async def _until_one_ends(beside: Sequence[Coroutine[Any, Any, None]]) -> None:
    tasks = [asyncio.create_task(each) for each in beside]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for each in ended:
            each.result()
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _watch(database: "_Database") -> None:
    """Wait until the database that we brought has fallen, which is for ever if all is well.

    Raises:
        CliError: it has; who supervises us may start both again.
    """
    while not database.fallen():  # noqa: ASYNC110 - a process that falls sets no event
        await asyncio.sleep(_WATCH_S)
    message = "PostgreSQL ended by itself; what it said last is in postgres.log of the data folder"
    raise CliError(message)


async def _play(stage: Stage, show: Show) -> None:
    """Play the demo; its factories stay until this is cancelled."""
    try:
        async with demo(stage):
            if not show.exit_when_done:
                await asyncio.Event().wait()
    except (CliError, FleetError) as error:
        if show.exit_when_done:
            raise
        warn(f"demo: {error}")
        await asyncio.Event().wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Database:
    """A database, and whether it has fallen, if it is ours to know."""

    url: str
    fallen: Callable[[], bool] = lambda: False


@contextmanager
def _database(settings: Settings) -> Iterator[_Database]:
    """Lend the database: the one that was named, else embedded PostgreSQL for as long as we run."""
    if settings.database_url is not None:
        yield _Database(url=settings.database_url)
        return
    with embedded_postgres(settings.data_dir, say=warn) as postgres:
        yield _Database(url=postgres.url, fallen=postgres.fallen)
