"""``fleet factories``: who works, and what keeps whom from working."""

from typing import Annotated, Final

import typer
from rich.text import Text

from app.cli.connection import AsJson, DataDir, ask
from app.cli.durations import ago
from app.cli.screen import console, emit_json, moment, table
from app.fleet import Health
from app.runtime.clock import now_utc
from app.sdk import FleetClient
from app.wire.factories import FactoryPage, FactoryReply

WORKING: Final = "working"


def factories(
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on where a listing ended.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List factories, by id."""

    async def read(fleet: FleetClient) -> FactoryPage:
        return await fleet.factories.page(cursor=cursor, limit=limit)

    page = ask("ops", data_dir, read)
    if as_json:
        emit_json(page)
        return
    screen = console()
    if not page.items:
        screen.print("no factories")
        return
    columns = ("id", "standing", "seats", "health", "ceiling", "offers", "warm", "seen")
    screen.print(table(columns, [_row(each) for each in page.items]))
    if page.next_cursor is not None:
        screen.print(f"more: --cursor {page.next_cursor}", style="dim")


def _row(factory: FactoryReply) -> tuple[str | Text, ...]:
    offers = [*factory.capabilities, *(f"engine:{each}" for each in factory.engines)]
    healthy = factory.health is Health.OK
    return (
        factory.id,
        standing_of(factory),
        f"{factory.seats_used}/{factory.seat_limit}",
        Text(factory.health, style="green" if healthy else "red"),
        factory.cost_ceiling,
        ", ".join(offers) or "-",
        ", ".join(factory.warm_repos) or "-",
        ago(factory.last_seen_at, now_utc()),
    )


def standing_of(factory: FactoryReply) -> Text:
    """Say what keeps it from getting jobs, all of it, with who ordered it and until when."""
    said = [
        f"{word}: {order.reason} (by {order.by}, until {moment(order.until)})"
        if order.until
        else f"{word}: {order.reason} (by {order.by})"
        for word, order in (("draining", factory.drain), ("paused", factory.pause))
        if order is not None
    ]
    now = now_utc()
    for word, end in (
        ("quarantined", factory.quarantined_until),
        ("cooling down", factory.cooldown_until),
    ):
        if end is not None and end > now:
            said.append(f"{word} until {moment(end)}")
    if factory.stale:
        said.append("stale")
    return Text("; ".join(said), style="yellow") if said else Text(WORKING, style="green")
