"""``fleet token``: make, list and revoke tokens."""

import asyncio
from datetime import timedelta
from typing import Annotated

import typer

from app.cli.connection import AsJson, Connection, DataDir, ask
from app.cli.durations import ago, duration_s
from app.cli.errors import CliError
from app.cli.jobs import uuid_of
from app.cli.screen import console, emit_json, moment, table, warn
from app.fleet import FactoryId, Role
from app.runtime.clock import now_utc
from app.sdk import FleetClient
from app.wire.tokens import MintedToken, TokenPage, TokenRequest

token = typer.Typer(no_args_is_help=True, help="Make, list and revoke tokens.")


@token.command()
def create(
    *,
    role: Annotated[Role, typer.Option(help="What its bearer may do.")],
    factory: Annotated[
        str | None, typer.Option(help="The factory it is bound to, for the role factory.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What `by` shows of its bearer.")] = None,
    expires_in: Annotated[
        str | None, typer.Option(help="How long it works, such as 30d; else until revoked.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Make a token and print it, this once.

    The first token of a shared database is made right there: with FLEET_DATABASE_URL set, and
    neither FLEET_TOKEN nor --data-dir given.
    """
    expires_at = now_utc() + timedelta(seconds=_length_s(expires_in)) if expires_in else None
    connection = Connection(data_dir)
    shared_url = connection.settings.database_url
    wanted = TokenRequest(role=role, factory_id=factory, name=name, expires_at=expires_at)
    if shared_url is not None and connection.settings.token is None and data_dir is None:
        made = asyncio.run(_mint(connection.settings.listen_url or shared_url, wanted))
    else:
        made = ask("ops", data_dir, lambda fleet: fleet.tokens.create(wanted))
    if as_json:
        emit_json(made)
        return
    warn(f"token {made.id} for {made.name} ({made.role}); it is not shown again")
    typer.echo(made.token)


@token.command("list")
def list_(
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on where a listing ended.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List tokens, the oldest first; their secrets are not known any more."""

    async def read(fleet: FleetClient) -> TokenPage:
        return await fleet.tokens.page(cursor=cursor, limit=limit)

    page = ask("ops", data_dir, read)
    if as_json:
        emit_json(page)
        return
    now = now_utc()
    rows = [
        (
            str(each.id),
            each.role,
            each.name,
            each.factory_id or "-",
            ago(each.created_at, now),
            moment(each.expires_at),
            moment(each.revoked_at),
        )
        for each in page.items
    ]
    columns = ("id", "role", "name", "factory", "made", "expires", "revoked")
    console().print(table(columns, rows))
    if page.next_cursor is not None:
        console().print(f"more: --cursor {page.next_cursor}", style="dim")


@token.command()
def revoke(
    *,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id.")],
    data_dir: DataDir = None,
) -> None:
    """End a token."""
    found = uuid_of(token_id)
    ask("ops", data_dir, lambda fleet: fleet.tokens.revoke(found))
    typer.echo(f"{found} is revoked")


def _length_s(text: str) -> int:
    try:
        return duration_s(text)
    except ValueError as error:
        message = f"--expires-in: {error}"
        raise CliError(message) from None


async def _mint(url: str, wanted: TokenRequest) -> MintedToken:
    """Make a token in the database itself: whoever can write there needs nobody's leave."""
    # The database takes a second to load, and this is the one command of a client that needs it.
    from app.coordinator.database import Database  # noqa: PLC0415
    from app.coordinator.tokens import mint  # noqa: PLC0415

    db = await Database.open(url)
    try:
        async with db.transaction() as conn:
            minted = await mint(
                conn,
                role=wanted.role,
                factory_id=FactoryId(wanted.factory_id) if wanted.factory_id else None,
                name=wanted.name,
                expires_at=wanted.expires_at,
            )
    finally:
        await db.close()
    record = minted.record
    return MintedToken(
        id=record.id,
        role=record.role,
        factory_id=record.factory_id,
        name=record.name,
        created_at=record.created_at,
        expires_at=record.expires_at,
        revoked_at=record.revoked_at,
        token=minted.secret,
    )
