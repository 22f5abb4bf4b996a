"""A coordinator for each test: ``fleet`` in this process, ``served`` behind a real server."""

from collections.abc import AsyncIterator

import pytest

from tests.support.api import Fleet, fleet_in_process, fleet_on_port


@pytest.fixture
async def fleet(database_url: str) -> AsyncIterator[Fleet]:
    async with fleet_in_process(database_url) as running:
        yield running


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Fleet]:
    async with fleet_on_port(database_url) as running:
        yield running
