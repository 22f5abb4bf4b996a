"""A job's place in a ranking, counted by lines, is its place in the ranking."""

from hypothesis import given

from app.fleet import ClassId, CostClass, Factory, Job, JobClass
from app.position import Line, Stretch, stretches
from app.scheduler import Weights, pair_rejections, rank
from tests.strategies import (
    NO_WEIGHTS,
    NOW,
    make_class,
    make_context,
    make_factory,
    make_job,
    open_factories,
    queues,
    weights,
)


def counted(queue: list[Job], job_class: JobClass, stretch: Stretch) -> int:
    return sum(
        job.job_class == job_class
        and (stretch.repo is None or job.repo == stretch.repo)
        and stretch.since <= Line(job.created_at, job.id) < stretch.before
        for job in queue
    )


@given(queue=queues(max_size=25), factory=open_factories, weighing=weights)
def test_counting_by_lines_equals_ranking(
    queue: list[Job], factory: Factory, weighing: Weights
) -> None:
    ctx = make_context(NOW)
    classes = {
        ClassId(number): one for number, one in enumerate({job.job_class for job in queue}, 1)
    }
    needed = {
        class_id: (job_class, factory.warm_repos)
        for class_id, job_class in classes.items()
        if not pair_rejections(job_class, factory)
    }
    for place, ranked in enumerate(rank(queue, factory, ctx, weighing)):
        before = stretches(ranked.job, factory, ctx, weighing, needed)
        assert len({(each.class_id, each.repo) for each in before}) == len(before)
        ahead = sum(counted(queue, classes[each.class_id], each) for each in before)
        assert ahead == place


def test_where_all_else_ties_the_cheaper_and_then_the_smaller_id_is_ahead() -> None:
    dear, cheap = make_class(cost_class=CostClass.HIGH), make_class()
    queue = [
        make_job(1, job_class=dear),
        make_job(3, job_class=cheap),
        make_job(2, job_class=cheap),
    ]
    classes = {ClassId(1): dear, ClassId(2): cheap}
    needed = {class_id: (one, ()) for class_id, one in classes.items()}
    for job, place in zip(queue, (2, 1, 0), strict=True):
        before = stretches(job, make_factory(), make_context(NOW), NO_WEIGHTS, needed)
        assert sum(counted(queue, classes[each.class_id], each) for each in before) == place
