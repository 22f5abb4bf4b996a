"""A coordinator for the command line, and the folder by which it is found."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.coordinator import Coordinator, coordinator_on


@pytest.fixture
async def coordinator(database_url: str) -> AsyncIterator[Coordinator]:
    """A coordinator on a database of this test alone."""
    async with coordinator_on(database_url) as running:
        yield running


@pytest.fixture
def data_dir(coordinator: Coordinator, tmp_path: Path) -> Path:
    """A folder with the ``fleet.json`` of the coordinator."""
    coordinator.write_file(tmp_path)
    return tmp_path
