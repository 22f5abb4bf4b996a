"""The filter: every reason, in order, with its facts and with when it clears."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given

from app.eligibility import ClearsWhen, may_ever_take
from app.fleet import Context, Factory, Health, Job, JobClass, JobState, LockHolder
from app.scheduler import (
    Reason,
    Rejection,
    exclusion_stands,
    factory_rejections,
    job_rejections,
    pair_rejections,
    rejections,
)
from tests import strategies as some
from tests.core import oracle
from tests.strategies import (
    FACTORY_IDS,
    HOUR,
    NOW,
    job_id,
    make_class,
    make_context,
    make_factory,
    make_job,
    make_standing,
)

CTX = make_context()
LATER = NOW + HOUR
EARLIER = NOW - HOUR


def only(found: tuple[Rejection, ...]) -> Rejection:
    assert len(found) == 1, found
    return found[0]


@given(some.jobs, some.factories, some.contexts)
def test_every_reason_is_reported_and_no_other(job: Job, factory: Factory, ctx: Context) -> None:
    found = [rejection.reason for rejection in rejections(job, factory, ctx)]

    assert set(found) == oracle.reasons(job, factory, ctx)
    assert found == [reason for reason in Reason if reason in found]


@given(some.jobs, some.factories, some.contexts)
def test_the_three_sides_together_are_all_there_is(
    job: Job, factory: Factory, ctx: Context
) -> None:
    assert rejections(job, factory, ctx) == (
        *job_rejections(job, ctx),
        *pair_rejections(job.job_class, factory),
        *factory_rejections(factory, ctx),
    )


@given(some.jobs, some.factories, some.contexts)
def test_every_reason_says_when_it_clears_and_never_names_a_time_gone_by(
    job: Job, factory: Factory, ctx: Context
) -> None:
    for rejection in rejections(job, factory, ctx):
        assert rejection.clears_when in ClearsWhen
        assert rejection.clears_at is None or rejection.clears_at > ctx.now
        assert rejection.permanent == (rejection.reason in {"missing_capability", "excluded"})


@given(some.jobs, some.factories)
def test_the_quick_check_of_a_pair_agrees_with_the_telling_one(job: Job, factory: Factory) -> None:
    quick = may_ever_take(job.job_class, factory.id, factory.offered)

    assert quick == (pair_rejections(job.job_class, factory) == ())


def test_nothing_in_the_way_is_no_rejection() -> None:
    assert rejections(make_job(), make_factory(last_seen_at=NOW), CTX) == ()


# ---------------------------------------------------------------------------- the job's side


@pytest.mark.parametrize(
    ("job", "clears_when", "clears_at"),
    [
        (make_job(state=JobState.BLOCKED), ClearsWhen.PARENT_ENDS, None),
        (make_job(state=JobState.SCHEDULED, run_after=EARLIER), ClearsWhen.RUN_AFTER, None),
        (make_job(state=JobState.HELD), ClearsWhen.UNHOLD, None),
        (make_job(state=JobState.LEASED, lease_expires_at=LATER), ClearsWhen.LEASE_ENDS, LATER),
        (make_job(state=JobState.LEASED, lease_expires_at=EARLIER), ClearsWhen.LEASE_ENDS, None),
        (make_job(state=JobState.SUCCEEDED), ClearsWhen.NEVER, None),
        (make_job(state=JobState.DEAD), ClearsWhen.RETRY, None),
        (make_job(state=JobState.CANCELLED), ClearsWhen.RETRY, None),
    ],
    ids=lambda value: value.state.value if isinstance(value, Job) else str(value),
)
def test_not_ready_names_the_state(
    job: Job, clears_when: ClearsWhen, clears_at: datetime | None
) -> None:
    assert only(job_rejections(job, CTX)) == Rejection(
        reason=Reason.NOT_READY, clears_when=clears_when, clears_at=clears_at, state=job.state
    )


def test_parent_unfinished_names_the_parents() -> None:
    parents = (job_id(7), job_id(8))
    job = make_job(state=JobState.BLOCKED, unfinished_parents=parents)

    state, waiting = job_rejections(job, CTX)

    assert state.reason is Reason.NOT_READY
    assert waiting == Rejection(
        reason=Reason.PARENT_UNFINISHED, clears_when=ClearsWhen.PARENT_ENDS, parents=parents
    )


def test_lock_held_names_the_lock_its_holder_and_the_end_of_its_lease() -> None:
    holder = LockHolder(job_id=job_id(9), factory_id=FACTORY_IDS[1], expires_at=LATER)
    job = make_job(job_class=make_class(lock="merge"))

    assert only(job_rejections(job, Context(now=NOW, locks={"merge": holder}))) == Rejection(
        reason=Reason.LOCK_HELD,
        clears_when=ClearsWhen.LOCK_FREED,
        clears_at=LATER,
        lock="merge",
        holder=holder,
    )
    assert job_rejections(job, Context(now=NOW, locks={"deploy": holder})) == ()


def test_lock_held_past_its_lease_has_no_time_but_still_holds() -> None:
    holder = LockHolder(job_id=job_id(9), expires_at=EARLIER)
    job = make_job(job_class=make_class(lock="merge"))

    held = only(job_rejections(job, Context(now=NOW, locks={"merge": holder})))

    assert (held.reason, held.clears_at) == (Reason.LOCK_HELD, None)


def test_a_leased_job_does_not_wait_for_its_own_lock() -> None:
    job = make_job(3, state=JobState.LEASED, job_class=make_class(lock="merge"))

    assert only(job_rejections(job, make_context(merge=job_id(3)))).reason is Reason.NOT_READY
    assert len(job_rejections(job, make_context(merge=job_id(4)))) == 2
    ready = replace(job, state=JobState.READY)
    assert only(job_rejections(ready, make_context(merge=job_id(3)))).reason is Reason.LOCK_HELD


def test_not_before_clears_by_itself() -> None:
    job = make_job(state=JobState.SCHEDULED, run_after=LATER)

    state, early = job_rejections(job, CTX)

    assert (state.reason, state.clears_at) == (Reason.NOT_READY, LATER)
    assert (early.reason, early.clears_at) == (Reason.NOT_BEFORE, LATER)


def test_on_hold_carries_the_word_of_ops_and_ends_by_itself() -> None:
    hold = make_standing(until=LATER)
    held = make_job(state=JobState.HELD, hold=hold)

    state, on_hold = job_rejections(held, CTX)

    assert state.clears_at == LATER
    assert (on_hold.reason, on_hold.clears_when) == (Reason.ON_HOLD, ClearsWhen.UNHOLD)
    assert (on_hold.standing, on_hold.clears_at) == (hold, LATER)
    assert len(job_rejections(held, make_context(now=LATER))) == 1


# ---------------------------------------------------------------------------- the pair


def test_missing_capabilities_are_named_in_order_engines_too() -> None:
    job_class = make_class(required=frozenset({"xcode", "docker", "engine:codex"}))
    factory = make_factory(capabilities=frozenset({"docker"}), engines=frozenset({"claude"}))

    assert only(pair_rejections(job_class, factory)) == Rejection(
        reason=Reason.MISSING_CAPABILITY,
        clears_when=ClearsWhen.CAPABILITY_OFFERED,
        missing=("engine:codex", "xcode"),
    )


def test_an_engine_is_offered_like_a_capability() -> None:
    job_class = make_class(required=frozenset({"engine:codex"}))

    assert pair_rejections(job_class, make_factory(engines=frozenset({"codex"}))) == ()


def test_excluded_is_permanent() -> None:
    job_class = make_class(excluded=frozenset({FACTORY_IDS[0]}))

    excluded = only(pair_rejections(job_class, make_factory("f1")))

    assert (excluded.reason, excluded.permanent) == (Reason.EXCLUDED, True)
    assert excluded.clears_when is ClearsWhen.EXCLUSION_DROPPED
    assert pair_rejections(job_class, make_factory("f2")) == ()


# ---------------------------------------------------------------------------- the factory's side


@pytest.mark.parametrize(
    ("factory", "reason", "clears_when", "clears_at"),
    [
        (
            make_factory(drain=make_standing()),
            Reason.DRAINING,
            ClearsWhen.RESUME,
            None,
        ),
        (
            make_factory(pause=make_standing(until=LATER)),
            Reason.PAUSED,
            ClearsWhen.RESUME,
            LATER,
        ),
        (
            make_factory(health=Health.DOWN),
            Reason.DOWN,
            ClearsWhen.HEALTH_REPORTED,
            None,
        ),
        (
            make_factory(quarantined_until=LATER),
            Reason.QUARANTINED,
            ClearsWhen.QUARANTINE_LIFTED,
            LATER,
        ),
        (
            make_factory(last_seen_at=NOW - timedelta(seconds=181)),
            Reason.STALE,
            ClearsWhen.HEARTBEAT,
            None,
        ),
        (
            make_factory(seat_limit=1, seats_used=1),
            Reason.NO_SEAT,
            ClearsWhen.SEAT_FREED,
            None,
        ),
        (
            make_factory(account="acme", cooldown_until=LATER),
            Reason.ACCOUNT_COOLDOWN,
            ClearsWhen.COOLDOWN_LIFTED,
            LATER,
        ),
    ],
    ids=lambda value: value.value if isinstance(value, Reason) else "",
)
def test_factory_side_reasons(
    factory: Factory, reason: Reason, clears_when: ClearsWhen, clears_at: datetime | None
) -> None:
    found = only(factory_rejections(factory, CTX))

    assert (found.reason, found.clears_when, found.clears_at) == (reason, clears_when, clears_at)
    assert not found.permanent


@pytest.mark.parametrize(
    "factory",
    [
        make_factory(drain=make_standing(until=NOW)),
        make_factory(pause=make_standing(until=EARLIER)),
        make_factory(health=Health.DEGRADED),
        make_factory(quarantined_until=NOW),
        make_factory(last_seen_at=NOW - timedelta(seconds=180)),
        make_factory(seat_limit=2, seats_used=1, external_load=50),
        make_factory(cooldown_until=EARLIER),
    ],
)
def test_what_is_over_or_not_yet_so_is_no_reason(factory: Factory) -> None:
    assert factory_rejections(factory, CTX) == ()


@given(some.factories)
def test_staleness_never_refuses_a_factory_that_is_asking(factory: Factory) -> None:
    found = factory_rejections(replace(factory, last_seen_at=NOW), CTX)

    assert Reason.STALE not in {rejection.reason for rejection in found}


# ---------------------------------------------------------------------------- exclusions


@given(some.job_classes, some.fleets(some.factories))
def test_an_exclusion_never_leaves_a_job_without_any_factory(
    job_class: JobClass, fleet: list[Factory]
) -> None:
    """Dropped where it must be, it takes no job from the last factory that could run it."""
    after = job_class
    if not exclusion_stands(job_class, fleet):
        after = replace(job_class, excluded=frozenset())
    up = [factory for factory in fleet if factory.health is not Health.DOWN]
    able = [factory for factory in up if job_class.required <= factory.offered]

    assert not able or any(pair_rejections(after, factory) == () for factory in up)


def test_exclusion_of_the_only_factory_does_not_stand() -> None:
    alone = make_factory("f1")

    assert not exclusion_stands(make_class(excluded=frozenset({alone.id})), [alone])


def test_exclusion_stands_only_on_another_that_is_up_and_able() -> None:
    job_class = make_class(required=frozenset({"gpu"}), excluded=frozenset({FACTORY_IDS[0]}))
    failed = make_factory("f1", capabilities=frozenset({"gpu"}))
    able = make_factory("f2", capabilities=frozenset({"gpu"}))

    assert exclusion_stands(job_class, [failed, able])
    assert exclusion_stands(job_class, [failed, replace(able, pause=make_standing())])
    assert not exclusion_stands(job_class, [failed, make_factory("f2")])
    assert not exclusion_stands(job_class, [failed, replace(able, health=Health.DOWN)])
    assert exclusion_stands(make_class(), [])
