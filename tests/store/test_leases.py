"""Writing what was decided on leases: what a write compares, and what it leaves alone."""

from dataclasses import replace

import pytest

from app import lease as law
from app.fleet import FactoryId, JobId
from app.life import Change, Hand
from app.runtime.ids import new_id
from app.store import classes, leases, lives
from app.store.leases import LeaseMove
from app.store.session import Connection, Database
from tests.strategies import make_class
from tests.support.factories import register
from tests.support.jobs import put
from tests.support.leases import claim_one, row_of, seats_used

F1 = FactoryId("f1")


async def release_of(conn: Connection, job_id: JobId) -> LeaseMove:
    """Decide on a release of the job as it is now."""
    reading = (await lives.read(conn, [job_id]))[job_id]
    by = Hand(factory=F1, fence=reading.life.fence)
    decided = law.release(reading.life, by, retry_after_s=None, now=reading.now)
    assert isinstance(decided, Change)
    return LeaseMove(reading=reading, change=decided, class_id=reading.class_id)


@pytest.mark.parametrize(
    "meanwhile",
    [
        "update job set version = version + 1",
        "update job set parents_left = parents_left + 1",
        "update job_lock set holder_job = null, holder_fence = null",
        "update job_lock set holder_fence = holder_fence + 1",
    ],
)
async def test_what_a_decision_rested_on_is_compared(db: Database, meanwhile: str) -> None:
    await put(db, job_class=make_class(lock="merge"))
    async with db.connection() as conn:
        await register(conn, F1)
    ref = await claim_one(db, F1)
    async with db.connection() as conn:
        move = await release_of(conn, ref.job_id)
        await conn.execute(meanwhile)
        before = await row_of(db, ref.job_id)
        assert await leases.write(conn, [move]) == {}
    assert await row_of(db, ref.job_id) == before
    assert await seats_used(db, F1) == 1


async def test_a_class_that_was_pruned_meanwhile_is_not_written(db: Database) -> None:
    await put(db)
    async with db.connection() as conn:
        await register(conn, F1)
    ref = await claim_one(db, F1)
    async with db.connection() as conn:
        move = await release_of(conn, ref.job_id)
        other = (await classes.intern(conn, [make_class(lock="x")])).popitem()[1]
        await conn.execute("delete from job_class where id = $1", other)
        assert await leases.write(conn, [replace(move, class_id=other)]) == {}


async def test_only_a_full_factory_has_room_by_a_seat(db: Database) -> None:
    await put(db)
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=2)
    ref = await claim_one(db, F1)
    async with db.connection() as conn:
        written = await leases.write(conn, [await release_of(conn, ref.job_id)])
        assert not written[ref.job_id].makes_room
        await conn.execute("update factory_seat set seat_limit = 1")
    again = await claim_one(db, F1)
    async with db.connection() as conn:
        written = await leases.write(conn, [await release_of(conn, again.job_id)])
        assert written[again.job_id].makes_room


async def test_a_job_that_does_not_exist_is_left_out(db: Database) -> None:
    async with db.connection() as conn:
        assert await lives.read(conn, [JobId(new_id())]) == {}
        assert await leases.write(conn, []) == {}
