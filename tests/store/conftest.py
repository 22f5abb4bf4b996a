"""What tests of the store share."""

from collections.abc import Iterator

import pytest

from tests.support.crowd import Crowd, crowded
from tests.support.postgres import Databases


@pytest.fixture(scope="session")
def crowd(databases: Databases) -> Iterator[Crowd]:
    """A large fleet and a hundred thousand jobs; nobody changes anything in it."""
    with crowded(databases) as filled:
        yield filled
