"""Other installations, from Debian's packages: an older PostgreSQL, PgBouncer, a wrong clock.

Where those are not installed these tests are not collected, unless they are required.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.support.environment import DEBIAN_REQUIRED
from tests.support.installed import Installed, installed_servers, is_installed
from tests.support.postgres import Databases, with_database

collect_ignore_glob = [] if DEBIAN_REQUIRED or is_installed() else ["test_*.py"]


@pytest.fixture(scope="session")
def installed() -> Iterator[Installed]:
    with installed_servers() as servers:
        yield servers


@pytest.fixture(scope="session")
def databases(installed: Installed) -> Iterator[Databases]:
    """Databases on that server; so every fixture of the suite means that one here."""
    makes = Databases(admin_url=installed.url)
    yield makes
    makes.drop_templates()


@pytest.fixture
def pooled_url(database_url: str, installed: Installed) -> str:
    """The database of this test, by way of the pooler."""
    return with_database(installed.pooled_url, urlsplit(database_url).path.removeprefix("/"))
