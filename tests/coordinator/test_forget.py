"""What grows slowly is forgotten, too: stray classes, old runs, and successes that warm no more."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import chain, repeat

from app.coordinator.edit import JobPatch, edit
from app.coordinator.expire import sweep
from app.coordinator.forget import forget
from app.fleet import JobId, JobState
from app.store import classes, pruning
from app.store.session import Connection, Database
from tests.strategies import make_class
from tests.support.factories import OPS, register
from tests.support.jobs import put, somebody_waits, state_of

MONTH = timedelta(days=30)


def everything() -> Callable[[], float]:
    """Draw so that what grows slowly is looked for, from its beginning on."""
    return chain([0.0], repeat(0.0)).__next__


def nothing() -> float:
    """Draw so that it is left for another pass."""
    return 0.9


async def locks_of_classes(conn: Connection) -> set[str]:
    return {row["lock"] for row in await conn.fetch("select lock from job_class")}


async def test_a_class_that_lost_its_job_by_an_edit_goes(db: Database) -> None:
    job = await put(db, job_class=make_class(lock="before"))
    await edit(db, job.id, JobPatch(lock="after"), if_match=1, by=OPS)
    await forget(db, MONTH, draw=nothing)
    async with db.connection() as conn:
        assert await locks_of_classes(conn) == {"before", "after"}
    await forget(db, MONTH, draw=everything())
    async with db.connection() as conn:
        assert await locks_of_classes(conn) == {"after"}
    assert await state_of(db, job.id) is JobState.READY


async def test_the_lease_loop_looks_for_it_now_and_then(db: Database) -> None:
    async with db.transaction() as conn:
        await classes.intern(conn, [make_class(lock="stray")])
    await sweep(db, draw=nothing)
    async with db.connection() as conn:
        assert await locks_of_classes(conn) == {"stray"}
    await sweep(db, draw=everything())
    async with db.connection() as conn:
        assert await locks_of_classes(conn) == set()


async def test_a_submission_and_the_end_of_its_class_never_meet_badly(db: Database) -> None:
    """Who has found a class that goes in this moment makes it again; who is late leaves it."""

    async def submitting() -> list[JobId]:
        return [(await put(db, job_class=make_class(lock="merge"))).id for _ in range(15)]

    async def emptying(over: asyncio.Event) -> None:
        while not over.is_set():
            async with db.transaction() as conn:
                await conn.execute("delete from job where id in (select id from job limit 3)")
            await forget(db, MONTH, draw=everything())

    over = asyncio.Event()
    pruner = asyncio.create_task(emptying(over))
    await asyncio.gather(submitting(), submitting())
    over.set()
    await pruner
    last = await put(db, job_class=make_class(lock="merge"))
    assert await state_of(db, last.id) is JobState.READY


async def test_a_class_that_goes_while_another_is_made_is_made_again(db: Database) -> None:
    """The first is found; it goes while the second waits for a twin that is not made after all."""
    first, second = make_class(lock="first"), make_class(lock="second")
    async with db.connection() as conn, db.connection() as other:
        await classes.intern(conn, [first])
        twin = await db.dedicated()
        making = twin.transaction()
        await making.start()
        await classes.intern(twin, [second])
        interning = asyncio.create_task(classes.intern(conn, [first, second]))
        await somebody_waits(other)
        await pruning.stray_classes(other, 0.0, 10)
        await making.rollback()
        await twin.close()
        assert (await interning).keys() == {first, second}
        assert await locks_of_classes(other) == {"first", "second"}


async def test_old_successes_warm_nothing_and_go(db: Database) -> None:
    async with db.transaction() as conn:
        for name in ("f1", "f2"):
            await register(conn, name)
        await conn.execute(
            "insert into factory_repo (factory_id, repo, succeeded_at) values"
            " ('f1', 'old', now() - interval '25 hours'),"
            " ('f1', 'new', now() - interval '23 hours'),"
            " ('f2', 'old', now() - interval '30 days')"
        )
    await forget(db, MONTH, draw=everything())
    async with db.connection() as conn:
        kept = await conn.fetch("select factory_id, repo from factory_repo")
    assert [tuple(row) for row in kept] == [("f1", "new")]


async def test_a_stretch_begins_wherever_chance_says(db: Database) -> None:
    async with db.transaction() as conn:
        for name in ("f1", "f2", "f3"):
            await register(conn, name)
        await conn.execute(
            "insert into factory_repo (factory_id, repo, succeeded_at)"
            " select id, 'old', now() - interval '2 days' from factory"
        )
    await forget(db, MONTH, draw=chain([0.0, 0.5], repeat(0.0)).__next__)
    async with db.connection() as conn:
        kept = await conn.fetchval("select array_agg(factory_id) from factory_repo")
    assert kept == ["f1"]


async def test_old_runs_go_and_those_under_way_stay(db: Database) -> None:
    async with db.transaction() as conn:
        await conn.execute(
            "insert into repo (id, explore_level, daily_run_cap, cooldown_s, timezone)"
            " values ('shop', 'low', 10, 0, 'UTC')"
        )
        await conn.execute(
            "insert into repo_run (id, repo_id, kind, status, started_at, finished_at)"
            " select gen_random_uuid(), 'shop', 'spawn', status, now() - interval '40 days', ended"
            " from (values ('succeeded', now() - interval '31 days'),"
            "  ('failed', now() - interval '29 days'), ('running', null)) as r (status, ended)"
        )
    await forget(db, MONTH, draw=everything())
    async with db.connection() as conn:
        kept = await conn.fetchval("select array_agg(status order by status) from repo_run")
    assert kept == ["failed", "running"]
