"""A lock goes with the last class that names it, and no class is ever without its lock's row."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import chain, repeat

from app.coordinator.edit import JobPatch, edit
from app.coordinator.forget import forget
from app.fleet import FactoryId, JobId, JobState
from app.store import classes, pruning
from app.store.session import Connection, Database
from app.store.sql import sql
from tests.strategies import make_class
from tests.support.factories import OPS, register
from tests.support.jobs import end, lease, put, somebody_waits
from tests.support.leases import age, claim, inconsistencies

DAY = 86_400
MONTH = timedelta(days=30)
F1 = FactoryId("f1")


def everything(place: float = 0.0) -> Callable[[], float]:
    """Draw so that what grows slowly is looked for, from a place on."""
    return chain([0.0, place], repeat(0.0)).__next__


def nothing() -> float:
    """Draw so that it is left for another pass."""
    return 0.9


async def locks(conn: Connection) -> set[str]:
    return {row["name"] for row in await conn.fetch("select name from job_lock")}


async def classless_lock(db: Database, name: str) -> None:
    """Leave a lock as it was left when locks were for ever."""
    async with db.connection() as conn:
        await conn.execute("insert into job_lock (name) values ($1)", name)


async def test_a_lock_goes_with_the_last_job_under_it(db: Database) -> None:
    old = await put(db, job_class=make_class(lock="branch"))
    twin = await put(db, job_class=make_class(lock="branch", required=frozenset({"gpu"})))
    other = await put(db, job_class=make_class(lock="main"))
    for job in (old, other):
        await end(db, job.id, JobState.SUCCEEDED)
        await age(db, job.id, 31 * DAY)
    await forget(db, MONTH, draw=nothing)
    async with db.connection() as conn:
        assert await locks(conn) == {"branch"}
        await end(db, twin.id, JobState.CANCELLED)
        await age(db, twin.id, 31 * DAY)
        await forget(db, MONTH, draw=nothing)
        assert await locks(conn) == set()


async def test_a_lock_whose_class_lost_its_job_by_an_edit_goes(db: Database) -> None:
    job = await put(db, job_class=make_class(lock="before"))
    await edit(db, job.id, JobPatch(lock="after"), if_match=1, by=OPS)
    await forget(db, MONTH, draw=everything())
    async with db.connection() as conn:
        assert await locks(conn) == {"after"}


async def test_stray_locks_are_found_from_wherever_chance_says(db: Database) -> None:
    job = await put(db, job_class=make_class(lock="held"))
    await lease(db, job.id)
    async with db.connection() as conn:
        await conn.execute(
            "insert into job_lock (name)"
            " select repeat('x', 400) || n from generate_series(1, 300) n"
        )
        await forget(db, MONTH, draw=everything(0.5))
        left = len(await locks(conn))
        assert 100 < left < 200
        await forget(db, MONTH, draw=everything(0.0))
        assert await locks(conn) == {"held"}


async def test_a_lock_for_which_a_class_is_being_made_stays(db: Database) -> None:
    await classless_lock(db, "branch")
    making = await db.dedicated()
    async with making.transaction():
        await classes.intern(making, [make_class(lock="branch")])
        await forget(db, MONTH, draw=everything())
    await making.close()
    async with db.connection() as conn:
        assert await locks(conn) == {"branch"}
        assert await inconsistencies(conn) == []


async def test_a_lock_found_idle_is_asked_for_again_once_it_is_kept(db: Database) -> None:
    """Its class was committed after the statement that found it began, and before it was kept."""
    await put(db, job_class=make_class(lock="branch"))
    async with db.connection() as conn:
        await conn.execute(sql("prune_locks"), ["branch"])
        assert await inconsistencies(conn) == []


async def test_a_class_that_is_made_while_its_lock_goes_makes_it_again(db: Database) -> None:
    await classless_lock(db, "branch")
    async with db.connection() as other:
        pruner = await db.dedicated()
        async with pruner.transaction():
            await pruning.stray_locks(pruner, 0.0, 10)
            submitting = asyncio.create_task(put(db, job_class=make_class(lock="branch")))
            await somebody_waits(other)
        await pruner.close()
        job = await submitting
        await register(other, F1)
        assert await inconsistencies(other) == []
    assert [each.job_id for each in await claim(db, F1)] == [job.id]


async def test_submissions_and_the_end_of_their_locks_never_meet_badly(db: Database) -> None:
    """Every job can be claimed afterwards: its class has a lock that can be taken."""
    async with db.transaction() as conn:
        await register(conn, F1, seat_limit=100)

    async def submitting(kind: int) -> list[JobId]:
        required = frozenset(["gpu"] * kind)
        made = []
        for turn in range(30):
            job_class = make_class(lock=f"lock-{turn % 3}", required=required)
            made.append((await put(db, job_class=job_class)).id)
        return made

    async def emptying(over: asyncio.Event) -> None:
        while not over.is_set():
            async with db.transaction() as conn:
                await conn.execute("delete from job where id in (select id from job limit 4)")
            await forget(db, MONTH, draw=everything())

    over = asyncio.Event()
    pruner = asyncio.create_task(emptying(over))
    await asyncio.gather(submitting(0), submitting(1), submitting(0))
    over.set()
    await pruner
    async with db.connection() as conn:
        assert await inconsistencies(conn) == []
