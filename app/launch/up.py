"""``fleet up``: everything at once, on one machine.

In the order of need: PostgreSQL, the schema, the tokens and ``fleet.json``, the server, the ticks,
the demo. It ends in the reverse order: the demo's factories give their jobs back while somebody is
there to take them, then whoever waits is answered, and PostgreSQL stops last.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """What was asked of the demo."""

    repo: Path | None
    exit_when_done: bool


def start(settings: Settings, show: Show | None) -> None:
    """Serve until told to stop, or until the demo is over if that was asked."""
    with bound(settings.host, settings.port) as listener, _database(settings) as database_url:
        served = settings.model_copy(update={"database_url": database_url})
        run(_serve(served, database_url, listener, show))


async def _serve(
    settings: Settings, database_url: str, listener: socket.socket, show: Show | None
) -> None:
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
        if show is None:
            await first(stop, server)
            return
        connection = Connection(settings.data_dir)
        stage = Stage(connection=connection, repo=show.repo, here=Path.cwd(), say=typer.echo)
        await first(stop, server, asyncio.create_task(_play(stage, show)))


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


@contextmanager
def _database(settings: Settings) -> Iterator[str]:
    """Lend the database: the one that was named, else embedded PostgreSQL for as long as we run."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    with embedded_postgres(settings.data_dir, say=warn) as postgres:
        yield postgres.url
