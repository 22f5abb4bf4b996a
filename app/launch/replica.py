"""``fleet serve`` and ``fleet migrate``: on a PostgreSQL that is there already."""

import asyncio
import socket
from logging import getLogger
from pathlib import Path

import typer

from app.api.application import application
from app.api.document import text
from app.cli.errors import CliError
from app.launch.serving import first, run, serving
from app.launch.way import check_the_way
from app.runtime.listening import bound, url_of
from app.runtime.settings import Settings
from app.runtime.signals import told_to_stop
from app.store.migrate import SchemaAheadError, schema_is_current
from app.store.migrate import migrate as bring_up_to_date

_LOG = getLogger(__name__)


def serve(settings: Settings) -> None:
    """Serve one replica until told to stop.

    Raises:
        CliError: there is no database, or its schema is not up to date.
    """
    direct_url = direct_url_of(settings)
    with bound(settings.host, settings.port) as listener:
        run(_serve(settings, direct_url, listener))


def migrate(settings: Settings) -> None:
    """Bring the schema up to date, and say from where to where.

    Raises:
        CliError: there is no database.
    """
    done = asyncio.run(bring_up_to_date(direct_url_of(settings)))
    if done.before == done.after:
        typer.echo(f"the schema was at {done.after} already")
    else:
        typer.echo(f"the schema went from {done.before or 'nothing'} to {done.after}")


def write_openapi(output: Path | None) -> None:
    """Write the contract as an OpenAPI document, to a file or to standard output."""
    document = text(application())
    if output is None:
        typer.echo(document, nl=False)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(document)


async def _serve(settings: Settings, direct_url: str, listener: socket.socket) -> None:
    await check(settings, direct_url)
    with told_to_stop() as stop:
        async with serving(settings, listener) as server:
            typer.echo(f"The fleet coordinator serves at {url_of(listener)}")
            await first(stop, server)


async def check(settings: Settings, direct_url: str) -> None:
    """Refuse at the start what would fail later.

    Raises:
        CliError: the schema is not up to date, or the way to the database is not as it was said.
    """
    await check_the_way(settings)
    try:
        current = await schema_is_current(direct_url)
    except SchemaAheadError as ahead:
        # Replicas of two versions serve side by side while they are being replaced.
        _LOG.warning("%s", ahead)
        current = True
    if not current:
        message = "the schema of the database is not up to date: run `fleet migrate` first"
        raise CliError(message)


def direct_url_of(settings: Settings) -> str:
    """Name the database, as migrations reach it.

    Raises:
        CliError: the settings name none.
    """
    if settings.database_url is None or settings.direct_url is None:
        message = "set FLEET_DATABASE_URL to a PostgreSQL, or use `fleet up`, which brings its own"
        raise CliError(message)
    return settings.direct_url
