"""What is said of a job's prospects, asked of PostgreSQL and told by the rule, is the same."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator.prospects import warnings_for
from app.fleet import Factory, JobClass
from app.store import classes, offers
from app.store.session import Connection
from tests.strategies import factories, fleets, job_classes
from tests.support.clean import Clean, clean
from tests.support.postgres import Databases
from tests.support.world import put_factory


@pytest.fixture(scope="module")
def empty(databases: Databases) -> Iterator[Clean]:
    with clean(databases) as found:
        yield found


@given(wanted=st.lists(job_classes, min_size=1, max_size=4, unique=True), fleet=fleets(factories))
def test_a_class_is_hopeless_if_and_only_if_there_is_a_warning(
    empty: Clean, wanted: list[JobClass], fleet: list[Factory]
) -> None:
    async def ask(conn: Connection) -> None:
        for factory in fleet:
            await put_factory(conn, factory)
        found = await offers.prospects(conn, wanted)
        kept = await classes.intern(conn, wanted)
        assert found.keys == {each: (kept[each], classes.kin(each) or b"") for each in wanted}
        everybody = (await offers.read(conn)).factories
        assert found.factories == (everybody if found.hopeless else ())
        for job_class, (class_id, _) in found.keys.items():
            said = warnings_for(job_class, everybody, found.now)
            assert bool(said) == (class_id in found.hopeless)

    empty.ask(ask)
