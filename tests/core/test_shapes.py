"""Classes that differ in their lock alone rank alike, and a few of each shape are enough."""

from hypothesis import given

from app.fleet import ClassId, CostClass, Factory, Job
from app.scheduler import Ranked, Weights, rank, score_candidate
from app.shapes import Shape, place_of, profile, shape_of, takeable, warm_bound
from tests.strategies import (
    make_class,
    make_context,
    make_factory,
    make_job,
    open_factories,
    queues,
    weights,
)

DEPTH = 3


def shapes_of(queue: list[Job]) -> list[Shape]:
    return [Shape(job_class=each) for each in {shape_of(job.job_class) for job in queue}]


@given(queue=queues(max_size=30), factory=open_factories, weighing=weights)
def test_the_oldest_of_each_shape_and_of_those_that_are_warm_are_enough(
    queue: list[Job], factory: Factory, weighing: Weights
) -> None:
    ctx = make_context()
    supply: list[Job] = []
    for shape in takeable(shapes_of(queue), factory):
        alike = [job for job in queue if shape_of(job.job_class) == shape.job_class]
        alike.sort(key=lambda job: (job.created_at, job.id))
        warm = [job for job in alike if job.repo in factory.warm_repos]
        supply += alike[:DEPTH] + warm[:DEPTH]
    few = {job.id: job for job in supply}.values()
    assert rank(few, factory, ctx, weighing)[:DEPTH] == rank(queue, factory, ctx, weighing)[:DEPTH]


@given(queue=queues(max_size=30), factory=open_factories, weighing=weights)
def test_nothing_of_a_shape_stands_before_its_bound(
    queue: list[Job], factory: Factory, weighing: Weights
) -> None:
    ctx = make_context()
    for job in queue:
        alike = [each for each in queue if shape_of(each.job_class) == shape_of(job.job_class)]
        oldest = min(alike, key=lambda each: (each.created_at, each.id))
        score = score_candidate(job, factory, ctx, weighing)
        place = place_of(Ranked(job=job, score=score))
        assert warm_bound(oldest, factory, ctx, weighing) <= place


def test_the_bound_is_where_a_warm_job_stands_above_the_ceiling_too() -> None:
    ctx = make_context()
    for ceiling in CostClass:
        factory = make_factory(warm_repos=frozenset({"shop"}), cost_ceiling=ceiling)
        job = make_job(1, repo="shop", job_class=make_class(cost_class=CostClass.MEDIUM))
        score = score_candidate(job, factory, ctx)
        bound = warm_bound(job, factory, ctx, Weights())
        assert bound == place_of(Ranked(job=job, score=score))


def test_a_shape_is_a_class_without_its_lock() -> None:
    assert shape_of(make_class(lock="a")) == shape_of(make_class(lock="b")) == make_class()


def test_who_is_named_by_an_exclusion_is_like_nobody_else() -> None:
    one = make_factory()
    other = make_factory("f2", seats_used=1)
    plain = Shape(job_class=make_class(), class_ids=[ClassId(1)])
    picky = Shape(job_class=make_class(excluded=frozenset({one.id})))
    assert profile(one, [plain]) == profile(other, [plain])
    assert profile(one, [plain, picky]) != profile(other, [plain, picky])
    assert takeable([plain, picky], one) == [plain]
