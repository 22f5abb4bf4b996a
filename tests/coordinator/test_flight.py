"""Batches that overlap: what one is committing, the next leaves alone, and waits for if it must."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import asyncpg
import pytest

from app.coordinator.catalog import Catalog
from app.coordinator.claim import Served, Want, serve
from app.coordinator.flight import Flight
from app.coordinator.race import Race
from app.fleet import ClassId, FactoryId, Job, JobClass, JobId
from app.heads import Group, Heads, Kin
from app.runtime.ids import new_id
from app.scheduler import Pick, score_candidate
from app.store import claims
from app.store.claims import CommitOutcome
from app.store.session import Database
from app.store.wake import ANY, CHANNEL, RACE, wake
from tests.strategies import make_class, make_context, make_factory, make_job
from tests.support.world import put_factory, put_jobs

F2 = FactoryId("f2")


def picked(job: Job) -> Pick:
    factory = make_factory("f1")
    score = score_candidate(job, factory, make_context())
    return Pick(factory_id=factory.id, job=job, score=score, rank=1)


def head(*jobs: Job) -> Heads:
    return Heads(group=Group(ClassId(1)), job_class=make_class(), jobs=jobs, more=True)


class Watched(Flight):
    """One that tells when somebody waits for a landing."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = asyncio.Event()
        self.taken = asyncio.Event()

    @contextmanager
    def taking(self, picks: Iterable[Pick]) -> Iterator[None]:
        with super().taking(picks):
            self.taken.set()
            yield

    async def landing(self) -> None:
        self.awaited.set()
        await super().landing()


@pytest.fixture
def flight() -> Watched:
    return Watched()


async def ready(db: Database, *jobs: Job) -> None:
    async with db.transaction() as conn:
        await put_factory(conn, make_factory("f2"))
        await put_jobs(conn, jobs)


async def served_beside(db: Database, flight: Flight, factory_id: FactoryId) -> Served:
    async with db.connection() as conn:
        want = Want(factory_id=factory_id)
        (served,) = await serve(conn, Catalog(), [want], new_id=new_id, flight=flight)
    return served


def got(served: Served) -> list[JobId]:
    return [claim.job.id for claim in served.claims]


async def test_what_is_in_flight_goes_to_nobody_else(db: Database, flight: Watched) -> None:
    best, second = make_job(1), make_job(2)
    await ready(db, best, second)
    with flight.taking([picked(best)]):
        served = await served_beside(db, flight, F2)
    assert got(served) == [second.id]
    assert served.lost == []


async def test_a_lock_in_flight_is_taken(db: Database, flight: Watched) -> None:
    merge = make_class(lock="merge")
    one, two, free = make_job(1, job_class=merge), make_job(2, job_class=merge), make_job(3)
    await ready(db, one, two, free)
    with flight.taking([picked(one)]):
        served = await served_beside(db, flight, F2)
    assert got(served) == [free.id]
    assert served.lost == []


async def test_nothing_is_said_only_when_what_was_in_flight_has_landed(
    db: Database, flight: Watched
) -> None:
    """The pick may be lost, and its job then be for who asked meanwhile."""
    only = make_job(1)
    await ready(db, only)
    with flight.taking([picked(only)]):
        asking = asyncio.create_task(served_beside(db, flight, F2))
        await flight.awaited.wait()
        assert not asking.done()
    assert got(await asking) == [only.id]
    assert not flight


async def test_who_was_first_elsewhere_is_waited_for(db: Database, flight: Watched) -> None:
    await ready(db, make_job(1))
    async with db.connection() as conn:
        await flight.contend(conn)
        assert flight.contested
    async with db.transaction() as other, db.connection() as mine:
        await claims.take_turn(other)
        await mine.execute("set lock_timeout = '50ms'")
        with pytest.raises(asyncpg.LockNotAvailableError):
            await serve(mine, Catalog(), [Want(factory_id=F2)], new_id=new_id, flight=flight)
        await mine.execute("reset lock_timeout")
    served = await served_beside(db, flight, F2)
    assert got(served) == [make_job(1).id]
    assert not flight


_FAIL_AT_COMMIT = """
    create function fail() returns trigger language plpgsql as
        $$ begin raise exception 'the commit failed'; end $$;
    create constraint trigger fail after insert on decision
        deferrable initially deferred for each row execute function fail();
"""


async def test_what_a_turn_did_not_commit_is_given_to_nobody(db: Database, flight: Watched) -> None:
    await ready(db, make_job(1))
    async with db.connection() as conn:
        await conn.execute(_FAIL_AT_COMMIT)
        await flight.contend(conn)
    with pytest.raises(asyncpg.RaiseError, match="the commit failed"):
        await served_beside(db, flight, F2)
    async with db.connection() as conn:
        assert await conn.fetchval("select state from job") == "ready"
    assert not flight


async def test_others_are_told_of_a_race_once(db: Database, flight: Watched) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening = await db.dedicated()
    try:
        await listening.add_listener(CHANNEL, lambda *told: heard.put_nowait(told[-1]))
        async with db.connection() as conn:
            await flight.contend(conn)
            await flight.contend(conn)
            await wake(conn)
        assert [await heard.get(), await heard.get()] == [RACE, ANY]
    finally:
        await listening.close()


async def test_who_waits_for_no_landing_goes_on_at_once() -> None:
    await Flight().landing()


def test_what_was_lost_and_what_is_in_flight_are_left_alone_together() -> None:
    lost, flying, left = make_job(1), make_job(2), make_job(3)
    race = Race()
    race.note(lost, CommitOutcome.JOB_MOVED)
    race.note(lost, CommitOutcome.NO_SEAT)  # nobody else takes it for that
    around = race.beside([flying])
    assert around.without(head(lost, flying, left)) == head(left)
    assert around.left
    one, other = Group(ClassId(1)), Group(ClassId(2))
    known: dict[ClassId | Kin, JobClass] = {
        ClassId(1): make_class(),
        ClassId(2): make_class(prefers_engine="claude"),
    }
    assert around.past({one: 1, other: 1}, known) == {one: 3, other: 1}
    assert not race.left


def test_of_a_lock_that_is_being_taken_all_jobs_are_left_alone() -> None:
    merge, deploy = make_class(lock="merge"), make_class(lock="deploy")
    one, two, free = (
        make_job(1, job_class=merge),
        make_job(2, job_class=merge),
        make_job(3, job_class=deploy),
    )
    race = Race()
    race.note(one, CommitOutcome.LOCK_TAKEN)
    assert race.without(head(two, free)) == head(free)
    assert race.left
    assert race.locks.keys() == {"merge"}
    kin = Group(Kin(b"0"))
    assert race.past({kin: 1}, {kin.of: make_class()}) == {kin: 2}
    assert race.of_each == 1


def test_of_a_job_with_a_lock_that_was_lost_the_next_of_its_class_is_read() -> None:
    """The lock itself may be free: somebody only held the row."""
    race = Race()
    race.note(make_job(1, job_class=make_class(lock="merge")), CommitOutcome.JOB_MOVED)
    kin = Group(Kin(b"0"))
    assert race.of_each == 2
    assert race.past({kin: 1}, {kin.of: make_class()}) == {kin: 3}


def test_without_a_race_nothing_is_left_alone() -> None:
    race = Race()
    assert race.without(head(make_job(1))) == head(make_job(1))
    assert not race.left


async def test_behind_a_busy_job_of_a_lock_is_the_next(db: Database, flight: Watched) -> None:
    """The row is locked, but not by a commit: it is lost, and the lock is still free."""
    merge = make_class(lock="merge")
    busy, free = make_job(1, job_class=merge), make_job(2, job_class=merge)
    await ready(db, busy, free)
    async with db.transaction() as other:
        await other.execute("select from job where id = $1 for no key update", busy.id)
        async with asyncio.timeout(10):
            served = await served_beside(db, flight, F2)
    assert got(served) == [free.id]
    assert [each.job_id for each in served.lost] == [busy.id]


@pytest.mark.parametrize("seats", [0, 1])
async def test_who_has_no_seat_for_what_is_in_flight_waits_for_no_landing(
    db: Database, flight: Watched, seats: int
) -> None:
    one, other = make_job(1), make_job(2)
    await ready(db, one, other)
    async with db.transaction() as conn:
        await conn.execute("update factory_seat set used = seat_limit - $1", seats)
        with flight.taking([picked(one)]):
            (served,) = await serve(
                conn, Catalog(), [Want(factory_id=F2, max_jobs=5)], new_id=new_id, flight=flight
            )
    assert len(served.claims) == seats
    assert not flight.awaited.is_set()


async def test_a_landing_is_told_when_its_turn_is_over(db: Database, flight: Watched) -> None:
    """What is in flight in a turn is not committed before the turn ends."""
    await ready(db, make_job(1))
    async with db.connection() as conn:
        await flight.contend(conn)
        serving = serve(conn, Catalog(), [Want(factory_id=F2)], new_id=new_id, flight=flight)
        serving_task = asyncio.create_task(serving)
        await flight.taken.wait()
        await flight.landing()
        assert not conn.is_in_transaction()
        (served,) = await serving_task
    assert got(served) == [make_job(1).id]
