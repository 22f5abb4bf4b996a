"""Fixtures every test may use, and how hard hypothesis searches."""

import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from app.store.session import Database
from tests.support.environment import ADMIN_URL, HYPOTHESIS_PROFILE
from tests.support.postgres import Databases, server_for_tests

# A shell that runs the suite in the background has it ignore SIGINT, and so would its children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Timings of a loaded machine say nothing about the code: no deadlines.
settings.register_profile("dev", deadline=None, max_examples=60)
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=120,
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

TESTS = Path(__file__).parent
LONG = {"system", "elsewhere"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the long ones begin, whatever the order is else: no worker ends with one, alone."""
    items.sort(key=lambda item: LONG.isdisjoint(item.path.relative_to(TESTS).parts))


@pytest.fixture
def private_dir() -> Iterator[Path]:
    """A folder of this test alone, for an embedded PostgreSQL; removed afterwards.

    ``tmp_path`` will not do when root runs the suite: PostgreSQL then runs as another user, and
    pytest closes the parent of all its folders anew whenever some suite starts on the machine.
    """
    folder = Path(tempfile.mkdtemp(prefix="fleet-test-"))
    yield folder
    shutil.rmtree(folder)


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
