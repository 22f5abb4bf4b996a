"""What is said of a job's prospects, asked of PostgreSQL and told by the rule, is the same."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator.prospects import warnings_for
from app.fleet import Factory, JobClass
from app.store import classes, offers
from app.store.session import Connection, Database
from tests.strategies import factories, fleets, job_classes
from tests.support.postgres import Databases
from tests.support.world import put_factory


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def conn(databases: Databases, runner: asyncio.Runner) -> Iterator[Connection]:
    with databases.fresh() as url:
        db = runner.run(Database.open(url))
        conn = runner.run(db.dedicated())
        yield conn
        runner.run(conn.close())
        runner.run(db.close())


@given(wanted=st.lists(job_classes, min_size=1, max_size=4, unique=True), fleet=fleets(factories))
def test_a_class_is_hopeless_if_and_only_if_there_is_a_warning(
    runner: asyncio.Runner, conn: Connection, wanted: list[JobClass], fleet: list[Factory]
) -> None:
    async def ask() -> None:
        transaction = conn.transaction()
        await transaction.start()
        try:
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
        finally:
            await transaction.rollback()

    runner.run(ask())
