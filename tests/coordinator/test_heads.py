"""The law that claims rest on, against PostgreSQL: heads are enough, whatever the queue."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator.catalog import Catalog
from app.coordinator.choose import choose
from app.fleet import Context, Job
from app.scheduler import Pick, Seeker, match
from app.store.session import Connection, Database
from tests.strategies import contexts, crowds, job_classes, queues, ready_jobs
from tests.support.postgres import Databases
from tests.support.world import put_jobs, put_locks


class Desktop:
    """A connection of its own for synchronous tests; each question is asked in a clean database."""

    def __init__(self, url: str) -> None:
        self.runner = asyncio.Runner()
        self.db = self.runner.run(Database.open(url))
        self.conn = self.runner.run(self.db.dedicated())

    def close(self) -> None:
        self.runner.run(self.conn.close())
        self.runner.run(self.db.close())
        self.runner.close()

    def choose(self, queue: list[Job], crowd: list[Seeker], ctx: Context) -> tuple[Pick, ...]:
        """What claims would pick from ``queue``, which is gone again afterwards."""

        async def ask(conn: Connection) -> tuple[Pick, ...]:
            transaction = conn.transaction()
            await transaction.start()
            try:
                await put_jobs(conn, queue)
                await put_locks(conn, ctx.locks)
                catalog = Catalog()
                await catalog.refresh(conn)
                return await choose(conn, catalog, crowd, ctx)
            finally:
                await transaction.rollback()

        return self.runner.run(ask(self.conn))


@pytest.fixture(scope="module")
def desktop(databases: Databases) -> Iterator[Desktop]:
    with databases.fresh() as url:
        desktop = Desktop(url)
        yield desktop
        desktop.close()


def essence(picks: tuple[Pick, ...]) -> list[tuple[object, ...]]:
    """Who got what with which score: the rank and the runners-up know only what was fetched."""
    return [(pick.factory_id, pick.job.id, pick.score) for pick in picks]


@given(queue=queues(max_size=40), crowd=crowds(min_size=1), ctx=contexts)
def test_matching_over_heads_equals_matching_over_all_ready_jobs(
    desktop: Desktop, queue: list[Job], crowd: list[Seeker], ctx: Context
) -> None:
    assert essence(desktop.choose(queue, crowd, ctx)) == essence(match(crowd, queue, ctx))


@given(data=st.data(), crowd=crowds(min_size=1), ctx=contexts)
def test_a_batch_that_drains_few_deep_classes_refills_them(
    desktop: Desktop, data: st.DataObject, crowd: list[Seeker], ctx: Context
) -> None:
    few = data.draw(st.lists(job_classes, min_size=1, max_size=2, unique=True))
    queue = data.draw(queues(ready_jobs(st.sampled_from(few)), max_size=40))
    assert essence(desktop.choose(queue, crowd, ctx)) == essence(match(crowd, queue, ctx))
