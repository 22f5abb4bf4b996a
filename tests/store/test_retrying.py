"""Beginning again: after a lost compare-and-swap, as a deadlock's victim, and not for ever."""

import asyncio

import pytest

from app.errors import LostRace
from app.fleet import JobId
from app.store import retrying
from app.store.retrying import Moved, settled, settled_within
from app.store.session import Connection, Database
from tests.support.jobs import make_spec, put, put_all


async def test_what_moved_is_decided_again_from_the_start(db: Database) -> None:
    tries: list[int] = []

    async def act(conn: Connection) -> int:
        tries.append(await conn.fetchval("insert into job_lock values ('l') returning 1"))
        if len(tries) < 3:
            raise Moved
        return len(tries)

    assert await settled(db, act) == 3


async def test_who_always_loses_says_so(db: Database) -> None:
    tries: list[None] = []

    async def act(_conn: Connection) -> None:
        tries.append(None)
        raise Moved

    with pytest.raises(LostRace):
        await settled(db, act)
    async with db.transaction() as conn:
        with pytest.raises(LostRace):
            await settled_within(conn, lambda: act(conn))
        assert await conn.fetchval("select 1") == 1
    assert len(tries) == 2 * retrying.TRIES_MAX


async def lock_in_order(
    conn: Connection, ids: list[JobId], met: asyncio.Barrier, tries: list[None]
) -> None:
    tries.append(None)
    for turn, job_id in enumerate(ids):
        if turn and len(tries) <= 2:
            # On their first try both hold one before either asks for the other.
            await met.wait()
        await conn.execute("select from job where id = $1 for no key update", job_id)


@pytest.mark.parametrize("within", [False, True])
async def test_a_deadlock_is_solved_by_its_victim(db: Database, *, within: bool) -> None:
    one, two = (job.id for job in await put_all(db, make_spec(), make_spec()))
    met, tries = asyncio.Barrier(2), list[None]()

    async def locked(ids: list[JobId]) -> str:
        async def act(conn: Connection) -> str:
            if within:
                await settled_within(conn, lambda: lock_in_order(conn, ids, met, tries))
            else:
                await lock_in_order(conn, ids, met, tries)
            return "locked"

        return await settled(db, act)

    answers = await asyncio.gather(locked([one, two]), locked([two, one]))
    assert set(answers) == {"locked"}
    assert len(tries) > 2
    assert (await put(db)).version == 1
