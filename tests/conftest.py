"""Fixtures every test may use, and how hard hypothesis searches."""

from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

from app.store.session import Database
from tests.support.environment import ADMIN_URL, HYPOTHESIS_PROFILE
from tests.support.postgres import Databases, server_for_tests

# Timings of a loaded machine say nothing about the code: no deadlines.
settings.register_profile("dev", deadline=None, max_examples=60)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=200,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=10_000,
    phases=tuple(Phase),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(HYPOTHESIS_PROFILE)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a PostgreSQL where databases may be made; one server per worker."""
    if ADMIN_URL is not None:
        yield ADMIN_URL
        return
    with server_for_tests() as url:
        yield url


@pytest.fixture(scope="session")
def databases(postgres_url: str) -> Iterator[Databases]:
    """Makes databases, for tests that need more than one, or one that lives longer."""
    makes = Databases(admin_url=postgres_url)
    yield makes
    makes.drop_templates()


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """The URL of a database of this test alone, with the newest schema; dropped afterwards."""
    with databases.fresh() as url:
        yield url


@pytest.fixture
def empty_database_url(databases: Databases) -> Iterator[str]:
    """The URL of a database of this test alone, with nothing in it; dropped afterwards."""
    with databases.fresh(migrated=False) as url:
        yield url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """Connections to the database of this test alone, with the newest schema."""
    opened = await Database.open(database_url)
    yield opened
    await opened.close()
