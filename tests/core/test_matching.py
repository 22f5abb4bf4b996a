"""Several factories ask at once: who gets what."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.fleet import Context, Factory, Health, Job, Priority
from app.scheduler import Pick, Seeker, Weights, match, open_seekers, score_candidate, select_job
from tests import strategies as some
from tests.core import oracle
from tests.strategies import (
    HOUR,
    NOW,
    make_class,
    make_context,
    make_factory,
    make_job,
    make_seeker,
    make_standing,
)

CTX = make_context()


def given_out(picks: tuple[Pick, ...]) -> list[tuple[str, Job]]:
    return [(pick.factory_id, pick.job) for pick in picks]


@given(some.crowds(some.factories), some.queues(some.jobs), some.contexts, some.weights)
def test_match_agrees_with_looking_at_every_pair_after_every_pick(
    crowd: list[Seeker], queue: list[Job], ctx: Context, weights: Weights
) -> None:
    picks = match(crowd, queue, ctx, weights)

    assert [(pick.factory_id, pick.job, pick.score.total) for pick in picks] == oracle.naive_match(
        crowd, queue, ctx, weights
    )


@given(some.crowds(min_size=2), some.queues(), some.weights)
def test_match_agrees_with_the_oracle_among_factories_that_may_claim(
    crowd: list[Seeker], queue: list[Job], weights: Weights
) -> None:
    picks = match(crowd, queue, CTX, weights)

    assert given_out(picks) == [one[:2] for one in oracle.naive_match(crowd, queue, CTX, weights)]


@given(some.alike_crowds(), some.crowded_queues, some.weights)
def test_match_agrees_with_the_oracle_where_only_load_health_and_service_differ(
    crowd: list[Seeker], queue: list[Job], weights: Weights
) -> None:
    picks = match(crowd, queue, CTX, weights)

    assert given_out(picks) == [one[:2] for one in oracle.naive_match(crowd, queue, CTX, weights)]


@given(some.open_factories, st.integers(1, 5), some.queues(), some.contexts, some.weights)
def test_match_with_one_factory_is_select_repeated(
    factory: Factory, max_jobs: int, queue: list[Job], ctx: Context, weights: Weights
) -> None:
    picks = match([Seeker(factory=factory, max_jobs=max_jobs)], queue, ctx, weights)

    expected: list[Job] = []
    left = list(queue)
    for _ in range(max_jobs):
        job = select_job(left, factory, ctx, weights)
        if job is None:
            break
        expected.append(job)
        lock = job.job_class.lock
        left.remove(job)
        left = [other for other in left if lock is None or other.job_class.lock != lock]
        factory = replace(factory, seats_used=factory.seats_used + 1)
    assert [pick.job for pick in picks] == expected


@given(some.crowds(some.factories), some.queues(), some.contexts)
def test_no_factory_gets_more_than_its_seats_or_its_wish(
    crowd: list[Seeker], queue: list[Job], ctx: Context
) -> None:
    picks = match(crowd, queue, ctx)

    for seeker in crowd:
        got = sum(pick.factory_id == seeker.factory.id for pick in picks)
        assert got <= min(seeker.max_jobs, seeker.factory.seats_free)


@given(some.crowds(), some.queues(), some.contexts)
def test_no_job_and_no_lock_is_given_twice(
    crowd: list[Seeker], queue: list[Job], ctx: Context
) -> None:
    picks = match(crowd, queue, ctx)
    jobs = [pick.job.id for pick in picks]
    locks = [pick.job.job_class.lock for pick in picks if pick.job.job_class.lock]

    assert len(set(jobs)) == len(jobs)
    assert len(set(locks)) == len(locks)
    assert not set(locks) & set(ctx.locks)


@given(some.crowds(), some.queues(), st.data())
def test_order_of_input_is_irrelevant_and_so_are_repetitions(
    crowd: list[Seeker], queue: list[Job], data: st.DataObject
) -> None:
    picks = match(crowd, queue, CTX)

    shuffled = data.draw(st.permutations(crowd)), data.draw(st.permutations([*queue, *queue[:3]]))
    assert match(*shuffled, CTX) == picks
    assert match(crowd, queue, CTX) == picks


@given(some.crowds(), some.queues())
def test_nothing_is_left_that_a_factory_with_room_could_take(
    crowd: list[Seeker], queue: list[Job]
) -> None:
    picks = match(crowd, queue, CTX)
    taken = {pick.job.id for pick in picks}
    locks = {pick.job.job_class.lock for pick in picks} - {None}

    for seeker in crowd:
        got = sum(pick.factory_id == seeker.factory.id for pick in picks)
        factory = replace(seeker.factory, seats_used=seeker.factory.seats_used + got)
        left = [job for job in queue if job.id not in taken and job.job_class.lock not in locks]
        assert got == seeker.max_jobs or select_job(left, factory, CTX) is None


@given(some.crowds(), some.queues())
def test_a_pick_records_what_it_was_chosen_over(crowd: list[Seeker], queue: list[Job]) -> None:
    fleet = {seeker.factory.id: seeker.factory for seeker in crowd}
    for pick in match(crowd, queue, CTX):
        factory = fleet[pick.factory_id]
        fleet[pick.factory_id] = replace(factory, seats_used=factory.seats_used + 1)
        assert pick.score == score_candidate(pick.job, factory, CTX)
        assert pick.rank >= 1
        totals = [pick.score.total, *(other.total for other in pick.runners_up)]
        assert totals == sorted(totals, reverse=True)
        for other in pick.runners_up:
            assert other.total == score_candidate(other.job, factory, CTX).total
            assert not oracle.reasons(other.job, factory, CTX)
        assert pick.margin == (totals[0] - totals[1] if pick.runners_up else None)


def test_empty_is_none() -> None:
    assert match([], [make_job()], CTX) == ()
    assert match([make_seeker(make_factory())], [], CTX) == ()
    assert match([make_seeker(make_factory(), 0)], [make_job()], CTX) == ()
    assert match([make_seeker(make_factory(pause=make_standing()))], [make_job()], CTX) == ()


def test_two_requests_of_one_factory_add_up_within_its_seats() -> None:
    factory = make_factory(seat_limit=3)
    jobs = [make_job(number) for number in range(1, 6)]
    twice = [make_seeker(factory, 2), make_seeker(factory, 2)]

    assert len(match(twice, jobs, CTX)) == 3
    assert open_seekers(twice, CTX) == (make_seeker(factory, 4),)


def test_a_healthy_busy_factory_beats_a_degraded_idle_one() -> None:
    busy = make_factory("f2", external_load=100)
    idle = make_factory("f1", health=Health.DEGRADED)

    (pick,) = match([make_seeker(idle), make_seeker(busy)], [make_job()], CTX)

    assert pick.factory_id == "f2"


def test_load_spreads_jobs_that_suit_all_alike() -> None:
    crowd = [make_seeker(make_factory(name, seat_limit=2), 2) for name in ("f1", "f2")]
    jobs = [make_job(number) for number in range(1, 5)]

    assert [pick.factory_id for pick in match(crowd, jobs, CTX)] == ["f1", "f2", "f1", "f2"]


def test_a_pick_makes_its_factory_busier_for_the_next() -> None:
    idle = make_factory("f1", seat_limit=2)
    busy = make_factory("f2", external_load=1, last_served_at=NOW)
    jobs = [make_job(number) for number in range(1, 4)]

    picks = match([make_seeker(idle, 2), make_seeker(busy)], jobs, CTX)

    assert [(pick.factory_id, pick.score.percents.load) for pick in picks] == [
        ("f1", 100),
        ("f2", 50),
        ("f1", 50),
    ]


def test_equal_factories_are_served_in_the_order_of_their_last_service() -> None:
    fleet = [
        make_factory("f1", last_served_at=NOW - HOUR),
        make_factory("f2", last_served_at=NOW - 2 * HOUR),
        make_factory("f3"),
        make_factory("f4"),
    ]
    jobs = [make_job(number) for number in range(1, 5)]

    picks = match([make_seeker(factory) for factory in fleet], jobs, CTX)

    assert [pick.factory_id for pick in picks] == ["f3", "f4", "f2", "f1"]


def test_equal_pairs_fall_to_the_jobs_before_they_fall_to_the_factories() -> None:
    """The factory served last takes its job first, since that job wins the tie."""
    docker, gpu = frozenset({"docker"}), frozenset({"gpu"})
    late = make_factory("f2", capabilities=docker, last_served_at=NOW)
    early = make_factory("f1", capabilities=gpu)
    urgent = make_job(2, job_class=make_class(required=docker, priority=Priority.HIGH))
    casual = make_job(1, job_class=make_class(required=gpu))

    picks = match([make_seeker(early), make_seeker(late)], [casual, urgent], CTX)

    assert given_out(picks) == [("f2", urgent), ("f1", casual)]


def test_equally_overloaded_factories_take_turns() -> None:
    """Where load has no more say, a pick of this batch counts as service."""
    new = make_factory("f1", seat_limit=2, external_load=500)
    known = make_factory("f2", seat_limit=2, external_load=500, last_served_at=NOW)
    jobs = [make_job(number) for number in range(1, 5)]

    picks = match([make_seeker(new, 2), make_seeker(known, 2)], jobs, CTX)

    assert [pick.factory_id for pick in picks] == ["f1", "f2", "f1", "f2"]


def test_rank_margin_and_runners_up_tell_how_close_it_was() -> None:
    first = make_factory("f1", seat_limit=2, warm_repos=frozenset({"shop"}))
    second = make_factory("f2", external_load=1, warm_repos=frozenset({"shop"}))
    jobs = [make_job(1, repo="shop"), *(make_job(number) for number in range(2, 7))]

    picks = match([make_seeker(first), make_seeker(second)], jobs, CTX)

    assert [(pick.factory_id, pick.job.id, pick.rank) for pick in picks] == [
        ("f1", jobs[0].id, 1),
        ("f2", jobs[1].id, 2),
    ]
    assert [other.job for other in picks[0].runners_up] == jobs[1:4]
    assert [pick.margin for pick in picks] == [100, 0]


def test_a_lone_job_has_no_margin() -> None:
    (pick,) = match([make_seeker(make_factory())], [make_job()], CTX)

    assert (pick.runners_up, pick.margin) == ((), None)


def test_a_lock_frees_the_second_job_only_for_a_later_batch() -> None:
    locked = make_class(lock="merge")
    jobs = [make_job(1, job_class=locked), make_job(2, job_class=locked), make_job(3)]

    picks = match([make_seeker(make_factory(seat_limit=3), 3)], jobs, CTX)

    assert [pick.job.id for pick in picks] == [jobs[0].id, jobs[2].id]
    assert picks[1].rank == 3
