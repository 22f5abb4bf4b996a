"""A coordinator that serves over HTTP, in this very event loop, on a database of the test."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.cli.fleet_file import FleetFile, FleetTokens, write_fleet_file
from app.fleet import Role
from app.launch.keys import tokens_for
from app.launch.serving import serving
from app.runtime.listening import bound, url_of
from app.runtime.settings import Settings
from app.sdk import FleetClient, Retries
from app.wire.tokens import TokenRequest

ONCE = Retries(attempts=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """Where it serves, and the tokens of those who may call."""

    url: str
    database_url: str
    tokens: FleetTokens
    stack: AsyncExitStack = field(repr=False)

    async def client(self, token: str | None = None) -> FleetClient:
        """Open a client under a token, the one of ops if none is given; closed with the test."""
        fleet = FleetClient(self.url, token or self.tokens.ops, retries=ONCE)
        return await self.stack.enter_async_context(fleet)

    async def factory_token(self, factory_id: str) -> str:
        """Make a token of this factory."""
        async with FleetClient(self.url, self.tokens.ops) as ops:
            wanted = TokenRequest(role=Role.FACTORY, factory_id=factory_id)
            minted = await ops.tokens.create(wanted)
        assert minted.token is not None
        return minted.token

    async def factory(self, factory_id: str) -> FleetClient:
        """Open a client under a token of this factory."""
        return await self.client(await self.factory_token(factory_id))

    def write_file(self, data_dir: Path) -> Path:
        """Write the ``fleet.json`` by which the command line finds this coordinator."""
        content = FleetFile(url=self.url, database_url=self.database_url, tokens=self.tokens)
        return write_fleet_file(data_dir, content)


@asynccontextmanager
async def coordinator_on(database_url: str, *, port: int = 0) -> AsyncIterator[Coordinator]:
    """Serve for as long as the block lasts."""
    tokens = await tokens_for(database_url, None)
    settings = Settings(
        database_url=database_url, port=port, lease_loop_interval_s=0.1, database_pool_size=4
    )
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(bound(settings.host, settings.port))
        url = url_of(listener)
        await stack.enter_async_context(serving(settings, listener))
        clients = await stack.enter_async_context(AsyncExitStack())
        yield Coordinator(url=url, database_url=database_url, tokens=tokens, stack=clients)
