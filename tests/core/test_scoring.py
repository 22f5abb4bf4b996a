"""The score: its terms, its theorems, and how exactly the weights carry them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.fleet import Context, CostClass, Factory, Health, Job, Priority
from app.scheduler import (
    Score,
    Theorem,
    Weights,
    score_candidate,
    theorems_broken,
    tie_break,
)
from app.scoring import class_score, standing_score, within_ceiling
from tests import strategies as some
from tests.core import oracle
from tests.strategies import HOUR, NO_WEIGHTS, NOW, make_class, make_context, make_factory, make_job

CTX = make_context()
DAY = timedelta(hours=24)
COSTS = list(CostClass)


def points(job: Job, factory: Factory, weights: Weights | None = None) -> int:
    return score_candidate(job, factory, CTX, weights or Weights()).total


@given(some.jobs, some.factories, some.contexts, some.weights)
def test_score_agrees_with_the_second_statement(
    job: Job, factory: Factory, ctx: Context, weights: Weights
) -> None:
    score = score_candidate(job, factory, ctx, weights)

    assert score.percents.as_dict() == oracle.percents(job, factory, ctx)
    assert score.total == oracle.score(job, factory, ctx, weights)


@given(some.jobs, some.factories, some.contexts, some.weights)
def test_breakdown_adds_up_to_the_score(
    job: Job, factory: Factory, ctx: Context, weights: Weights
) -> None:
    score = score_candidate(job, factory, ctx, weights)

    assert sum(score.breakdown.as_dict().values()) == score.total


def test_breakdown_has_the_six_names_and_the_penalty_its_sign() -> None:
    score = score_candidate(make_job(), make_factory(), CTX)

    assert score.breakdown.as_dict() == {
        "capability_fit": 200,
        "affinity": 0,
        "load": 100,
        "cost_fit": 480,
        "health": 300,
        "starvation_penalty": -600,
    }
    assert score.percents.starvation_penalty == 100
    assert score.total == 480


@given(some.jobs, some.factories, some.weights)
def test_parts_by_what_they_depend_on_add_up_to_the_score(
    job: Job, factory: Factory, weights: Weights
) -> None:
    score = score_candidate(job, factory, CTX, weights)
    warm = 50 * weights.affinity if job.repo in factory.warm_repos else 0

    assert score.total == (
        class_score(job.job_class, factory, factory.offered, weights)
        + warm
        + score.breakdown.starvation_penalty
        + standing_score(factory, weights)
    )


# ---------------------------------------------------------------------------- the theorems


@given(some.ready_jobs(), some.ready_jobs(), some.factories, some.past_ages, some.past_ages)
def test_no_starvation(
    older: Job, younger: Job, factory: Factory, age: timedelta, later: timedelta
) -> None:
    """A job within the ceiling outscores every job created 24 h or more after it."""
    factory = replace(
        factory, cost_ceiling=max(factory.cost_ceiling, older.job_class.cost_class, key=COSTS.index)
    )
    older = replace(older, created_at=NOW - age - later - DAY)
    younger = replace(younger, created_at=NOW - age)

    assert points(older, factory) > points(younger, factory)


@given(
    some.ready_jobs(),
    some.ready_jobs(),
    some.factories,
    st.sampled_from([(0, 0, 1), (0, 0, 2), (0, 1, 2), (1, 1, 2)]),
)
def test_over_budget_is_last(
    above: Job, within: Job, factory: Factory, costs: tuple[int, int, int]
) -> None:
    """A job above the ceiling scores below every job within it, however old it is."""
    fits, ceiling, exceeds = (COSTS[rank] for rank in costs)
    factory = replace(factory, cost_ceiling=ceiling)
    within = replace(within, job_class=replace(within.job_class, cost_class=fits))
    above = replace(above, job_class=replace(above.job_class, cost_class=exceeds))

    assert points(above, factory) < points(within, factory)


@given(some.ready_jobs(), some.factories, st.integers(0, 500), st.integers(0, 500))
def test_health_outweighs_idleness(job: Job, factory: Factory, busy: int, idle: int) -> None:
    """Of two factories equal but for load and health, the ok one wins whatever the loads."""
    ok = replace(factory, health=Health.OK, external_load=busy)
    degraded = replace(factory, health=Health.DEGRADED, external_load=idle)

    assert points(job, ok) > points(job, degraded)


def test_default_weights_keep_every_theorem() -> None:
    assert theorems_broken(Weights()) == ()


def test_every_theorem_stands_on_the_brink() -> None:
    """Nudging a single weight far enough breaks each, and the answer names which."""
    assert theorems_broken(Weights(starvation=5)) == (Theorem.NO_STARVATION,)
    assert theorems_broken(Weights(cost=5)) == (Theorem.OVER_BUDGET_IS_LAST,)
    assert theorems_broken(Weights(health=2)) == (Theorem.HEALTH_OUTWEIGHS_IDLENESS,)
    assert theorems_broken(NO_WEIGHTS) == tuple(Theorem)


def test_theorems_need_more_than_a_draw() -> None:
    """Where gain and loss are equal, a tie-break would decide: the theorem is broken."""
    assert theorems_broken(Weights(cost=5, starvation=5)) == (Theorem.NO_STARVATION,)
    assert theorems_broken(Weights(capability=1, affinity=0, cost=10, starvation=18)) == (
        Theorem.OVER_BUDGET_IS_LAST,
    )
    assert theorems_broken(Weights(health=4, load=2)) == (Theorem.HEALTH_OUTWEIGHS_IDLENESS,)


def witnesses(weights: Weights) -> dict[Theorem, bool]:
    """For each theorem, whether it fails for the pair that comes closest to breaking it."""
    # The engine is itself something offered, so fit and affinity are at their best together only
    # where the job requires the engine as well.
    fitting = make_class(required=frozenset({"engine:claude"}), prefers_engine="claude")
    plain = make_factory(engines=frozenset({"claude"}), warm_repos=frozenset({"shop"}))
    medium = replace(plain, cost_ceiling=CostClass.MEDIUM)
    old_cheap = make_job(1, created_at=NOW - DAY)
    young_dear = make_job(
        2, job_class=replace(fitting, cost_class=CostClass.HIGH), repo="shop", created_at=NOW
    )
    fresh_within = make_job(3, created_at=NOW)
    old_above = replace(young_dear, created_at=NOW - 9 * DAY)
    busy = replace(plain, external_load=100)
    degraded = replace(plain, health=Health.DEGRADED)
    return {
        Theorem.NO_STARVATION: points(old_cheap, plain, weights)
        <= points(young_dear, plain, weights),
        Theorem.OVER_BUDGET_IS_LAST: points(old_above, medium, weights)
        >= points(fresh_within, medium, weights),
        Theorem.HEALTH_OUTWEIGHS_IDLENESS: points(old_cheap, busy, weights)
        <= points(old_cheap, degraded, weights),
    }


@given(some.weights)
def test_theorems_broken_is_exact_in_naming_the_broken(weights: Weights) -> None:
    broken = tuple(theorem for theorem, fails in witnesses(weights).items() if fails)

    assert theorems_broken(weights) == broken


@given(some.weights, some.ready_jobs(), some.ready_jobs(), some.factories)
def test_theorems_not_named_hold_under_any_weights(
    weights: Weights, one: Job, other: Job, factory: Factory
) -> None:
    one = replace(one, created_at=NOW - DAY)
    other = replace(other, created_at=max(other.created_at, NOW))
    within = within_ceiling(one.job_class, factory)
    ok, degraded = replace(factory, health=Health.OK), replace(factory, health=Health.DEGRADED)
    broken = theorems_broken(weights)

    if Theorem.NO_STARVATION not in broken and within:
        assert points(one, factory, weights) > points(other, factory, weights)
    if Theorem.OVER_BUDGET_IS_LAST not in broken and not within:
        cheap = replace(other, job_class=replace(other.job_class, cost_class=CostClass.LOW))
        assert points(one, factory, weights) < points(cheap, factory, weights)
    if Theorem.HEALTH_OUTWEIGHS_IDLENESS not in broken:
        busy = replace(ok, external_load=factory.external_load + 100)
        assert points(one, busy, weights) > points(one, degraded, weights)


@pytest.mark.parametrize("name", ["capability", "affinity", "load", "cost", "health", "starvation"])
def test_a_weight_is_never_negative(name: str) -> None:
    with pytest.raises(ValueError, match="never negative"):
        Weights(**{name: -1})


# ---------------------------------------------------------------------------- the terms


def test_capability_fit_is_the_share_of_the_offer_that_is_needed() -> None:
    rich = make_factory(capabilities=frozenset({"docker", "gpu"}), engines=frozenset({"claude"}))
    job = make_job(job_class=make_class(required=frozenset({"gpu", "engine:claude"})))

    assert fit(job, rich) == 66
    assert fit(make_job(), rich) == 0
    assert fit(make_job(), make_factory()) == 100


def fit(job: Job, factory: Factory) -> int:
    return score_candidate(job, factory, CTX).percents.capability_fit


def test_affinity_counts_engine_and_warm_repo_alike() -> None:
    factory = make_factory(engines=frozenset({"claude"}), warm_repos=frozenset({"shop"}))
    prefers = make_class(prefers_engine="claude")

    assert affinity(make_job(), factory) == 0
    assert affinity(make_job(repo="shop"), factory) == 50
    assert affinity(make_job(job_class=prefers, repo="blog"), factory) == 50
    assert affinity(make_job(job_class=prefers, repo="shop"), factory) == 100


def affinity(job: Job, factory: Factory) -> int:
    return score_candidate(job, factory, CTX).percents.affinity


@given(some.ready_jobs(), some.factories, st.integers(0, 300))
def test_load_higher_load_never_scores_higher(job: Job, factory: Factory, more: int) -> None:
    busier = replace(factory, external_load=factory.external_load + more)

    assert points(job, busier) <= points(job, factory)


def test_load_a_busy_factory_scores_below_an_idle_one() -> None:
    assert points(make_job(), make_factory(seats_used=1)) < points(make_job(), make_factory())


@given(some.ready_jobs(), some.factories)
def test_health_degraded_scores_below_ok(job: Job, factory: Factory) -> None:
    ok = replace(factory, health=Health.OK)
    degraded = replace(factory, health=Health.DEGRADED)

    assert points(job, degraded) < points(job, ok)


@pytest.mark.parametrize(
    ("ceiling", "cost", "percent"),
    [
        (CostClass.HIGH, CostClass.HIGH, 100),
        (CostClass.HIGH, CostClass.MEDIUM, 90),
        (CostClass.HIGH, CostClass.LOW, 80),
        (CostClass.MEDIUM, CostClass.MEDIUM, 100),
        (CostClass.MEDIUM, CostClass.LOW, 90),
        (CostClass.MEDIUM, CostClass.HIGH, -100),
        (CostClass.LOW, CostClass.LOW, 100),
        (CostClass.LOW, CostClass.MEDIUM, -100),
        (CostClass.LOW, CostClass.HIGH, -200),
    ],
)
def test_cost_fit_table(ceiling: CostClass, cost: CostClass, percent: int) -> None:
    job, factory = (
        make_job(job_class=make_class(cost_class=cost)),
        make_factory(cost_ceiling=ceiling),
    )

    assert score_candidate(job, factory, CTX).percents.cost_fit == percent


@pytest.mark.parametrize(
    ("age", "within", "above"),
    [
        (-30 * HOUR, 100, 100),
        (timedelta(0), 100, 100),
        (6 * HOUR - timedelta(microseconds=1), 100, 100),
        (6 * HOUR, 75, 75),
        (24 * HOUR, 0, 0),
        (30 * HOUR, -25, 0),
        (240 * HOUR, -900, 0),
    ],
)
def test_starvation_penalty_has_a_floor_only_above_the_ceiling(
    age: timedelta, within: int, above: int
) -> None:
    job = make_job(created_at=NOW - age, job_class=make_class(cost_class=CostClass.HIGH))

    assert penalty(score_candidate(job, make_factory(), CTX)) == within
    assert penalty(score_candidate(job, make_factory(cost_ceiling=CostClass.LOW), CTX)) == above


def penalty(score: Score) -> int:
    return score.percents.starvation_penalty


@given(some.ready_jobs(), some.factories, some.past_ages)
def test_age_never_lowers_a_score(job: Job, factory: Factory, more: timedelta) -> None:
    older = replace(job, created_at=job.created_at - more)

    assert points(older, factory) >= points(job, factory)


# ---------------------------------------------------------------------------- the tie-break


@given(some.ready_jobs(), some.ready_jobs())
def test_tie_break_is_total_and_antisymmetric(one: Job, other: Job) -> None:
    assume(one.id != other.id)

    assert (tie_break(one) < tie_break(other)) != (tie_break(other) < tie_break(one))
    assert (tie_break(one) < tie_break(other)) == oracle.comes_first(one, other)


@given(some.ready_jobs(), some.ready_jobs(), some.ready_jobs())
def test_tie_break_is_transitive(one: Job, other: Job, third: Job) -> None:
    first, second, last = sorted((one, other, third), key=tie_break)

    assert not oracle.comes_first(second, first) or second.id == first.id
    assert not oracle.comes_first(last, first) or last.id == first.id


def test_tie_break_order_is_priority_then_age_then_cost_then_id() -> None:
    urgent = make_job(9, job_class=make_class(priority=Priority.CRITICAL), created_at=NOW)
    old = make_job(8, created_at=NOW - 2 * HOUR, job_class=make_class(cost_class=CostClass.HIGH))
    cheap = make_job(7)
    dear_small_id = make_job(1, job_class=make_class(cost_class=CostClass.MEDIUM))
    dear = make_job(2, job_class=make_class(cost_class=CostClass.MEDIUM))

    assert sorted((dear, dear_small_id, cheap, old, urgent), key=tie_break) == [
        urgent,
        old,
        cheap,
        dear_small_id,
        dear,
    ]
