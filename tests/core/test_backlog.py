"""The backlog, counted: by reason, check by check, by what more capabilities would unlock."""

from hypothesis import given
from hypothesis import strategies as st

from app.backlog import (
    CLAIMABLE,
    Backlog,
    ReadyClass,
    counted_reasons,
    pending,
    survivors,
    unlocks,
)
from app.eligibility import Reason
from app.fleet import Context, Factory, FactoryId, Health, JobState
from app.scheduler import rejections
from tests.strategies import (
    NOW,
    factories,
    fleets,
    job_classes,
    make_class,
    make_context,
    make_factory,
    make_job,
)

backlogs = st.builds(
    Backlog,
    classes=st.lists(
        st.builds(
            ReadyClass,
            job_class=job_classes,
            ready=st.integers(1, 5),
        ),
        max_size=6,
    ),
    waiting=st.dictionaries(
        st.sampled_from((JobState.BLOCKED, JobState.SCHEDULED, JobState.HELD)), st.integers(1, 9)
    ),
)
CTX = Context(now=NOW)


@given(backlog=backlogs, factory=factories)
def test_who_survives_every_check_is_eligible(backlog: Backlog, factory: Factory) -> None:
    steps = survivors(backlog, factory, CTX)
    total = sum(each.ready for each in backlog.classes) + sum(backlog.waiting.values())
    assert total == sum(step.dropped for step in steps) + steps[-1].left
    eligible = sum(
        each.ready
        for each in backlog.classes
        if not rejections(make_job(job_class=each.job_class), factory, CTX)
    )
    assert steps[-1].left == eligible


@given(backlog=backlogs, factory=factories)
def test_what_is_unlocked_becomes_eligible_by_it(backlog: Backlog, factory: Factory) -> None:
    for each in unlocks(backlog, factory):
        more = factory.capabilities | set(each.capabilities)
        richer = make_factory(factory.id, capabilities=more, engines=factory.engines)
        gained = sum(
            one.ready
            for one in backlog.classes
            if not one.job_class.required <= factory.offered
            and not rejections(make_job(job_class=one.job_class), richer, CTX)
        )
        assert gained == each.jobs


@given(backlog=backlogs, fleet=fleets(factories))
def test_every_pending_job_is_counted_once(backlog: Backlog, fleet: list[Factory]) -> None:
    counts = pending(backlog, fleet, CTX)
    total = sum(each.ready for each in backlog.classes) + sum(backlog.waiting.values())
    assert sum(counts.values()) == total
    claimable = sum(
        each.ready
        for each in backlog.classes
        if any(not rejections(make_job(job_class=each.job_class), one, CTX) for one in fleet)
    )
    assert counts[CLAIMABLE] == claimable


def test_docker_would_unlock_fourteen_jobs() -> None:
    backlog = Backlog(
        classes=[
            ReadyClass(job_class=make_class(required=frozenset({"docker"})), ready=14),
            ReadyClass(job_class=make_class(required=frozenset({"docker", "gpu"})), ready=3),
            ReadyClass(
                job_class=make_class(required=frozenset({"docker"}), lock="m"),
                ready=1,
                lock_held=True,
            ),
            ReadyClass(
                job_class=make_class(
                    required=frozenset({"gpu"}), excluded=frozenset({FactoryId("f1")})
                ),
                ready=2,
            ),
        ]
    )
    found = [(each.capabilities, each.jobs) for each in unlocks(backlog, make_factory("f1"))]
    assert found == [(("docker",), 14), (("docker", "gpu"), 17)]


def test_pending_names_what_is_in_the_way_first() -> None:
    waits = [
        ReadyClass(job_class=make_class(required=frozenset({"gpu"})), ready=2),
        ReadyClass(job_class=make_class(lock="m"), ready=3, lock_held=True),
        ReadyClass(job_class=make_class(required=frozenset({"xcode"})), ready=4),
    ]
    backlog = Backlog(classes=waits, waiting={JobState.HELD: 5})
    busy = make_factory("f1", capabilities=frozenset({"gpu"}), seats_used=1)
    down = make_factory("f2", health=Health.DOWN)
    counts = {name: n for name, n in pending(backlog, [busy, down], make_context()).items() if n}
    assert counts == {
        Reason.NO_SEAT: 2,
        Reason.LOCK_HELD: 3,
        Reason.MISSING_CAPABILITY: 4,
        Reason.ON_HOLD: 5,
    }
    nobody = pending(backlog, [], make_context())
    assert nobody[Reason.MISSING_CAPABILITY] == 6


def test_a_job_counts_under_each_of_its_reasons() -> None:
    backlog = Backlog(
        classes=[
            ReadyClass(
                job_class=make_class(required=frozenset({"gpu"}), lock="m"),
                ready=2,
                lock_held=True,
            )
        ]
    )
    idle, busy = make_factory(), make_factory(seats_used=1)
    both = {Reason.LOCK_HELD: 2, Reason.MISSING_CAPABILITY: 2}
    assert counted_reasons(backlog, idle, CTX) == both
    dropped = {step.reason: step.dropped for step in survivors(backlog, idle, CTX) if step.dropped}
    assert dropped == {Reason.LOCK_HELD: 2}
    assert counted_reasons(backlog, busy, CTX) == both | {Reason.NO_SEAT: 2}
