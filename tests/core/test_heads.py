"""The law of heads: few rows, and the same result as with all of them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from app.fleet import ClassId, Context, CostClass, Factory, Job, JobClass
from app.heads import Group, Heads, Kin, groups_needed, run_out, warm_groups
from app.scheduler import Pick, Seeker, Weights, match, open_seekers, pair_rejections
from app.shapes import shape_of
from tests import strategies as some
from tests.strategies import (
    HOUR,
    NOW,
    job_id,
    make_class,
    make_context,
    make_factory,
    make_job,
    make_seeker,
)

CTX = make_context()


class Store:
    """A queue in memory that is read like the real one: groups, oldest first, with a limit."""

    def __init__(self, queue: Iterable[Job], ctx: Context = CTX) -> None:
        self.queue = sorted(queue, key=lambda job: (job.created_at, job.id))
        self.locks = ctx.locks
        found = dict.fromkeys(job.job_class for job in self.queue)
        shapes = dict.fromkeys(shape_of(each) for each in found if each.lock is not None)
        self.known: dict[ClassId | Kin, JobClass] = {
            **{ClassId(n): each for n, each in enumerate(found) if each.lock is None},
            **{Kin(b"%d" % n): each for n, each in enumerate(shapes)},
        }

    def groups(self, crowd: Iterable[Seeker], ctx: Context) -> list[Group]:
        """All that the open ones of a crowd may take from, warm repos and all."""
        return [
            group._replace(repo=repo)
            for seeker in open_seekers(crowd, ctx)
            for group in groups_needed(self.known, seeker.factory.offered, seeker.factory.id)
            for repo in (None, *sorted(seeker.factory.warm_repos))
        ]

    def fetch(self, group: Group, limit: int) -> Heads:
        rows = self.rows(group)
        return Heads(
            group=group,
            job_class=self.known[group.of],
            jobs=tuple(rows[:limit]),
            more=len(rows) >= limit,
        )

    def rows(self, group: Group) -> list[Job]:
        there = [job for job in self.queue if group.repo in (None, job.repo)]
        alike = self.known[group.of]
        if not group.is_kin:
            return [job for job in there if job.job_class == alike]
        heads: dict[str, Job] = {}
        for job in there:
            lock = job.job_class.lock
            if lock is not None and lock not in self.locks and shape_of(job.job_class) == alike:
                heads.setdefault(lock, job)
        return list(heads.values())


class Served(NamedTuple):
    """What the iteration came to, and what it cost."""

    picks: tuple[Pick, ...]
    rounds: int
    deepened: list[Group]


def serve(
    store: Store, crowd: list[Seeker], ctx: Context, weights: Weights, first: int = 1
) -> Served:
    """What a desk does: heads, match, fetch deeper what ran out, match again."""
    supply = {group: store.fetch(group, first) for group in store.groups(crowd, ctx)}
    deepened: list[Group] = []
    rounds = 0
    while True:
        rounds += 1
        picks = match(crowd, [job for heads in supply.values() for job in heads.jobs], ctx, weights)
        deeper = run_out(supply.values(), picks, crowd, ctx)
        if not deeper:
            return Served(picks, rounds, deepened)
        deepened.extend(deeper)
        supply |= {group: store.fetch(group, limit) for group, limit in deeper.items()}


def serve_lazily(store: Store, crowd: list[Seeker], ctx: Context, weights: Weights) -> Served:
    """The same, but warm repos are looked into only where they may matter."""
    seekers = open_seekers(crowd, ctx)
    supply = {
        group: store.fetch(group, 1)
        for seeker in seekers
        for group in groups_needed(store.known, seeker.factory.offered, seeker.factory.id)
    }
    deepened: list[Group] = []
    rounds = 0
    while True:
        rounds += 1
        picks = match(
            seekers, [job for heads in supply.values() for job in heads.jobs], ctx, weights
        )
        deeper = run_out(supply.values(), picks, seekers, ctx)
        if not deeper:
            near = warm_groups(supply.values(), picks, seekers, ctx, weights)
            deeper = {
                group._replace(repo=repo): 1
                for seeker in seekers
                for group in near.get(seeker.factory.id, ())
                for repo in seeker.factory.warm_repos
                if group._replace(repo=repo) not in supply
            }
        if not deeper:
            return Served(picks, rounds, deepened)
        deepened.extend(deeper)
        supply |= {group: store.fetch(group, limit) for group, limit in deeper.items()}


def outcome(picks: tuple[Pick, ...]) -> list[tuple[str, Job, int]]:
    return [(pick.factory_id, pick.job, pick.score.total) for pick in picks]


@given(
    some.crowded_queues, some.crowds(some.factories), some.contexts, some.weights, st.integers(1, 3)
)
def test_matching_over_heads_equals_matching_over_all(
    queue: list[Job], crowd: list[Seeker], ctx: Context, weights: Weights, first: int
) -> None:
    served = serve(Store(queue, ctx), crowd, ctx, weights, first)

    assert outcome(served.picks) == outcome(match(crowd, queue, ctx, weights))
    assert len(set(served.deepened)) == len(served.deepened)


@given(some.crowded_queues, some.crowds(min_size=1), some.contexts, some.weights)
def test_warm_repos_that_are_passed_over_hold_nothing_better(
    queue: list[Job], crowd: list[Seeker], ctx: Context, weights: Weights
) -> None:
    served = serve_lazily(Store(queue, ctx), crowd, ctx, weights)

    assert outcome(served.picks) == outcome(match(crowd, queue, ctx, weights))


@given(some.kin_queues, some.crowds(min_size=1), some.contexts, some.weights, st.integers(1, 2))
def test_of_classes_that_differ_in_their_lock_few_heads_are_enough(
    queue: list[Job], crowd: list[Seeker], ctx: Context, weights: Weights, first: int
) -> None:
    expected = outcome(match(crowd, queue, ctx, weights))

    assert outcome(serve(Store(queue, ctx), crowd, ctx, weights, first).picks) == expected
    assert outcome(serve_lazily(Store(queue, ctx), crowd, ctx, weights).picks) == expected


@given(some.crowded_queues, some.alike_crowds(), some.weights)
def test_warm_repos_that_are_passed_over_hold_nothing_better_for_factories_that_are_alike(
    queue: list[Job], crowd: list[Seeker], weights: Weights
) -> None:
    served = serve_lazily(Store(queue), crowd, CTX, weights)

    assert outcome(served.picks) == outcome(match(crowd, queue, CTX, weights))


@given(some.crowded_queues, some.factories)
def test_the_groups_of_one_factory_are_the_classes_that_it_may_take(
    queue: list[Job], factory: Factory
) -> None:
    known = Store(queue).known
    groups = groups_needed(known, factory.offered, factory.id)

    assert groups == {
        Group(of) for of, job_class in known.items() if not pair_rejections(job_class, factory)
    }


def test_a_class_that_is_far_behind_is_not_looked_for_in_warm_repos() -> None:
    near, far = make_class(), make_class(cost_class=CostClass.HIGH)
    queue = [make_job(number, job_class=each) for each in (near, far) for number in (1, 2)]
    store = Store(
        replace(job, id=job_id(place), repo="shop") for place, job in enumerate(queue, start=1)
    )
    factory = make_factory(cost_ceiling=CostClass.LOW, warm_repos=frozenset({"shop"}))
    crowd = [make_seeker(factory)]
    supply = [store.fetch(Group(of), 1) for of in store.known]
    picks = match(crowd, [job for heads in supply for job in heads.jobs], CTX)
    found = warm_groups(supply, picks, crowd, CTX)

    assert {store.known[each.of] for each in found[factory.id]} == {near}
    assert warm_groups(supply, (), crowd, CTX) == {}


@given(some.crowded_queues, some.crowds(min_size=1), some.contexts, some.weights)
def test_matching_over_heads_equals_matching_over_all_among_open_factories(
    queue: list[Job], crowd: list[Seeker], ctx: Context, weights: Weights
) -> None:
    served = serve(Store(queue, ctx), crowd, ctx, weights)

    assert outcome(served.picks) == outcome(match(crowd, queue, ctx, weights))


@given(some.crowded_queues, some.alike_crowds(), some.weights, st.integers(1, 2))
def test_matching_over_heads_equals_matching_over_all_for_factories_that_are_alike(
    queue: list[Job], crowd: list[Seeker], weights: Weights, first: int
) -> None:
    served = serve(Store(queue), crowd, CTX, weights, first)

    assert outcome(served.picks) == outcome(match(crowd, queue, CTX, weights))


@given(some.crowded_queues, some.open_factories, some.weights)
def test_a_single_seat_is_decided_by_single_heads(
    queue: list[Job], factory: Factory, weights: Weights
) -> None:
    served = serve(Store(queue), [make_seeker(factory)], CTX, weights)

    assert served.rounds == 1
    assert outcome(served.picks) == outcome(match([make_seeker(factory)], queue, CTX, weights))


@given(some.crowded_queues, some.crowds(min_size=1), some.contexts, st.data())
def test_rows_lost_to_somebody_else_do_not_break_it(
    queue: list[Job], crowd: list[Seeker], ctx: Context, data: st.DataObject
) -> None:
    """Lost rows leave the supply, ``more`` stays: what is left is matched as if they never were."""
    store = Store(queue, ctx)
    lost = {job.id for job in queue if data.draw(st.booleans())}
    supply = {}
    for group in store.groups(crowd, ctx):
        heads = store.fetch(group, 1)
        left = tuple(job for job in heads.jobs if job.id not in lost)
        supply[group] = heads._replace(jobs=left)
    free = Store((job for job in queue if job.id not in lost), ctx)
    free.known = store.known
    while True:
        picks = match(crowd, [job for heads in supply.values() for job in heads.jobs], ctx)
        deeper = run_out(supply.values(), picks, crowd, ctx)
        if not deeper:
            break
        for group, limit in deeper.items():
            supply[group] = free.fetch(group, limit)

    assert outcome(picks) == outcome(match(crowd, free.queue, ctx))


# ---------------------------------------------------------------------------- one by one


def batch(jobs: list[Job], wish: int) -> tuple[Store, list[Seeker]]:
    factory = make_factory(seat_limit=wish, warm_repos=frozenset({"shop"}))
    return Store(jobs), [make_seeker(factory, wish)]


def test_a_class_that_runs_out_is_fetched_as_deep_as_the_batch_can_use() -> None:
    jobs = [make_job(number, created_at=NOW - number * HOUR / 10) for number in range(1, 9)]
    store, crowd = batch(jobs, 3)
    head = store.fetch(Group(ClassId(0)), 1)

    picks = match(crowd, head.jobs, CTX)

    assert run_out([head], picks, crowd, CTX) == {head.group: 3}
    assert run_out([head._replace(more=False)], picks, crowd, CTX) == {}


def locked(*locks: str) -> list[Job]:
    return [
        make_job(number, job_class=make_class(lock=lock))
        for number, lock in enumerate(locks, start=1)
    ]


def test_of_a_class_with_a_lock_one_row_is_enough() -> None:
    store, crowd = batch(locked("merge", "merge", "merge"), 3)
    head = store.fetch(Group(Kin(b"0")), 2)

    picks = match(crowd, head.jobs, CTX)

    assert len(picks) == 1
    assert run_out([head], picks, crowd, CTX) == {}


def test_a_kin_that_runs_out_is_fetched_deeper_though_others_took_its_locks() -> None:
    gpu = make_class(lock="a", prefers_engine="claude")
    store = Store([*locked("a", "b", "c"), make_job(9, job_class=gpu)])
    factory = make_factory(seat_limit=2, engines=frozenset({"claude"}))
    crowd = [make_seeker(factory, 2)]
    supply = [store.fetch(Group(of), 1) for of in store.known]

    picks = match(crowd, [job for heads in supply for job in heads.jobs], CTX)
    taken = [pick.job.job_class.lock for pick in picks]

    assert taken == ["a"]
    kin = next(each.group for each in supply if each.job_class == make_class())
    assert run_out(supply, picks, crowd, CTX) == {
        kin: 2,
        next(each.group for each in supply if each.group != kin): 2,
    }


def test_a_group_of_a_repo_matters_only_to_factories_where_it_is_warm() -> None:
    jobs = [make_job(number, repo="shop") for number in range(1, 4)]
    store, crowd = batch(jobs, 3)
    group = Group(ClassId(0), repo="shop")
    head = store.fetch(group, 1)
    cold = [make_seeker(make_factory(seat_limit=3), 3)]

    picks = match(crowd, head.jobs, CTX)

    assert run_out([head], picks, crowd, CTX) == {group: 3}
    assert run_out([head], picks, cold, CTX) == {}


def test_what_ran_out_first_is_named_first() -> None:
    """Up to there the picks can be trusted, and what it fetches may spare the rest."""
    better = make_class(prefers_engine="claude")
    jobs = [make_job(1), make_job(2), *(make_job(n, job_class=better) for n in (3, 4))]
    store = Store(jobs)
    supply = [store.fetch(Group(of), 1) for of in store.known]
    crowd = [make_seeker(make_factory(seat_limit=3, engines=frozenset({"claude"})), 3)]

    picks = match(crowd, [job for heads in supply for job in heads.jobs], CTX)
    short = run_out(supply, picks, crowd, CTX)

    assert [store.known[group.of] for group in short] == [better, make_class()]


def test_a_full_batch_needs_nothing_more_though_its_last_pick_was_the_last_row() -> None:
    store, crowd = batch([make_job(number) for number in range(1, 4)], 1)
    head = store.fetch(Group(ClassId(0)), 1)

    picks = match(crowd, head.jobs, CTX)

    assert run_out([head], picks, crowd, CTX) == {}


def test_a_lost_head_is_missed_from_the_very_first_pick() -> None:
    """Its successor might have beaten what the only seat went to."""
    factory = make_factory(engines=frozenset({"claude"}))
    better = make_class(prefers_engine="claude")
    lost = Heads(group=Group(ClassId(0)), job_class=better, jobs=(), more=True)
    other = Heads(group=Group(ClassId(1)), job_class=make_class(), jobs=(make_job(2),), more=True)
    crowd = [make_seeker(factory)]

    picks = match(crowd, other.jobs, CTX)

    assert len(picks) == 1
    assert run_out([lost, other], picks, crowd, CTX) == {lost.group: 1}
