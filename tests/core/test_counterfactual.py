"""The smallest changes that flip a decision, and the time that does so by itself."""

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.changes import Change, ChangeKind
from app.counterfactual import Pair, Wait, smallest_changes, wait_for
from app.fleet import Context, CostClass, Factory, Health, Job, JobState, Priority, Standing
from app.scheduler import rejections, select_job
from tests.strategies import (
    HOUR,
    NOW,
    contexts,
    factories,
    jobs,
    make_class,
    make_factory,
    make_job,
    make_standing,
    queues,
)


def lawful(job: Job) -> Job:
    """A job whose state is what its facts say, as :mod:`app.lease` keeps it."""
    later = job.run_after is not None and job.run_after > NOW
    held = job.hold is not None and job.hold.in_force(NOW)
    if job.state in {JobState.LEASED, JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED}:
        return replace(job, run_after=None, hold=None)
    rest = JobState.SCHEDULED if later else JobState.READY
    rest = JobState.BLOCKED if job.unfinished_parents else rest
    if held:
        return replace(job, state=JobState.HELD)
    return replace(job, state=rest, hold=None)


pairs = st.builds(
    lambda job, factory, others, ctx: Pair(
        job=lawful(job),
        factory=replace(factory, last_seen_at=NOW),
        others=tuple(other for other in others if other.id != job.id),
        ctx=ctx,
    ),
    jobs,
    factories,
    queues(max_size=8),
    contexts,
)


def kinds(found: tuple[tuple[Change, ...], ...]) -> list[list[ChangeKind]]:
    return [[each.kind for each in changes] for changes in found]


@settings(max_examples=200)
@given(pair=pairs)
def test_every_offer_flips_and_none_could_be_smaller(pair: Pair) -> None:
    for changes in smallest_changes(pair):
        assert pair.flips(changes)
        for count in range(len(changes)):
            for fewer in combinations(changes, count):
                assert not pair.flips(fewer)


@settings(max_examples=200)
@given(pair=pairs)
def test_waiting_is_exact(pair: Pair) -> None:
    wait = wait_for(pair)
    if wait is None:
        return
    for at, taken in expectations(wait):
        assert taken_at(pair, at) is taken, at
    reasons = rejections(pair.job, pair.factory, pair.ctx)
    start = max([NOW, *(each.clears_at for each in reasons if each.clears_at)])
    if wait.at > start:
        assert not taken_at(pair, wait.at - timedelta(microseconds=1))
        assert not taken_at(pair, start)


def expectations(wait: Wait) -> list[tuple[datetime, bool]]:
    moment = timedelta(microseconds=1)
    found = [(wait.at, True)]
    if wait.until is not None:
        found += [(wait.until - moment, True), (wait.until, False)]
    if wait.for_good_at is not None:
        found += [(wait.for_good_at + days * 24 * HOUR, True) for days in range(9)]
    return found


def taken_at(pair: Pair, at: datetime) -> bool:
    """What the scheduler would do then, everything that ends by its time having ended."""
    job = replace(pair.job, state=JobState.READY, run_after=None, hold=None)
    factory = replace(
        pair.factory,
        drain=None,
        pause=None,
        quarantined_until=None,
        cooldown_until=None,
        last_seen_at=at,
    )
    taken = select_job([job, *pair.others], factory, Context(now=at, locks=pair.ctx.locks))
    return taken is not None and taken.id == job.id


def pair_of(job: Job, factory: Factory, *others: Job) -> Pair:
    return Pair(job=job, factory=factory, others=others, ctx=Context(now=NOW))


def test_what_is_taken_anyway_needs_no_change() -> None:
    pair = pair_of(make_job(1), make_factory())
    assert smallest_changes(pair) == ()
    assert wait_for(pair) == Wait(at=NOW, until=None, for_good_at=NOW)


def test_a_missing_capability_is_offered_or_no_longer_required() -> None:
    job = make_job(1, job_class=make_class(required=frozenset({"docker", "engine:codex"})))
    found = smallest_changes(pair_of(job, make_factory()))
    assert kinds(found) == [[ChangeKind.OFFER], [ChangeKind.REQUIRE_LESS]]
    assert found[0][0].factory == {
        "capabilities": frozenset({"docker"}),
        "engines": frozenset({"codex"}),
    }


def test_everything_in_the_way_is_repaired_at_once() -> None:
    job = make_job(
        1,
        state=JobState.HELD,
        hold=make_standing(),
        run_after=NOW + HOUR,
        unfinished_parents=(make_job(7).id,),
    )
    factory = make_factory(seats_used=1, drain=make_standing(), health=Health.DOWN)
    (changes,) = smallest_changes(pair_of(job, factory))
    assert sorted(each.kind for each in changes) == sorted(
        [
            ChangeKind.UNHOLD,
            ChangeKind.RUN_NOW,
            ChangeKind.DROP_PARENTS,
            ChangeKind.RESUME,
            ChangeKind.SEATS,
            ChangeKind.HEALTH,
        ]
    )


def test_the_smallest_step_in_priority_that_does() -> None:
    rival = make_job(1, job_class=make_class(priority=Priority.HIGH), created_at=NOW)
    job = make_job(2, job_class=make_class(priority=Priority.LOW))
    found = smallest_changes(pair_of(job, make_factory(), rival))
    assert kinds(found)[0] == [ChangeKind.PRIORITY]
    assert found[0][0].job_class == {"priority": Priority.HIGH}


def test_two_levers_where_one_is_not_enough() -> None:
    rival = make_job(1, job_class=make_class(prefers_engine="claude"), repo="shop")
    job = make_job(2, repo="blog", created_at=NOW - HOUR / 2)
    factory = make_factory(engines=frozenset({"claude"}), warm_repos=frozenset({"shop"}))
    found = smallest_changes(pair_of(job, factory, rival))
    assert found
    assert all(len(changes) == 2 for changes in found)


def test_nothing_helps_a_job_that_runs_or_is_kept_away() -> None:
    running = make_job(1, state=JobState.LEASED)
    kept = make_job(2, job_class=make_class(excluded=frozenset({make_factory().id})))
    dead = replace(pair_of(make_job(3, state=JobState.DEAD), make_factory()), retriable=False)
    assert smallest_changes(pair_of(running, make_factory())) == ()
    assert smallest_changes(pair_of(kept, make_factory())) == ()
    assert smallest_changes(dead) == ()
    assert wait_for(pair_of(running, make_factory())) is None


def test_a_cool_down_is_waited_for_or_lifted_by_a_resume_with_all_else() -> None:
    standing = Standing(reason="disk", by="ann")
    cooling = make_factory(cooldown_until=NOW + HOUR)
    both = replace(cooling, drain=standing)
    for factory in (cooling, both):
        found = smallest_changes(pair_of(make_job(1), factory))
        assert kinds(found) == [[ChangeKind.RESUME]]
    wait = wait_for(pair_of(make_job(1), cooling))
    assert wait is not None
    assert wait.at == NOW + HOUR


def test_a_dead_job_is_retried_and_a_full_set_of_warm_repos_takes_no_more() -> None:
    dead = make_job(1, state=JobState.DEAD)
    assert kinds(smallest_changes(pair_of(dead, make_factory()))) == [[ChangeKind.RETRY]]
    full = make_factory(warm_repos=frozenset(f"repo{number}" for number in range(16)))
    rival = make_job(1, repo="repo1")
    found = smallest_changes(pair_of(make_job(2, repo="other"), full, rival))
    assert all(ChangeKind.WARM_REPO not in each for each in kinds(found))


def test_age_alone_wins_at_the_hour_and_never_over_budget() -> None:
    rival = make_job(1, job_class=make_class(priority=Priority.HIGH), created_at=NOW - HOUR)
    job = make_job(2, created_at=NOW - 5 * HOUR)
    wait = wait_for(pair_of(job, make_factory(), rival))
    assert wait == Wait(at=NOW + HOUR, until=NOW + 5 * HOUR, for_good_at=None)
    dear = make_job(3, job_class=make_class(cost_class=CostClass.HIGH))
    cheap = make_factory(cost_ceiling=CostClass.LOW)
    assert wait_for(pair_of(dear, cheap, rival)) is None


def test_only_the_oldest_of_those_that_differ_in_age_counts() -> None:
    better = make_class(priority=Priority.HIGH)
    rivals = [make_job(n, job_class=better, created_at=NOW - n * HOUR) for n in (1, 3, 2)]
    job = make_job(9, created_at=NOW - 5 * HOUR)
    wait = wait_for(pair_of(job, make_factory(last_seen_at=NOW), *rivals))
    assert wait == Wait(at=NOW + HOUR, until=NOW + 3 * HOUR, for_good_at=None)


def test_what_leads_by_more_than_a_level_within_the_ceiling_leads_for_ever() -> None:
    factory = make_factory(warm_repos=frozenset({"shop"}), engines=frozenset({"claude"}))
    strong = make_job(1, job_class=make_class(prefers_engine="claude"), repo="shop")
    assert wait_for(pair_of(make_job(2), factory, strong)) is None
    unborn = make_job(3, created_at=NOW + HOUR)
    assert wait_for(pair_of(make_job(2), factory, unborn)) is not None
    dear = make_job(4, job_class=make_class(cost_class=CostClass.HIGH))
    cheap = make_factory(cost_ceiling=CostClass.LOW)
    assert wait_for(pair_of(make_job(2), cheap, dear)) is not None


def test_a_lead_of_a_day_is_for_good() -> None:
    factory = make_factory(warm_repos=frozenset({"shop"}))
    rival = make_job(1, repo="shop", created_at=NOW)
    old = make_job(2, created_at=NOW - 5 * HOUR - HOUR / 2)
    wait = wait_for(pair_of(old, factory, rival))
    assert wait is not None
    assert wait.at == NOW + HOUR / 2
    older = make_job(2, created_at=NOW - 11 * HOUR)
    assert wait_for(pair_of(older, factory, rival)) == Wait(at=NOW, until=None, for_good_at=NOW)


def test_several_rivals_keep_a_job_waiting_together() -> None:
    high, dear = make_class(priority=Priority.HIGH), make_class(priority=Priority.CRITICAL)
    rivals = [
        make_job(1, job_class=high, created_at=NOW - HOUR),
        make_job(2, job_class=dear, created_at=NOW - 2 * HOUR),
    ]
    job = make_job(9, created_at=NOW - 5 * HOUR)
    wait = wait_for(pair_of(job, make_factory(), *rivals))
    assert wait == Wait(at=NOW + HOUR, until=NOW + 4 * HOUR, for_good_at=None)


def test_what_the_factory_cannot_take_keeps_nothing_waiting() -> None:
    gpu = make_job(1, job_class=make_class(required=frozenset({"gpu"})), created_at=NOW - 99 * HOUR)
    wait = wait_for(pair_of(make_job(2), make_factory(), gpu))
    assert wait == Wait(at=NOW, until=None, for_good_at=NOW)
