"""Holding a job back and letting it go; beginning a dead or cancelled one again."""

import asyncio
from datetime import timedelta

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.hold import hold, unhold
from app.coordinator.retry import retry
from app.errors import ImpossibleTransition, NotFound
from app.fleet import IfParentFails, JobId, JobRecord, JobState, Standing
from app.runtime.ids import new_id
from app.store import classes
from app.store.session import Database, Limits
from app.store.wake import CHANNEL
from tests.support.factories import OPS, database_now
from tests.support.jobs import end, get, lapse, lease, make_spec, put, put_all, state_of

READY, BLOCKED, HELD = JobState.READY, JobState.BLOCKED, JobState.HELD
DEAD, CANCELLED, SUCCEEDED = JobState.DEAD, JobState.CANCELLED, JobState.SUCCEEDED


async def held(db: Database, job_id: JobId, reason: str = "wait") -> JobRecord:
    return await hold(db, job_id, reason=reason, until=None, by=OPS)


async def retried(db: Database, job_id: JobId) -> JobRecord:
    return await retry(db, job_id, by=OPS)


async def test_a_hold_says_why_by_whom_and_until_when(db: Database) -> None:
    async with db.connection() as conn:
        until = await database_now(conn) + timedelta(hours=1)
    job = await put(db)
    after = await hold(db, job.id, reason="wait", until=until, by=OPS)
    assert (after.state, after.version) == (HELD, 2)
    assert after.hold == Standing(reason="wait", by=OPS.name, until=until)
    async with db.connection() as conn:
        assert await conn.fetchval("select wake_at from job") == until
    again = await held(db, job.id, "longer")
    assert again.hold == Standing(reason="longer", by=OPS.name)
    async with db.connection() as conn:
        assert await conn.fetchval("select wake_at from job") is None
        told = await conn.fetch("select detail from job_event where event = 'hold' order by id")
    assert [row["detail"] for row in told] == [
        {"reason": "wait", "until": until.isoformat()},
        {"reason": "longer"},
    ]


async def test_a_job_let_go_belongs_where_its_parents_put_it_now(db: Database) -> None:
    parent = await put(db)
    job = await put(db, depends_on=(parent.id,))
    await held(db, job.id)
    await end(db, parent.id, SUCCEEDED)
    assert await state_of(db, job.id) is HELD
    after = await unhold(db, job.id, by=OPS)
    assert (after.state, after.hold) == (READY, None)


async def test_letting_go_wakes_who_may_take_it(db: Database) -> None:
    job = await put(db)
    await held(db, job.id)
    heard: asyncio.Queue[str] = asyncio.Queue()
    ear = await db.dedicated()
    await ear.add_listener(CHANNEL, lambda *message: heard.put_nowait(str(message[-1])))
    await unhold(db, job.id, by=OPS)
    ids = await classes.intern(ear, [job.job_class])
    assert await heard.get() == str(ids[job.job_class])
    await ear.close()


async def test_only_a_held_job_is_let_go(db: Database) -> None:
    job = await put(db)
    with pytest.raises(ImpossibleTransition) as refused:
        await unhold(db, job.id, by=OPS)
    assert refused.value.extensions == {"state": "ready"}


@pytest.mark.parametrize("state", [JobState.LEASED, DEAD])
async def test_what_runs_or_is_over_is_not_held(db: Database, state: JobState) -> None:
    job = await put(db)
    await (lease(db, job.id) if state is JobState.LEASED else end(db, job.id, state))
    with pytest.raises(ImpossibleTransition) as refused:
        await held(db, job.id)
    assert refused.value.extensions == {"state": state.value}


async def test_a_hold_leaves_a_lapsed_fence_open(db: Database) -> None:
    job = await put(db)
    await lease(db, job.id)
    await lapse(db, job.id)
    after = await held(db, job.id)
    assert (after.state, after.fence_open) == (HELD, True)


async def test_what_does_not_exist_is_not_found(db: Database) -> None:
    for call in (
        held(db, JobId(new_id())),
        unhold(db, JobId(new_id()), by=OPS),
        retried(db, JobId(new_id())),
    ):
        with pytest.raises(NotFound):
            await call


async def test_a_hold_against_the_parents_end_strands_nobody(db: Database) -> None:
    for _ in range(30):
        parent = await put(db)
        job = await put(db, depends_on=(parent.id,))
        await held(db, job.id)
        await asyncio.gather(unhold(db, job.id, by=OPS), end(db, parent.id, SUCCEEDED))
        assert await state_of(db, job.id) is READY


@pytest.mark.parametrize("state", [DEAD, CANCELLED])
async def test_a_retry_begins_afresh(db: Database, state: JobState) -> None:
    job = await put(db)
    await lease(db, job.id)
    await end(db, job.id, state)
    after = await retried(db, job.id)
    assert (after.state, after.attempts, after.fence) == (READY, 0, 1)
    assert (after.finished_at, after.cancel_requested) == (None, False)


@pytest.mark.parametrize("state", [READY, SUCCEEDED])
async def test_only_what_is_dead_or_cancelled_is_retried(db: Database, state: JobState) -> None:
    job = await put(db)
    if state is SUCCEEDED:
        await end(db, job.id, state)
    with pytest.raises(ImpossibleTransition) as refused:
        await retried(db, job.id)
    assert refused.value.extensions == {"state": state.value}


async def test_a_retry_revives_all_that_was_cancelled_because_of_it(db: Database) -> None:
    job, child, grandchild, other = await put_all(
        db,
        make_spec(ref="a"),
        make_spec(ref="b", depends_on_refs=("a",)),
        make_spec(ref="c", depends_on_refs=("b",)),
        make_spec(ref="d", depends_on_refs=("a",)),
    )
    await cancel(db, other.id, reason=None, by=OPS)
    await end(db, job.id, DEAD)
    later = await put(db, depends_on=(grandchild.id,))
    assert later.state is CANCELLED
    assert (await retried(db, job.id)).state is READY
    family = (child, grandchild, later)
    assert [await state_of(db, each.id) for each in family] == [BLOCKED] * 3
    assert await state_of(db, other.id) is CANCELLED
    for each in (job, *family):
        assert await state_of(db, each.id) is not CANCELLED
        await end(db, each.id, SUCCEEDED)
    async with db.connection() as conn:
        told = await conn.fetchrow(
            "select detail from job_event where event = 'retry' and job_id = $1", child.id
        )
    assert told is not None
    assert told["detail"] == {"state": "blocked", "parent": str(job.id)}


async def test_under_a_dead_parent_a_retry_is_refused_with_its_name(db: Database) -> None:
    parent = await put(db)
    job = await put(db, depends_on=(parent.id,))
    run = await put(db, depends_on=(parent.id,), if_parent_fails=IfParentFails.RUN)
    await end(db, parent.id, DEAD)
    with pytest.raises(ImpossibleTransition) as refused:
        await retried(db, job.id)
    assert refused.value.extensions == {"state": "cancelled", "parents": [str(parent.id)]}
    await end(db, run.id, DEAD)
    assert (await retried(db, run.id)).state is READY


async def test_with_two_dead_parents_the_last_retry_revives(db: Database) -> None:
    one, two = await put_all(db, make_spec(), make_spec())
    child = await put(db, depends_on=(one.id, two.id))
    await end(db, one.id, DEAD)
    await end(db, two.id, DEAD)
    await retried(db, one.id)
    assert await state_of(db, child.id) is CANCELLED
    await retried(db, two.id)
    assert await state_of(db, child.id) is BLOCKED


async def test_a_job_that_ran_regardless_waits_for_the_retried_parent(db: Database) -> None:
    parent = await put(db)
    ready, leased = [
        await put(db, depends_on=(parent.id,), if_parent_fails=IfParentFails.RUN) for _ in range(2)
    ]
    await end(db, parent.id, DEAD)
    await lease(db, leased.id)
    await retried(db, parent.id)
    assert await state_of(db, ready.id) is BLOCKED
    assert await state_of(db, leased.id) is JobState.LEASED
    async with db.connection() as conn:
        left = await conn.fetchval("select parents_left from job where id = $1", leased.id)
    assert left == 1


async def test_retries_at_once_begin_it_once(database_url: str) -> None:
    db = await Database.open(database_url, Limits(timeout_s=60))
    job = await put(db)
    child = await put(db, depends_on=(job.id,))
    await end(db, job.id, DEAD)
    answers = await asyncio.gather(*(retried(db, job.id) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(answer, JobRecord) for answer in answers) == 1
    assert sum(isinstance(answer, ImpossibleTransition) for answer in answers) == 7
    assert (await get(db, child.id)).state is BLOCKED
    await db.close()


async def test_a_retry_against_another_parents_end_strands_nobody(db: Database) -> None:
    for _ in range(30):
        one, two = await put_all(db, make_spec(), make_spec())
        child = await put(db, depends_on=(one.id, two.id))
        await end(db, one.id, DEAD)
        await asyncio.gather(retried(db, one.id), end(db, two.id, SUCCEEDED))
        assert await state_of(db, child.id) is BLOCKED
        await end(db, one.id, SUCCEEDED)
        assert await state_of(db, child.id) is READY
