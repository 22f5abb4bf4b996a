"""Which coordinator a command talks to, and under which token.

A ``--data-dir`` that was given decides: its ``fleet.json``, with the token of the role that the
command needs. Else ``FLEET_URL`` and ``FLEET_TOKEN`` do if they are set, and else ``fleet.json`` of
the usual data folder.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, TypeVar

import httpx
import typer

from app.cli.errors import CliError
from app.cli.fleet_file import FleetFile, read_fleet_file
from app.runtime.client_settings import ClientSettings
from app.sdk import FleetClient, Retries

T = TypeVar("T")
As: TypeAlias = Literal["ops", "client", "cron"]

DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", "-d", help="Folder of fleet.json, as given to `fleet up`.", show_default=False
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# People wait at a terminal: an absent coordinator is said soon.
_RETRIES = Retries(attempts=3, first_s=0.1)


class Connection:
    """What is known on this machine about its coordinator."""

    def __init__(self, data_dir: Path | None = None) -> None:
        """Read the environment; ``fleet.json`` is read when it is needed."""
        settings = ClientSettings()
        if data_dir is not None:
            settings = settings.model_copy(update={"url": None, "token": None})
        self.settings = settings
        self.data_dir = (data_dir or settings.data_dir).expanduser().absolute()

    @cached_property
    def file(self) -> FleetFile | None:
        """``fleet.json``, unless the environment names another coordinator.

        Raises:
            CliError: there is one that cannot be read.
        """
        found = read_fleet_file(self.data_dir)
        url = self.settings.url
        if found is None or (url is not None and not _same(url, found.url)):
            return None
        return found

    @property
    def url(self) -> str:
        """Where the coordinator is.

        Raises:
            CliError: nothing says where, or it is no address.
        """
        url = self.settings.url or (self.file.url if self.file else None)
        if url is None:
            message = (
                f"no coordinator is known: there is no {self.data_dir / 'fleet.json'}; "
                "start one with `fleet up`, or set FLEET_URL and FLEET_TOKEN"
            )
            raise CliError(message)
        if not _is_address(url):
            message = f"FLEET_URL must start with http:// or https:// and name a host, not {url!r}"
            raise CliError(message)
        return url.rstrip("/")

    def token(self, role: As) -> str:
        """Choose the token to show.

        Raises:
            CliError: there is none, or it cannot be one.
        """
        if self.settings.token is not None:
            token = self.settings.token.get_secret_value()
            if not (token.isascii() and token.isprintable()):
                message = "FLEET_TOKEN must be of printable ASCII characters"
                raise CliError(message)
            return token
        if self.file is not None:
            return str(getattr(self.file.tokens, role))
        message = f"no token is known for {self.url}: set FLEET_TOKEN"
        raise CliError(message)

    def client(self, role: As) -> FleetClient:
        """Open the coordinator for a command that needs this role."""
        return FleetClient(self.url, self.token(role), retries=_RETRIES)


def ask(role: As, data_dir: Path | None, act: Callable[[FleetClient], Awaitable[T]]) -> T:
    """Open the coordinator, do something with it, close it."""
    connection = Connection(data_dir)

    async def go() -> T:
        async with connection.client(role) as fleet:
            return await act(fleet)

    return asyncio.run(go())


def _same(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    port_fits = read.port is None or read.port in range(1, 65_536)
    return read.scheme in {"http", "https"} and bool(read.host) and port_fits
