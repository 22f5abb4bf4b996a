"""Scenes in which a factory waits at a desk in vain, until something happens.

A *cause* is an asynchronous generator: it sets the scene and yields; does what should wake ``f1``,
who waits by then; and yields the job that ``f1`` gets by it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from app.coordinator import desk as desks
from app.coordinator.complete import Completion
from app.coordinator.desk import ClaimDesk
from app.coordinator.enlist import enlist
from app.coordinator.finish import LeaseRef
from app.coordinator.waiting import ClaimRequest, Nothing
from app.fleet import FactoryId, FactorySpec, JobClass, JobId
from app.runtime.clock import now_utc
from app.runtime.ids import chance, new_id
from app.store.listener import Listener
from app.store.session import Database
from tests.support.completing import complete
from tests.support.factories import factory_principal, register
from tests.support.jobs import make_spec, put_all
from tests.support.leases import claim_one

F1, F2 = FactoryId("f1"), FactoryId("f2")
MERGE = JobClass(lock="merge")
GPU = JobClass(required=frozenset({"gpu"}))
FAR_S = 7200
AHEAD = now_utc() + timedelta(seconds=FAR_S / 2)
"""A time that does not come by itself; once a job has aged by ``FAR_S``, it has come."""

_NEVER_S = 1e6
_PROMPTLY_S = 10.0

Scene = AsyncIterator[JobId | None]
Cause = Callable[[Database], Scene]


async def play(db: Database, cause: Cause, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``f1`` wait at a desk that nothing but the cause can bring to look again."""
    monkeypatch.setattr(desks, "SLOW_POLL_S", _NEVER_S)
    scene = cause(db)
    desk = ClaimDesk(db=db, new_id=new_id, chance=chance)
    listener = Listener(url=db.url, heard=desk.heard)
    tasks = [asyncio.create_task(desk.run()), asyncio.create_task(listener.run())]
    try:
        await listener.listening.wait()
        await anext(scene)
        async with asyncio.timeout(_PROMPTLY_S):
            claim = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=60)))
            await asyncio.sleep(0)  # lets it begin
            assert desk.waiting() == {F1}
            await desk.idle.wait()
            expected = await anext(scene)
            answer = await claim
    finally:
        desk.close()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    assert not isinstance(answer, Nothing)
    assert [each.job.id for each in answer] == [expected]


async def enroll(db: Database, *names: str, seats: int = 1, account: str | None = None) -> None:
    async with db.transaction() as conn:
        for name in names:
            await register(conn, name, seat_limit=seats, account=account)


async def declare(db: Database, spec: FactorySpec) -> None:
    """Let a factory say of itself what it is."""
    await enlist(db, spec, fields_set=frozenset(), by=factory_principal(spec.id))


async def succeed(db: Database, factory_id: FactoryId, ref: LeaseRef) -> None:
    done = Completion(job_id=ref.job_id, fence=ref.fence)
    await complete(db, factory_id, [done])


async def held_by(db: Database, holder: FactoryId, **spec: int) -> LeaseRef:
    """Let a factory hold a job with the lock that others wait for."""
    await put_all(db, make_spec(job_class=MERGE, **spec))  # type: ignore[arg-type]
    return await claim_one(db, holder)


async def soon(db: Database) -> datetime:
    """A time that the database's clock will have passed in a moment."""
    async with db.connection() as conn:
        at: datetime = await conn.fetchval("select clock_timestamp() + interval '0.8 s'")
    return at
