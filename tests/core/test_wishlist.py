"""The wish list is the ranking, in integers."""

from dataclasses import replace

from hypothesis import given

from app.fleet import Context, Factory, Job
from app.scheduler import Weights, rank
from app.scoring import standing_score
from app.wishlist import make_pool, wishes_of
from tests import strategies as some
from tests.strategies import make_class, make_context, make_factory, make_job

CTX = make_context()


@given(some.crowded_queues, some.open_factories, some.contexts, some.weights)
def test_wishes_are_the_ranking_with_its_scores(
    queue: list[Job], factory: Factory, ctx: Context, weights: Weights
) -> None:
    factory = replace(factory, seat_limit=9)
    pool = make_pool(queue, ctx, weights)
    wishes = wishes_of(factory, pool, weights)

    read: list[tuple[Job, int]] = []
    gone: set[int] = set()
    while wishes.advance(gone):
        read.append((pool.jobs[wishes.top], wishes.top_score + standing_score(factory, weights)))
        gone.add(wishes.top)

    ranked = rank(queue, factory, ctx, weights)
    assert read == [(one.job, one.score.total) for one in ranked]


def test_a_job_takes_all_of_its_lock_with_it() -> None:
    locked = make_class(lock="merge")
    also_locked = make_class(lock="merge", prefers_engine="claude")
    jobs = [make_job(1, job_class=locked), make_job(2), make_job(3, job_class=also_locked)]

    pool = make_pool(jobs, CTX, Weights())

    assert [pool.claimed_with(place) for place in range(3)] == [(0, 2), (1,), (0, 2)]


def test_next_free_passes_over_what_is_gone() -> None:
    pool = make_pool([make_job(number) for number in range(1, 6)], CTX, Weights())
    wishes = wishes_of(make_factory(), pool, Weights())

    assert wishes.advance({0})
    assert [place for place, _ in wishes.next_free({0, 2}, 2)] == [1, 3]
    assert [place for place, _ in wishes.next_free({0, 2}, 9)] == [1, 3, 4]
    assert {score for _, score in wishes.next_free({0, 2}, 9)} == {wishes.top_score}


def test_an_empty_pool_leaves_nothing_to_wish() -> None:
    wishes = wishes_of(make_factory(), make_pool([], CTX, Weights()), Weights())

    assert not wishes.advance(set())
