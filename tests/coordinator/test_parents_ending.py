"""Children that are added while their parent is ending: none waits for ever, none runs (C21)."""

import asyncio
from collections import Counter

import pytest

from app.coordinator.submit import submit
from app.fleet import JobState
from app.store.session import Database, Limits
from tests.support.jobs import (
    CLIENT,
    end,
    end_within,
    get,
    make_spec,
    put,
    put_all,
    somebody_waits,
    state_of,
)


@pytest.mark.parametrize(
    ("ended", "becomes"),
    [
        (JobState.DEAD, JobState.CANCELLED),
        (JobState.CANCELLED, JobState.CANCELLED),
        (JobState.SUCCEEDED, JobState.READY),
    ],
)
async def test_fifty_children_while_their_parent_ends(
    database_url: str, ended: JobState, becomes: JobState
) -> None:
    db = await Database.open(database_url, Limits(size=12, timeout_s=60))
    for _ in range(2):
        parent = await put(db)
        children = [put(db, depends_on=(parent.id,)) for _ in range(50)]
        early = asyncio.gather(*children[:25])
        ending = asyncio.create_task(end(db, parent.id, ended))
        late = asyncio.gather(*children[25:])
        jobs = [*await early, *await late]
        await ending
        states = Counter([await state_of(db, job.id) for job in jobs])
        assert states == {becomes: 50}
    await db.close()


async def test_a_child_waits_for_a_parent_that_is_ending(db: Database) -> None:
    parent = await put(db)
    async with db.transaction() as conn:
        await end_within(conn, parent.id, JobState.DEAD)
        waiting = asyncio.create_task(put(db, depends_on=(parent.id,)))
        await somebody_waits(conn)
    assert (await waiting).state is JobState.CANCELLED


async def test_a_parent_sees_a_child_added_while_it_waited(db: Database) -> None:
    parent = await put(db)
    async with db.transaction() as conn:
        child = (await submit(conn, make_spec(depends_on=(parent.id,)), by=CLIENT)).job
        ending = asyncio.create_task(end(db, parent.id, JobState.SUCCEEDED))
        await somebody_waits(conn)
    await ending
    assert await state_of(db, child.id) is JobState.READY


async def test_two_parents_ending_at_once_free_their_child(database_url: str) -> None:
    db = await Database.open(database_url)
    for _ in range(20):
        one, two = await put_all(db, make_spec(), make_spec())
        child = await put(db, depends_on=(one.id, two.id))
        await asyncio.gather(*(end(db, each.id, JobState.SUCCEEDED) for each in (one, two)))
        assert (await get(db, child.id)).state is JobState.READY
    await db.close()
