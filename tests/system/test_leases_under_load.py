"""Leases under load: everybody at once for some seconds, and every snapshot consistent.

Claimers, finishers, heartbeats, operators and two lease loops work on few jobs, seats and locks,
so that they collide all the time. Time runs fast: leases are aged at random, whoever holds them.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random  # noqa: TID251 - seeded: the same choices in every run

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.complete import Completion
from app.coordinator.expire import sweep
from app.coordinator.finish import Failure, LeaseRef, Release, fail, release
from app.coordinator.heartbeat import Beat
from app.coordinator.reports import Reports
from app.errors import ImpossibleTransition, LostRace, StaleFence
from app.fleet import FactoryId, JobId
from app.store.session import Database, Limits
from tests.strategies import make_class
from tests.support.desks import open_reports
from tests.support.factories import OPS, register
from tests.support.jobs import make_spec, put_all
from tests.support.leases import age, claim, inconsistencies

SECONDS = 6
FACTORIES = [FactoryId(f"f{n}") for n in range(6)]
LOCKS = [None, None, "one", "two", "three"]

# What it measures is how often it happened within its seconds.
pytestmark = [pytest.mark.timeout(180), pytest.mark.no_cover]


@dataclass(slots=True, kw_only=True)
class World:
    """What the actors share: the database, chance, leases they heard of, and a tally."""

    db: Database
    random: Random
    replicas: Sequence[Reports]
    held: list[tuple[FactoryId, LeaseRef]] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def some_lease(self) -> tuple[FactoryId, LeaseRef] | None:
        """A lease that somebody got, perhaps long ago."""
        return self.random.choice(self.held[-60:]) if self.held else None


Actor = Callable[[World], Awaitable[None]]


async def submitter(world: World) -> None:
    async with world.db.connection() as conn:
        open_jobs = await conn.fetchval("select count(*) from job where finished_at is null")
    if open_jobs > 60:
        return
    locks = [world.random.choice(LOCKS) for _ in range(10)]
    specs = [
        make_spec(
            ref=str(number),
            job_class=make_class(lock=lock),
            repo=world.random.choice((None, "shop", "blog")),
            attempts_max=world.random.choice((1, 2, 5)),
            depends_on_refs=(str(number - 1),) if number % 3 == 2 else (),
        )
        for number, lock in enumerate(locks)
    ]
    await put_all(world.db, *specs)
    world.tally["submitted"] += len(specs)


async def claimer(world: World) -> None:
    factory_id = world.random.choice(FACTORIES)
    refs = await claim(world.db, factory_id, world.random.choice((1, 3)))
    world.held += [(factory_id, ref) for ref in refs]
    world.tally["claimed"] += len(refs)


async def finisher(world: World) -> None:
    lease = world.some_lease()
    if lease is None:
        return
    factory_id, ref = lease
    match world.random.randrange(6):
        case 0:
            await fail(world.db, factory_id, ref, Failure(error="x", retry_after_s=0))
            world.tally["failed"] += 1
        case 1:
            await release(world.db, factory_id, ref, Release(reason="x"))
            world.tally["released"] += 1
        case _:
            await several(world, factory_id, ref)


async def several(world: World, factory_id: FactoryId, ref: LeaseRef) -> None:
    """Complete a lease, others of the same factory with it, and claim what is next."""
    mine = [held for holder, held in world.held[-30:] if holder == factory_id][-2:]
    batch = [Completion(job_id=each.job_id, fence=each.fence) for each in (ref, *mine)]
    reports = world.random.choice(world.replicas)
    finished = await reports.complete(factory_id, batch, world.random.choice((0, 0, 1)))
    world.tally["completed"] += sum(
        each.outcome == "succeeded" and not each.replayed for each in finished.outcomes
    )
    world.held += [
        (factory_id, LeaseRef(job_id=each.job.id, fence=each.fence)) for each in finished.claims
    ]


async def beater(world: World) -> None:
    factory_id = world.random.choice(FACTORIES)
    mine = tuple(ref for holder, ref in world.held[-60:] if holder == factory_id)
    answer = await world.random.choice(world.replicas).heartbeat(factory_id, Beat(leases=mine))
    world.tally["renewed"] += sum(each.outcome == "renewed" for each in answer.leases)


async def ager(world: World) -> None:
    lease = world.some_lease()
    if lease is not None:
        await age(world.db, lease[1].job_id, world.random.choice((10, 61, 61, 1000, 20_000)))


async def sweeper(world: World) -> None:
    report = await sweep(world.db)
    assert report.odd == ()
    world.tally["expired"] += report.expired + report.timed_out + report.died


async def operator(world: World) -> None:
    async with world.db.connection() as conn:
        job_id = await conn.fetchval(
            "select id from job where finished_at is null order by random() limit 1"
        )
    if job_id is not None and world.random.random() < 0.3:
        await cancel(world.db, JobId(job_id), reason=None, by=OPS)
        world.tally["cancelled"] += 1


async def inspector(world: World) -> None:
    async with world.db.connection() as conn:
        assert await inconsistencies(conn) == []
    world.tally["snapshots"] += 1


async def act(world: World, actor: Actor) -> None:
    """Do one thing again and again until the time is over; to lose a race is part of it."""
    while not world.over.is_set():
        try:
            await actor(world)
        except (StaleFence, ImpossibleTransition):
            world.tally["stale"] += 1
        except LostRace:
            world.tally["gave up"] += 1
        await asyncio.sleep(0)


@asynccontextmanager
async def world_of(url: str) -> AsyncIterator[World]:
    """A small fleet, and connections enough for everybody."""
    db = await Database.open(url, Limits(size=12, timeout_s=60))
    async with db.connection() as conn:
        for number, factory_id in enumerate(FACTORIES):
            await register(conn, factory_id, seat_limit=number % 3 + 1)
    try:
        async with open_reports(db) as one, open_reports(db) as other:
            yield World(db=db, random=Random(7), replicas=[one, other])  # noqa: S311 - nothing here is secret
    finally:
        await db.close()


async def test_everybody_at_once(database_url: str) -> None:
    crowd: list[Actor] = [
        submitter,
        *itertools.repeat(claimer, 3),
        *itertools.repeat(finisher, 4),
        *itertools.repeat(beater, 2),
        *itertools.repeat(ager, 1),
        *itertools.repeat(sweeper, 2),
        operator,
        inspector,
    ]
    async with world_of(database_url) as world:
        async with asyncio.TaskGroup() as group:
            for actor in crowd:
                group.create_task(act(world, actor))
            asyncio.get_running_loop().call_later(SECONDS, world.over.set)
        await inspector(world)
        async with world.db.connection() as conn:
            deadlocks = await conn.fetchval(
                "select deadlocks from pg_stat_database where datname = current_database()"
            )
            twice = await conn.fetchval(
                "select count(*) from (select 1 from job_event where outcome is not null"
                " and event <> 'expire' group by job_id, fence having count(*) > 1) t"
            )
            fences = await conn.fetchval(
                "select count(*) from job j where fence <> (select count(*) from decision d"
                " where d.job_id = j.id)"
            )
    assert world.tally["gave up"] == 0
    assert (twice, fences) == (0, 0)
    # Single statements lock in one order and never meet in a ring. A cascade may, since it goes on
    # to jobs below those it holds; that is rare, and it begins again.
    assert deadlocks <= 1
    for what in ("claimed", "completed", "failed", "released", "renewed", "expired", "snapshots"):
        assert world.tally[what] > 0, what
