"""One factory asks: what it gets, what it never gets, and that the answer is always the same."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.fleet import Context, CostClass, Factory, Job, JobState, Priority
from app.scheduler import Weights, rank, rejections, score_candidate, select_job
from tests import strategies as some
from tests.core import oracle
from tests.strategies import HOUR, NOW, job_id, make_class, make_context, make_factory, make_job

CTX = make_context()
LEVEL = timedelta(hours=6)


@given(some.queues(some.jobs), some.factories, some.contexts, some.weights)
def test_select_agrees_with_the_second_statement(
    queue: list[Job], factory: Factory, ctx: Context, weights: Weights
) -> None:
    best: Job | None = None
    for job in queue:
        if oracle.reasons(job, factory, ctx):
            continue
        if best is None:
            best = job
            continue
        mine, theirs = (oracle.score(one, factory, ctx, weights) for one in (job, best))
        if mine > theirs or (mine == theirs and oracle.comes_first(job, best)):
            best = job

    assert select_job(queue, factory, ctx, weights) == best


@given(some.queues(), some.open_factories, st.data())
def test_select_same_inputs_same_pick_in_any_order(
    queue: list[Job], factory: Factory, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(queue))

    assert select_job(shuffled, factory, CTX) == select_job(queue, factory, CTX)
    assert rank(shuffled, factory, CTX) == rank(queue, factory, CTX)


@given(some.queues(some.jobs), some.factories, some.contexts)
def test_rank_holds_the_eligible_and_no_other_best_first(
    queue: list[Job], factory: Factory, ctx: Context
) -> None:
    ranked = rank(queue, factory, ctx)

    assert {one.job.id for one in ranked} == {
        job.id for job in queue if not oracle.reasons(job, factory, ctx)
    }
    assert [one.score for one in ranked] == [
        score_candidate(one.job, factory, ctx) for one in ranked
    ]
    for better, worse in pairwise(ranked):
        assert better.score.total > worse.score.total or (
            better.score.total == worse.score.total and oracle.comes_first(better.job, worse.job)
        )


@given(some.factories)
def test_select_of_an_empty_queue_is_none(factory: Factory) -> None:
    assert select_job([], factory, CTX) is None


def test_select_is_none_if_nothing_is_eligible() -> None:
    queue = [
        make_job(1, state=JobState.LEASED),
        make_job(2, job_class=make_class(required=frozenset({"gpu"}))),
    ]

    assert select_job(queue, make_factory(), CTX) is None
    assert select_job([make_job()], make_factory(seat_limit=0), CTX) is None


@given(some.queues(), some.open_factories)
def test_a_missing_capability_is_never_selected(queue: list[Job], factory: Factory) -> None:
    picked = select_job(queue, factory, CTX)

    assert picked is None or picked.job_class.required <= factory.offered


@given(some.queues(some.jobs), some.factories, some.contexts)
def test_filter_comes_before_score(queue: list[Job], factory: Factory, ctx: Context) -> None:
    """Whatever is picked has no reason against it, though something else may score higher."""
    picked = select_job(queue, factory, ctx)

    assert picked is None or rejections(picked, factory, ctx) == ()


def test_a_perfect_job_that_is_filtered_out_loses_to_a_poor_one() -> None:
    factory = make_factory(engines=frozenset({"claude"}), warm_repos=frozenset({"shop"}))
    perfect = make_job(
        1,
        repo="shop",
        created_at=NOW - 20 * LEVEL,
        job_class=make_class(
            required=frozenset({"gpu"}), prefers_engine="claude", priority=Priority.CRITICAL
        ),
    )
    poor = make_job(2, created_at=NOW, job_class=make_class(priority=Priority.LOW))

    assert score_candidate(perfect, factory, CTX).total > score_candidate(poor, factory, CTX).total
    assert select_job([perfect, poor], factory, CTX) == poor


@given(some.ready_jobs(), some.open_factories, st.permutations(list(Priority)), some.past_ages)
def test_priority_dominates_when_all_else_is_equal(
    job: Job, factory: Factory, order: list[Priority], age: timedelta
) -> None:
    job = replace(job, job_class=replace(job.job_class, excluded=frozenset()))
    factory = replace(factory, capabilities=frozenset(some.CAPABILITIES), seat_limit=9)
    factory = replace(factory, engines=frozenset(some.ENGINES))
    queue = [
        replace(
            job,
            id=job_id(number),
            created_at=NOW - age,
            job_class=replace(job.job_class, priority=priority),
        )
        for number, priority in enumerate(order)
    ]

    ranked = [one.job.job_class.priority for one in rank(queue, factory, CTX)]

    assert ranked == list(Priority)


@given(st.integers(0, 9), st.permutations([timedelta(0), HOUR, LEVEL - HOUR]), some.open_factories)
def test_priority_decides_within_a_level_whoever_is_older(
    level: int, within: list[timedelta], factory: Factory
) -> None:
    factory = replace(factory, seat_limit=9)
    urgent, casual = (
        make_job(
            number, created_at=NOW - level * LEVEL - age, job_class=make_class(priority=priority)
        )
        for number, (age, priority) in enumerate(
            zip(within, (Priority.CRITICAL, Priority.LOW), strict=False)
        )
    )

    assert select_job([casual, urgent], factory, CTX) == urgent


def test_age_breaks_ties_deterministically() -> None:
    older = make_job(2, created_at=NOW - 2 * HOUR)
    younger = make_job(1, created_at=NOW - HOUR)

    assert select_job([younger, older], make_factory(), CTX) == older


def test_an_old_low_priority_job_overtakes_a_fresh_critical_one() -> None:
    """A whole level of age is worth more than any priority, all else being equal."""
    old = make_job(1, created_at=NOW - LEVEL, job_class=make_class(priority=Priority.LOW))
    fresh = make_job(2, created_at=NOW, job_class=make_class(priority=Priority.CRITICAL))

    assert select_job([fresh, old], make_factory(), CTX) == old


@given(some.queues(some.ready_jobs(job_ages=some.past_ages), max_size=8), some.open_factories)
def test_starvation_an_old_low_priority_job_is_taken_before_all_that_came_a_day_later(
    queue: list[Job], factory: Factory
) -> None:
    factory = replace(factory, seat_limit=9)
    old = make_job(50_000, created_at=NOW - 100 * HOUR, job_class=make_class(priority=Priority.LOW))
    late = [job for job in queue if job.created_at >= old.created_at + timedelta(hours=24)]

    assert select_job([*late, old], factory, CTX) == old


def test_priority_is_no_term_so_a_warm_repo_wins_over_critical() -> None:
    factory = make_factory(warm_repos=frozenset({"shop"}))
    critical = make_job(1, job_class=make_class(priority=Priority.CRITICAL))
    warm = make_job(2, repo="shop", job_class=make_class(priority=Priority.LOW))

    assert select_job([critical, warm], factory, CTX) == warm


@given(some.queues(), some.open_factories)
def test_cost_a_job_above_the_ceiling_comes_last(queue: list[Job], factory: Factory) -> None:
    order = [CostClass.LOW, CostClass.MEDIUM, CostClass.HIGH]
    above = [
        order.index(one.job.job_class.cost_class) > order.index(factory.cost_ceiling)
        for one in rank(queue, factory, CTX)
    ]

    assert above == sorted(above)


def test_cost_a_job_above_the_ceiling_is_still_taken_if_there_is_no_other() -> None:
    dear = make_job(job_class=make_class(cost_class=CostClass.HIGH))

    assert select_job([dear], make_factory(cost_ceiling=CostClass.LOW), CTX) == dear


def test_a_specialised_machine_prefers_the_work_only_it_can_do() -> None:
    factory = make_factory(capabilities=frozenset({"gpu"}))
    anybodys = make_job(1, created_at=NOW - 2 * HOUR)
    special = make_job(2, job_class=make_class(required=frozenset({"gpu"})))

    assert select_job([anybodys, special], factory, CTX) == special


def test_a_job_from_the_future_counts_as_new() -> None:
    future = make_job(1, created_at=NOW + 100 * HOUR)

    assert score_candidate(future, make_factory(), CTX).percents.starvation_penalty == 100
