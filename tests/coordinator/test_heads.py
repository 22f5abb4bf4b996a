"""The law that claims rest on, against PostgreSQL: heads are enough, whatever the queue."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator.catalog import Catalog
from app.coordinator.choose import choose
from app.coordinator.race import Race
from app.fleet import Context, Job
from app.scheduler import Pick, Seeker, match
from app.store.claims import CommitOutcome
from app.store.session import Connection
from tests.strategies import (
    NOW,
    contexts,
    crowds,
    job_classes,
    kin_queues,
    make_context,
    queues,
    ready_jobs,
)
from tests.support.clean import Clean, clean
from tests.support.postgres import Databases
from tests.support.world import put_jobs, put_locks


class Desktop:
    """What claims pick from a queue, which is gone again afterwards."""

    def __init__(self, clean: Clean) -> None:
        self.clean = clean

    def choose(
        self, queue: list[Job], crowd: list[Seeker], ctx: Context, around: Race | None = None
    ) -> tuple[Pick, ...]:
        async def ask(conn: Connection) -> tuple[Pick, ...]:
            await put_jobs(conn, queue)
            await put_locks(conn, ctx.locks if around is None else {})
            catalog = Catalog()
            await catalog.refresh(conn)
            return await choose(conn, catalog, crowd, ctx, around)

        return self.clean.ask(ask)


@pytest.fixture(scope="module")
def desktop(databases: Databases) -> Iterator[Desktop]:
    with clean(databases) as empty:
        yield Desktop(empty)


def essence(picks: tuple[Pick, ...]) -> list[tuple[object, ...]]:
    """Who got what with which score: the rank and the runners-up know only what was fetched."""
    return [(pick.factory_id, pick.job.id, pick.score) for pick in picks]


@given(queue=queues(max_size=40), crowd=crowds(min_size=1), ctx=contexts)
def test_matching_over_heads_equals_matching_over_all_ready_jobs(
    desktop: Desktop, queue: list[Job], crowd: list[Seeker], ctx: Context
) -> None:
    assert essence(desktop.choose(queue, crowd, ctx)) == essence(match(crowd, queue, ctx))


@given(queue=kin_queues, crowd=crowds(min_size=1), ctx=contexts)
def test_of_classes_that_differ_in_their_lock_few_heads_are_enough(
    desktop: Desktop, queue: list[Job], crowd: list[Seeker], ctx: Context
) -> None:
    assert essence(desktop.choose(queue, crowd, ctx)) == essence(match(crowd, queue, ctx))


@given(queue=st.one_of(kin_queues, queues(max_size=25)), crowd=crowds(min_size=1), data=st.data())
def test_what_others_are_about_to_take_is_as_if_it_were_gone(
    desktop: Desktop, queue: list[Job], crowd: list[Seeker], data: st.DataObject
) -> None:
    race = Race()
    for job in queue:
        outcomes = (None, None, None, CommitOutcome.JOB_MOVED, CommitOutcome.LOCK_TAKEN)
        if outcome := data.draw(st.sampled_from(outcomes)):
            race.note(job, outcome)
    around = race.beside([job for job in queue if data.draw(st.integers(0, 4)) == 0])
    ctx = make_context(NOW, **{name: held.job_id for name, held in around.locks.items()})
    left = [job for job in queue if (job.id, job.version) not in around.jobs]
    expected = essence(match(crowd, left, ctx))
    assert essence(desktop.choose(queue, crowd, ctx, around)) == expected


@given(data=st.data(), crowd=crowds(min_size=1), ctx=contexts)
def test_a_batch_that_drains_few_deep_classes_refills_them(
    desktop: Desktop, data: st.DataObject, crowd: list[Seeker], ctx: Context
) -> None:
    few = data.draw(st.lists(job_classes, min_size=1, max_size=2, unique=True))
    queue = data.draw(queues(ready_jobs(st.sampled_from(few)), max_size=40))
    assert essence(desktop.choose(queue, crowd, ctx)) == essence(match(crowd, queue, ctx))
