"""The token of a factory that runs on the coordinator's own machine.

``FLEET_TOKEN`` is used if it is set. Else the factory makes one for itself, through the ops token
of ``fleet.json``, and keeps it beside that file, so that a restart does not make another.
"""

import asyncio
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from app.cli.connection import Connection
from app.cli.errors import CliError
from app.cli.fleet_file import write_private
from app.cli.screen import warn
from app.fleet import Role
from app.sdk import FleetClient, Happening, LoopEvent, Problem
from app.sdk.patience import Patience
from app.wire.tokens import TokenRequest


def check_token_source(connection: Connection, factory_id: str) -> None:
    """Make sure that there is a token, or something to make one with.

    Raises:
        CliError: there is neither.
    """
    if connection.settings.token is None and connection.file is None:
        message = (
            "a factory needs its token: set FLEET_TOKEN to one made with "
            f"`fleet token create --role factory --factory {factory_id}`"
        )
        raise CliError(message)


async def factory_token(connection: Connection, factory_id: str, stop: asyncio.Event) -> str | None:
    """Find or make the token; None if it was told to stop meanwhile.

    Raises:
        CliError: the coordinator made one and did not say which.
        Problem: the coordinator refused.
    """
    if connection.settings.token is not None:
        return connection.token("ops")
    finding = asyncio.create_task(_find(connection, factory_id))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([finding, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if finding.done():
        return finding.result()
    finding.cancel()
    return None


async def _find(connection: Connection, factory_id: str) -> str:
    path = connection.data_dir / "factories" / f"{quote(factory_id, safe='')}.token"
    patience = Patience(_say)
    kept = _read(path)
    if kept is not None and await _good(connection, factory_id, kept, patience):
        return kept
    wanted = TokenRequest(role=Role.FACTORY, factory_id=factory_id)
    async with connection.client("ops") as fleet:
        minted = await patience.until_answered(lambda: fleet.tokens.create(wanted))
    if minted.token is None:  # only an answer to a repeated call comes without
        message = "the coordinator made a token and did not say which"
        raise CliError(message)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(path, minted.token.encode())
    return minted.token


async def _good(connection: Connection, factory_id: str, token: str, patience: Patience) -> bool:
    """Ask whether the token still opens: it may be revoked, or of another database."""
    async with FleetClient(connection.url, token) as fleet:
        try:
            await patience.until_answered(lambda: fleet.factories.get(factory_id))
        except Problem as problem:
            return problem.status != HTTPStatus.UNAUTHORIZED
    return True


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return None


def _say(event: LoopEvent) -> None:
    if event.what is Happening.UNREACHABLE:
        warn(f"waiting: {event.detail}")
