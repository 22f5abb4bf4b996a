"""What explanations read of a queue is enough: they rank as if they had read all of it."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator import queue_view, ranking
from app.coordinator.catalog import Catalog
from app.coordinator.queue_view import QueueView
from app.coordinator.ranking import Question, ranked
from app.fleet import Context, Factory, Job
from app.scheduler import Ranked, rank
from app.store.session import Connection
from tests.strategies import contexts, open_factories, queues, weights
from tests.support.clean import Clean, clean
from tests.support.postgres import Databases
from tests.support.world import put_jobs, put_locks


class Window:
    """What explanations rank of a queue, which is gone again afterwards."""

    def __init__(self, clean: Clean) -> None:
        self.clean = clean

    def ranked(
        self, queue: list[Job], factory: Factory, ctx: Context, asked: Question
    ) -> tuple[Ranked, ...]:
        async def ask(conn: Connection) -> tuple[Ranked, ...]:
            await put_jobs(conn, queue)
            await put_locks(conn, ctx.locks)
            # As explanations do, it is told of held locks by the statements.
            view = await QueueView.open(conn, Catalog(), Context(now=ctx.now), [factory])
            return await ranked(view, factory, asked)

        return self.clean.ask(ask)


@pytest.fixture(scope="module")
def window(databases: Databases) -> Iterator[Window]:
    with clean(databases) as empty:
        yield Window(empty)


@pytest.fixture(params=["all at once", "bit by bit"], scope="module")
def pace(request: pytest.FixtureRequest) -> Iterator[None]:
    """As much as a small queue has is read at once; and so little as of a large one."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "bit by bit":
            patch.setattr(ranking, "ROWS_AT_ONCE", 0)
            patch.setattr(ranking, "PROBES_FIRST", 1)
            patch.setattr(ranking, "PROBES_GROWTH", 1)
            patch.setattr(queue_view, "PROBES_PLAIN", 0)
            patch.setattr(queue_view, "STEPS_MAX", 2)
            patch.setattr(queue_view, "STEPS_MIN", 2)
        yield


@pytest.mark.usefixtures("pace")
@given(data=st.data(), factory=open_factories, ctx=contexts)
def test_ranking_what_is_read_equals_ranking_all_ready_jobs(
    window: Window, data: st.DataObject, factory: Factory, ctx: Context
) -> None:
    queue = data.draw(queues(max_size=40))
    asked = Question(limit=data.draw(st.integers(1, 6)), weights=data.draw(weights))
    found = window.ranked(queue, factory, ctx, asked)
    assert found == tuple(rank(queue, factory, ctx, asked.weights)[: asked.limit])


@pytest.mark.usefixtures("pace")
@given(data=st.data(), factory=open_factories, ctx=contexts)
def test_a_job_that_is_otherwise_than_stored_is_ranked_as_it_is_said_to_be(
    window: Window, data: st.DataObject, factory: Factory, ctx: Context
) -> None:
    queue = data.draw(queues(max_size=20).filter(bool))
    stored, like = data.draw(st.sampled_from(queue)), data.draw(st.sampled_from(queue))
    changed = Job(
        id=stored.id, job_class=like.job_class, created_at=like.created_at, repo=like.repo
    )
    free = Context(now=ctx.now)
    asked = Question(limit=data.draw(st.integers(1, 4)), changed=changed)
    others = [job for job in queue if job.id != stored.id]
    found = window.ranked(queue, factory, free, asked)
    assert found == tuple(rank([changed, *others], factory, free)[: asked.limit])
