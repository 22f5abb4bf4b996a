"""A coordinator for the client library."""

from collections.abc import AsyncIterator

import pytest

from tests.support.coordinator import Coordinator, coordinator_on


@pytest.fixture
async def coordinator(database_url: str) -> AsyncIterator[Coordinator]:
    """A coordinator on a database of this test alone."""
    async with coordinator_on(database_url) as running:
        yield running
