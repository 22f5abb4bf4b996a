"""``fleet top``: the fleet at work, again and again until Ctrl-C."""

import asyncio
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from app.cli.connection import AsJson, DataDir, ask
from app.cli.screen import console, emit_json
from app.cli.top_read import Watch
from app.cli.top_show import plain, show_frame
from app.runtime.clock import now_utc
from app.sdk import FleetClient, FleetError


def top(
    *,
    once: Annotated[
        bool, typer.Option("--once", help="Show it once and end, for scripts.")
    ] = False,
    interval_s: Annotated[
        float, typer.Option("--interval", min=0.5, help="Seconds between two looks.")
    ] = 2.0,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Watch who runs what, what waits and why, the pace, and the dead letters; until Ctrl-C.

    With --json, or where the output is no terminal, it looks once.
    """
    screen = console()

    async def show(fleet: FleetClient) -> None:
        watch = Watch(fleet)
        if as_json:
            emit_json(plain(await watch.frame(now_utc())))
        elif once or not screen.is_terminal:
            screen.print(show_frame(await watch.frame(now_utc()), fleet.url))
        else:
            await _live(screen, watch, interval_s)

    # Who watches ends it by Ctrl-C, which is no failure.
    with suppress(KeyboardInterrupt):
        ask("ops", data_dir, show)


async def _live(screen: Console, watch: Watch, interval_s: float) -> None:
    """Show frame after frame; one that cannot be read leaves the last one, with the reason."""
    shown = await _frame(screen, watch)
    with Live(shown, console=screen, screen=True, auto_refresh=False) as live:
        while True:
            live.update(shown, refresh=True)
            await asyncio.sleep(interval_s)  # the pace that was asked for
            try:
                shown = await _frame(screen, watch)
            except FleetError as error:
                live.update(Group(Text(f"{error}; trying again", "red"), shown), refresh=True)


async def _frame(screen: Console, watch: Watch) -> RenderableType:
    return show_frame(await watch.frame(now_utc()), watch.fleet.url, height=screen.height)
