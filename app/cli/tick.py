"""``fleet tick``: let time pass, by hand."""

from typing import Annotated

import typer

from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.screen import emit_json
from app.fleet import Json, JsonObject
from app.sdk import FleetClient
from app.sdk.ticks import Tick

_TICKS: dict[str, Tick] = {"leases": "leases", "workflows": "workflows", "repos": "repos"}


def tick(
    *,
    which: Annotated[
        str | None, typer.Argument(metavar="[leases|workflows|repos]", help="Only this one.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would do, and change nothing.")
    ] = False,
    window: Annotated[
        str | None, typer.Option(help="The occasion; what was served for it is skipped.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Run the ticks once and print their report."""
    if which is not None and which not in _TICKS:
        message = f"there is no tick {which!r}: name one of {', '.join(_TICKS)}"
        raise CliError(message)

    async def act(fleet: FleetClient) -> JsonObject:
        only = None if which is None else _TICKS[which]
        return await fleet.ticks.run(only, dry_run=dry_run, window=window)

    report = ask("cron", data_dir, act)
    if as_json:
        emit_json(report)
        return
    for line in _lines("", report):
        typer.echo(line)


def _lines(path: str, value: Json) -> list[str]:
    """Write a report as one line per fact: ``workflows.phases.uat.free_slots 3``."""
    if isinstance(value, dict) and value:
        return [
            line
            for name, each in value.items()
            for line in _lines(f"{path}.{name}" if path else name, each)
        ]
    if isinstance(value, list):
        return [
            line for place, each in enumerate(value) for line in _lines(f"{path}.{place}", each)
        ]
    return [f"{path or 'report'} {'-' if value in (None, {}) else value}"]
