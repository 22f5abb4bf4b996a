"""What tests are made of: builders with defaults, and hypothesis strategies over small worlds.

A builder makes one value and lets a test say only what it is about: ``make_job(repo="shop")``.
A strategy draws from few capabilities, repos, locks and hours on purpose, so that jobs collide,
tie and share locks far more often than in a real fleet.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypedDict, Unpack
from uuid import UUID

from hypothesis import strategies as st

from app.fleet import (
    Context,
    CostClass,
    Factory,
    FactoryId,
    Health,
    Job,
    JobClass,
    JobId,
    JobState,
    LockHolder,
    Outcome,
    Priority,
    Standing,
)
from app.health import PastLease
from app.scheduler import Seeker, Weights

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

CAPABILITIES = ("docker", "gpu", "xcode")
ENGINES = ("claude", "codex")
REQUIRABLE = (*CAPABILITIES, "engine:claude", "engine:codex")
REPOS = ("shop", "blog", "docs")
LOCKS = ("merge", "deploy")
MANY_LOCKS = (*LOCKS, *(f"pr-{number}" for number in range(4)))
FACTORY_IDS = tuple(FactoryId(name) for name in ("f1", "f2", "f3", "f4"))


# ---------------------------------------------------------------------------- builders


class ClassFields(TypedDict, total=False):
    """What :func:`make_class` may be told."""

    required: frozenset[str]
    prefers_engine: str | None
    cost_class: CostClass
    priority: Priority
    lock: str | None
    excluded: frozenset[FactoryId]


class JobFields(TypedDict, total=False):
    """What :func:`make_job` may be told."""

    id: JobId
    job_class: JobClass
    created_at: datetime
    repo: str | None
    state: JobState
    version: int
    run_after: datetime | None
    unfinished_parents: tuple[JobId, ...]
    hold: Standing | None
    lease_expires_at: datetime | None


class FactoryFields(TypedDict, total=False):
    """What :func:`make_factory` may be told."""

    capabilities: frozenset[str]
    engines: frozenset[str]
    warm_repos: frozenset[str]
    cost_ceiling: CostClass
    seat_limit: int
    seats_used: int
    external_load: int
    health: Health
    drain: Standing | None
    pause: Standing | None
    quarantined_until: datetime | None
    account: str | None
    cooldown_until: datetime | None
    last_seen_at: datetime | None
    last_served_at: datetime | None


def job_id(number: int) -> JobId:
    """The id with that number: smaller numbers are smaller ids."""
    return JobId(UUID(int=number))


def make_class(**fields: Unpack[ClassFields]) -> JobClass:
    """A class that any factory may take: normal priority, low cost, nothing required."""
    return replace(JobClass(), **fields)


def make_job(number: int = 1, **fields: Unpack[JobFields]) -> Job:
    """A ready job, an hour old, of a class that any factory may take; ``number`` makes its id."""
    job = Job(id=job_id(number), job_class=make_class(), created_at=NOW - HOUR)
    return replace(job, **fields)


def make_factory(name: str = "f1", **fields: Unpack[FactoryFields]) -> Factory:
    """An idle, healthy factory with one seat that offers nothing in particular."""
    return replace(Factory(id=FactoryId(name)), **fields)


def make_seeker(factory: Factory, max_jobs: int = 1) -> Seeker:
    """A factory that waits for jobs."""
    return Seeker(factory=factory, max_jobs=max_jobs)


def make_context(now: datetime = NOW, **locks: JobId) -> Context:
    """The time, and who holds which lock."""
    return Context(
        now=now, locks={lock: LockHolder(job_id=holder) for lock, holder in locks.items()}
    )


def make_standing(until: datetime | None = None, reason: str = "upgrade") -> Standing:
    """An operator's word: a drain, a pause or a hold."""
    return Standing(reason=reason, by="ann", until=until)


def make_past(outcome: Outcome, *, ended_ago: timedelta, took: timedelta = HOUR) -> PastLease:
    """A lease that ended ``ended_ago`` before ``NOW``."""
    ended_at = NOW - ended_ago
    return PastLease(outcome=outcome, claimed_at=ended_at - took, ended_at=ended_at)


# ---------------------------------------------------------------------------- small worlds

repos = st.sampled_from((None, *REPOS))
factory_ids = st.sampled_from(FACTORY_IDS)

# On, just before and just after the borders of the six-hour levels; ahead of now as well, since a
# clock that was set back must not break the scheduler.
ages = st.builds(
    lambda hours, seconds: timedelta(hours=hours, seconds=seconds),
    st.integers(min_value=-1, max_value=60),
    st.sampled_from((-1, 0, 1)),
)
past_ages = ages.filter(lambda age: age >= timedelta(0))
nearby = st.one_of(st.none(), st.builds(lambda age: NOW + 6 * HOUR - age, ages))
standings = st.one_of(st.none(), st.builds(make_standing, nearby))

NO_WEIGHTS = Weights(capability=0, affinity=0, load=0, cost=0, health=0, starvation=0)
"""Under these everything ties, so that only the tie-breaks decide."""

weights = st.one_of(
    st.sampled_from((Weights(), NO_WEIGHTS)),
    st.builds(
        Weights,
        capability=st.integers(0, 9),
        affinity=st.integers(0, 9),
        load=st.integers(0, 9),
        cost=st.integers(0, 9),
        health=st.integers(0, 9),
        starvation=st.integers(0, 9),
    ),
)

job_classes = st.builds(
    JobClass,
    required=st.frozensets(st.sampled_from(REQUIRABLE), max_size=2),
    prefers_engine=st.sampled_from((None, *ENGINES)),
    cost_class=st.sampled_from(CostClass),
    priority=st.sampled_from(Priority),
    lock=st.sampled_from((None, None, *LOCKS)),
    excluded=st.frozensets(factory_ids, max_size=2),
)


def ready_jobs(
    classes: st.SearchStrategy[JobClass] = job_classes,
    job_ages: st.SearchStrategy[timedelta] = ages,
) -> st.SearchStrategy[Job]:
    """Jobs that are ready, as :mod:`app.lease` lets them be: nothing else holds them back."""
    return st.builds(
        lambda number, job_class, age, repo: Job(
            id=job_id(number), job_class=job_class, created_at=NOW - age, repo=repo
        ),
        st.integers(1, 10_000),
        classes,
        job_ages,
        repos,
    )


jobs = st.builds(
    Job,
    id=st.builds(job_id, st.integers(1, 10_000)),
    job_class=job_classes,
    created_at=ages.map(lambda age: NOW - age),
    repo=repos,
    state=st.sampled_from((JobState.READY, *JobState)),
    run_after=nearby,
    unfinished_parents=st.sampled_from(
        ((), (), (job_id(20_001),), (job_id(20_001), job_id(20_002)))
    ),
    hold=standings,
    lease_expires_at=nearby,
)
"""Jobs in any state, with facts that the state may contradict: the filter must bear them."""


def queues(
    of: st.SearchStrategy[Job] | None = None, *, max_size: int = 12
) -> st.SearchStrategy[list[Job]]:
    """Jobs whose ids differ, in any order; ready ones unless told otherwise."""
    of = ready_jobs() if of is None else of
    return st.lists(of, max_size=max_size, unique_by=lambda job: job.id)


crowded_queues = st.lists(job_classes, min_size=1, max_size=4).flatmap(
    lambda classes: queues(ready_jobs(st.sampled_from(classes)), max_size=25)
)
"""Queues of few classes with many jobs each, so that only age, repo and tie-breaks differ."""

kin_queues = st.lists(job_classes, min_size=1, max_size=2).flatmap(
    lambda shapes: queues(
        ready_jobs(
            st.builds(
                lambda shape, lock: replace(shape, lock=lock),
                st.sampled_from(shapes),
                st.sampled_from(MANY_LOCKS),
            )
        ),
        max_size=25,
    )
)
"""Queues of classes that differ in their lock alone, so that many are kin; locks cross kin, too."""


open_factories = st.builds(
    Factory,
    id=factory_ids,
    capabilities=st.frozensets(st.sampled_from(CAPABILITIES)),
    engines=st.frozensets(st.sampled_from(ENGINES)),
    warm_repos=st.frozensets(st.sampled_from(REPOS), max_size=2),
    cost_ceiling=st.sampled_from(CostClass),
    seat_limit=st.integers(1, 4),
    seats_used=st.integers(0, 2),
    external_load=st.sampled_from((0, 0, 1, 3, 200)),
    health=st.sampled_from((Health.OK, Health.DEGRADED)),
    last_seen_at=st.just(NOW),
    last_served_at=st.sampled_from((None, NOW - HOUR, NOW - 2 * HOUR)),
)
"""Factories that may claim, though perhaps without a seat: only what jobs ask can be in the way."""

factories = st.builds(
    replace,
    open_factories,
    health=st.sampled_from((Health.OK, *Health)),
    drain=standings,
    pause=standings,
    quarantined_until=nearby,
    account=st.sampled_from((None, "acme")),
    cooldown_until=nearby,
    last_seen_at=st.sampled_from((None, NOW, NOW - timedelta(seconds=180), NOW - HOUR)),
)
"""Factories in any condition."""


def fleets(
    of: st.SearchStrategy[Factory] = open_factories, *, min_size: int = 0
) -> st.SearchStrategy[list[Factory]]:
    """Factories whose ids differ, in any order."""
    return st.lists(
        of, min_size=min_size, max_size=len(FACTORY_IDS), unique_by=lambda factory: factory.id
    )


def crowds(
    of: st.SearchStrategy[Factory] = open_factories, *, min_size: int = 0
) -> st.SearchStrategy[list[Seeker]]:
    """Different factories that wait, each for up to four jobs."""
    return st.builds(
        lambda fleet, wishes: [
            Seeker(factory=factory, max_jobs=wish)
            for factory, wish in zip(fleet, wishes, strict=False)
        ],
        fleets(of, min_size=min_size),
        st.lists(st.integers(1, 4), min_size=len(FACTORY_IDS), max_size=len(FACTORY_IDS)),
    )


@st.composite
def alike_crowds(draw: st.DrawFn) -> list[Seeker]:
    """Factories that offer the same and wait: only load, health and service tell them apart."""
    one = draw(open_factories)
    varied = draw(fleets(min_size=2))
    return [
        Seeker(
            factory=replace(
                one,
                id=other.id,
                health=other.health,
                external_load=other.external_load,
                last_served_at=other.last_served_at,
                seat_limit=4,
                seats_used=0,
            ),
            max_jobs=draw(st.integers(1, 4)),
        )
        for other in varied
    ]


def _holders(locks: Iterable[str]) -> dict[str, LockHolder]:
    return {
        lock: LockHolder(job_id=job_id(30_000), factory_id=FACTORY_IDS[0], expires_at=NOW + HOUR)
        for lock in locks
    }


contexts = st.builds(
    Context, now=st.just(NOW), locks=st.sets(st.sampled_from(LOCKS), max_size=1).map(_holders)
)

past_leases = st.builds(
    lambda outcome, ended_ago, took: make_past(outcome, ended_ago=ended_ago, took=took),
    st.sampled_from(Outcome),
    st.integers(0, 30).map(lambda hours: hours * HOUR),
    st.sampled_from((timedelta(seconds=5), timedelta(seconds=60), timedelta(seconds=61), HOUR)),
)
