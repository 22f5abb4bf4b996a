"""``fleet``: the commands that start a coordinator, and all the others beside them."""

import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Final

import typer

from app.cli.commands import fleet
from app.cli.connection import DataDir, ask
from app.cli.errors import NobodyCanTakeItError, sentence
from app.cli.screen import warn
from app.runtime.logs import set_up_logs
from app.runtime.settings import Settings
from app.sdk import FleetClient

_LOG: Final = logging.getLogger(__name__)
_USAGE: Final = 2
_INTERRUPTED: Final = 130

Host = Annotated[str | None, typer.Option(help="Address to serve on.", show_default="127.0.0.1")]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65_535, help="Port to serve on; 0 takes any.", show_default="8420"),
]


@fleet.command()
def up(  # noqa: PLR0913 - a flag is an argument
    *,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", "-d", help="Folder of PostgreSQL and fleet.json.")
    ] = None,
    host: Host = None,
    port: Port = None,
    ticker: Annotated[
        bool | None, typer.Option("--ticker/--no-ticker", help="Tick by itself.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Start two factories and give them real work.")
    ] = False,
    repo: Annotated[
        Path | None, typer.Option(help="The repository of the demo; else the one around here.")
    ] = None,
    exit_when_done: Annotated[
        bool, typer.Option("--exit-when-done", help="Stop when the demo is over.")
    ] = False,
) -> None:
    """Start everything: PostgreSQL, the coordinator, its ticks, and --demo if you like."""
    from app.launch.up import Show, start  # noqa: PLC0415 - see app.launch

    settings = _settings(data_dir=data_dir, host=host, port=port, ticker=ticker)
    # Who starts it by hand reads along: what goes wrong is worth a line, each call is not.
    _quiet("app.access", "alembic")
    start(settings, Show(repo=repo, exit_when_done=exit_when_done) if demo else None)


@fleet.command()
def serve(
    *,
    host: Host = None,
    port: Port = None,
    workers: Annotated[
        int, typer.Option(min=1, max=256, help="Processes that share the port.")
    ] = 1,
) -> None:
    """Serve one replica on the PostgreSQL of FLEET_DATABASE_URL."""
    if workers > 1:
        from app.launch.workers import serve_together  # noqa: PLC0415 - see app.launch

        serve_together(_settings(host=host, port=port), workers)
        return
    from app.launch.replica import serve as start  # noqa: PLC0415 - see app.launch

    start(_settings(host=host, port=port))


@fleet.command(hidden=True)
def worker(
    *, socket: Annotated[int, typer.Option(help="The bound socket that was left to it.")]
) -> None:
    """Be one of the workers of `fleet serve --workers`, for as long as that is there."""
    from app.launch.workers import work  # noqa: PLC0415 - see app.launch

    work(_settings(), socket)


@fleet.command()
def migrate() -> None:
    """Bring the schema of FLEET_DATABASE_URL up to date."""
    from app.launch.replica import migrate as start  # noqa: PLC0415 - see app.launch

    settings = _settings()
    _quiet("alembic")
    start(settings)


@fleet.command()
def mcp(
    *,
    allow_submit: Annotated[
        bool, typer.Option("--allow-submit", help="Let agents submit jobs, too.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Answer agents over standard input and output (MCP); they only read, unless told otherwise."""
    from app.mcp.server import make_server  # noqa: PLC0415 - its library takes a while to load

    async def run(client: FleetClient) -> None:
        await make_server(client, allow_submit=allow_submit).run_stdio_async()

    ask("ops", data_dir, run)


@fleet.command(hidden=True)
def openapi(
    *, output: Annotated[Path | None, typer.Option(help="Where to; else standard output.")] = None
) -> None:
    """Write the contract as an OpenAPI document."""
    from app.launch.replica import write_openapi  # noqa: PLC0415 - see app.launch

    write_openapi(output)


def main() -> None:
    """Run ``fleet``: 0 done, 1 an error, 2 accepted although nobody can take it."""
    try:
        fleet()
    except SystemExit as left:
        # What was typed wrongly is an error like others: 2 has a meaning of its own here.
        sys.exit(1 if left.code == _USAGE else left.code)
    except NobodyCanTakeItError:
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing more is written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - whatever it was, a person reads one sentence
        warn(f"error: {sentence(error)}")
        if _LOG.isEnabledFor(logging.DEBUG):
            traceback.print_exc()
        sys.exit(1)


def _settings(**flags: object) -> Settings:
    """Read the settings; flags that were given win over the environment."""
    given = {name: value for name, value in flags.items() if value is not None}
    settings = Settings(**given)  # type: ignore[arg-type]
    set_up_logs(level=settings.log_level, as_json=settings.log_json)
    # The calls of our own client say nothing that is not logged where it is decided.
    _quiet("httpx")
    return settings


def _quiet(*loggers: str) -> None:
    """Log only what these complain about, unless everything is asked for."""
    if not _LOG.isEnabledFor(logging.DEBUG):
        for name in loggers:
            logging.getLogger(name).setLevel(logging.WARNING)


if __name__ == "__main__":
    main()
