"""``fleet tick``: let time pass, by hand."""

from typing import Annotated

import typer

from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.screen import emit_json
from app.cli.tick_show import show_ticks
from app.fleet import JsonObject
from app.sdk import FleetClient
from app.sdk.ticks import Tick

_TICKS: dict[str, Tick] = {"leases": "leases", "workflows": "workflows", "repos": "repos"}


def tick(
    *,
    which: Annotated[
        str | None, typer.Argument(metavar="leases|workflows|repos", help="Only this one.")
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
    if which == "leases" and dry_run:
        message = "the pass over leases has no dry run: `fleet explain JOB` says what ends a lease"
        raise CliError(message)

    async def act(fleet: FleetClient) -> JsonObject:
        only = None if which is None else _TICKS[which]
        return await fleet.ticks.run(only, dry_run=dry_run, window=window)

    report = ask("cron", data_dir, act)
    if as_json:
        emit_json({"dry_run": dry_run, **report})
        return
    show_ticks(report, which, dry_run=dry_run)
