"""Serving processes of their own, as an installation runs them: several on one database."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.support.command import PROGRAM
from tests.support.environment import unmeasured_environment

_SERVES_AT = "serves at "


@asynccontextmanager
async def replica(database_url: str, **environment: str) -> AsyncIterator[str]:
    """Run ``fleet serve`` on a port of its own; yields its URL, and stops it as an init would.

    Coverage does not measure it: it is here for its load, and others run ``fleet serve`` as well.
    """
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        "serve",
        "--port",
        "0",
        stdout=asyncio.subprocess.PIPE,
        env=unmeasured_environment(
            FLEET_DATABASE_URL=database_url, FLEET_LOG_LEVEL="warning", **environment
        ),
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            said = (await process.stdout.readline()).decode()
        assert _SERVES_AT in said
        yield said.partition(_SERVES_AT)[2].strip()
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


@asynccontextmanager
async def replicas(count: int, database_url: str, **environment: str) -> AsyncIterator[list[str]]:
    """Run several replicas; yields their URLs."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(replica(database_url, **environment))
            for _ in range(count)
        ]
