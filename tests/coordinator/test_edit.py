"""Editing a stored job: at its version, as far as its state allows, and never into a ring."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.coordinator.edit import JobPatch, edit
from app.coordinator.retry import retry
from app.errors import (
    Conflict,
    DependencyCycle,
    ImpossibleTransition,
    NotFound,
    UnknownDependency,
    VersionMismatch,
)
from app.fleet import (
    CostClass,
    IfParentFails,
    JobClass,
    JobId,
    JobRecord,
    JobState,
    Priority,
)
from app.runtime.ids import new_id
from app.store.session import Database
from tests.support.factories import OPS, database_now
from tests.support.jobs import end, get, lapse, lease, make_spec, put, put_all, state_of

READY, BLOCKED, SCHEDULED = JobState.READY, JobState.BLOCKED, JobState.SCHEDULED
LEASED, DEAD, CANCELLED, SUCCEEDED = (
    JobState.LEASED,
    JobState.DEAD,
    JobState.CANCELLED,
    JobState.SUCCEEDED,
)


async def edited(db: Database, job_id: JobId, patch: JobPatch) -> JobRecord:
    """Edit a job at the version that it has."""
    return await edit(db, job_id, patch, if_match=(await get(db, job_id)).version, by=OPS)


async def test_what_is_named_changes_and_all_else_stays(db: Database) -> None:
    before = await put(
        db,
        repo="shop",
        payload={"a": 1},
        labels={"x": "y"},
        job_class=JobClass(required=frozenset({"gpu"}), lock="l"),
    )
    after = await edited(db, before.id, JobPatch(payload={"b": 2}, repo=None))
    assert after == replace(
        before, payload={"b": 2}, repo=None, version=2, updated_at=after.updated_at
    )
    async with db.connection() as conn:
        told = await conn.fetchrow(
            "select \"by\", detail from job_event where event = 'edit' and job_id = $1", before.id
        )
    assert told is not None
    assert tuple(told) == (OPS.name, {"fields": ["payload", "repo"]})


async def test_everything_but_the_kind_can_be_changed(db: Database) -> None:
    async with db.connection() as conn:
        later = await database_now(conn) + timedelta(hours=1)
    job = await put(db)
    after = await edited(
        db,
        job.id,
        JobPatch(
            repo="blog",
            payload={"p": 1},
            labels={"l": "1"},
            required=frozenset({"docker"}),
            prefers_engine="claude",
            cost_class=CostClass.HIGH,
            priority=Priority.CRITICAL,
            lock="main",
            if_parent_fails=IfParentFails.RUN,
            run_after=later,
            timeout_s=7,
            attempts_max=9,
            dedupe_key="key",
        ),
    )
    assert after.job_class == JobClass(
        required=frozenset({"docker"}),
        prefers_engine="claude",
        cost_class=CostClass.HIGH,
        priority=Priority.CRITICAL,
        lock="main",
    )
    assert (after.repo, after.payload, after.labels) == ("blog", {"p": 1}, {"l": "1"})
    assert (after.if_parent_fails, after.run_after) == (IfParentFails.RUN, later)
    assert (after.timeout_s, after.attempts_max, after.dedupe_key) == (7, 9, "key")
    assert after.state is SCHEDULED
    assert (await edited(db, job.id, JobPatch(run_after=None))).state is READY


async def test_an_edit_that_names_nothing_changes_nothing(db: Database) -> None:
    job = await put(db)
    assert await edited(db, job.id, JobPatch()) == job


async def test_an_edit_names_the_version_it_means(db: Database) -> None:
    job = await put(db)
    with pytest.raises(VersionMismatch) as refused:
        await edit(db, job.id, JobPatch(repo="x"), if_match=7, by=OPS)
    assert refused.value.extensions == {"current_version": 1}
    with pytest.raises(NotFound):
        await edit(db, JobId(new_id()), JobPatch(repo="x"), if_match=1, by=OPS)


async def test_of_two_edits_at_one_version_one_is_made(db: Database) -> None:
    job = await put(db)
    answers = await asyncio.gather(
        *(edit(db, job.id, JobPatch(repo=name), if_match=1, by=OPS) for name in "abcde"),
        return_exceptions=True,
    )
    made = [answer for answer in answers if isinstance(answer, JobRecord)]
    assert len(made) == 1
    assert sum(isinstance(answer, VersionMismatch) for answer in answers) == 4
    assert await get(db, job.id) == made[0]


@pytest.mark.parametrize("state", [LEASED, SUCCEEDED])
async def test_priority_and_labels_always_and_nothing_else_of_what_runs(
    db: Database, state: JobState
) -> None:
    job = await put(db)
    await lease(db, job.id)
    if state is SUCCEEDED:
        await end(db, job.id, state)
    after = await edited(db, job.id, JobPatch(priority=Priority.HIGH, labels={"a": "b"}))
    assert (after.job_class.priority, after.labels) == (Priority.HIGH, {"a": "b"})
    assert (after.state, after.fence, after.fence_open) == (state, 1, state is LEASED)
    with pytest.raises(ImpossibleTransition) as refused:
        await edited(db, job.id, JobPatch(timeout_s=5, labels={}, repo="x"))
    assert refused.value.extensions == {"state": state.value, "fields": ["repo", "timeout_s"]}
    assert await get(db, job.id) == after


@pytest.mark.parametrize("state", [DEAD, CANCELLED])
async def test_a_dead_job_can_be_repaired_and_stays_where_it_is(
    db: Database, state: JobState
) -> None:
    parent, job = await put_all(db, make_spec(), make_spec())
    await end(db, job.id, state)
    before = await get(db, job.id)
    after = await edited(db, job.id, JobPatch(payload={"a": 1}, depends_on=(parent.id,)))
    assert (after.state, after.payload, after.depends_on) == (state, {"a": 1}, (parent.id,))
    assert after.finished_at == before.finished_at


@pytest.mark.parametrize(("lock", "moves_to"), [(None, None), ("main", None), ("main", "other")])
async def test_an_edit_of_what_is_to_run_closes_a_lapsed_fence(
    db: Database, lock: str | None, moves_to: str | None
) -> None:
    job = await put(db, job_class=JobClass(lock=lock))
    await lease(db, job.id)
    await lapse(db, job.id)
    after = await edited(db, job.id, JobPatch(priority=Priority.HIGH, labels={"a": "b"}))
    assert after.fence_open
    patch = JobPatch(payload={"x": 1}) if moves_to is None else JobPatch(lock=moves_to)
    after = await edited(db, job.id, patch)
    assert (after.state, after.fence, after.fence_open) == (READY, 1, False)
    async with db.connection() as conn:
        assert (
            await conn.fetchval("select count(*) from job_lock where holder_job is not null") == 0
        )
        told = await conn.fetchrow(
            "select factory_id, fence from job_event where job_id = $1 order by id desc limit 1",
            job.id,
        )
    assert told is not None
    assert tuple(told) == ("f1", 1)


async def test_bounds_that_leave_no_attempt_are_refused(db: Database) -> None:
    job = await put(db)
    await lease(db, job.id)
    await lapse(db, job.id)
    with pytest.raises(ImpossibleTransition, match="attempts_max must be more"):
        await edited(db, job.id, JobPatch(attempts_max=1))
    assert (await get(db, job.id)).attempts_max == 3


async def test_a_dedupe_key_of_another_job_is_refused(db: Database) -> None:
    await put(db, dedupe_key="k")
    job = await put(db)
    with pytest.raises(Conflict, match="dedupe key"):
        await edited(db, job.id, JobPatch(dedupe_key="k"))


async def test_new_parents_replace_the_old_ones(db: Database) -> None:
    old, new, done = await put_all(db, make_spec(), make_spec(), make_spec())
    await end(db, done.id, SUCCEEDED)
    job = await put(db, depends_on=(old.id,))
    after = await edited(db, job.id, JobPatch(depends_on=(new.id, new.id, done.id)))
    assert after.depends_on == tuple(sorted((new.id, done.id)))
    assert after.state is BLOCKED
    await end(db, old.id, DEAD)
    assert await state_of(db, job.id) is BLOCKED
    await end(db, new.id, SUCCEEDED)
    assert await state_of(db, job.id) is READY
    async with db.connection() as conn:
        counted = await conn.fetch("select id, dependants from job where dependants > 0")
    assert {row["id"]: row["dependants"] for row in counted} == {new.id: 1, done.id: 1}


async def test_without_parents_a_job_is_ready(db: Database) -> None:
    parent = await put(db)
    job = await put(db, depends_on=(parent.id,))
    assert (await edited(db, job.id, JobPatch(depends_on=()))).state is READY


async def test_a_dead_parent_cancels_by_edit_as_by_submission(db: Database) -> None:
    dead = await put(db)
    await end(db, dead.id, DEAD)
    job = await put(db)
    child = await put(db, depends_on=(job.id,))
    assert (await edited(db, job.id, JobPatch(depends_on=(dead.id,)))).state is CANCELLED
    assert await state_of(db, child.id) is CANCELLED
    run = await put(db, depends_on=(dead.id,), if_parent_fails=IfParentFails.RUN)
    patch = JobPatch(if_parent_fails=IfParentFails.CANCEL)
    assert (await edited(db, run.id, patch)).state is CANCELLED


async def test_unknown_parents_are_named(db: Database) -> None:
    job, unknown = await put(db), JobId(new_id())
    with pytest.raises(UnknownDependency) as refused:
        await edited(db, job.id, JobPatch(depends_on=(unknown,)))
    assert refused.value.extensions == {"unknown": [str(unknown)]}


async def test_a_job_cannot_be_made_to_wait_for_itself(db: Database) -> None:
    job = await put(db)
    with pytest.raises(DependencyCycle) as refused:
        await edited(db, job.id, JobPatch(depends_on=(job.id,)))
    assert refused.value.extensions == {"cycle": [str(job.id)] * 2}
    assert await get(db, job.id) == job


@pytest.mark.parametrize("size", [2, 50])
async def test_a_chain_cannot_be_closed_to_a_ring(db: Database, size: int) -> None:
    chain = await put_all(
        db,
        make_spec(ref="0"),
        *(make_spec(ref=str(i), depends_on_refs=(str(i - 1),)) for i in range(1, size)),
    )
    first, last = chain[0], chain[-1]
    with pytest.raises(DependencyCycle) as refused:
        await edited(db, first.id, JobPatch(depends_on=(last.id,)))
    cycle = refused.value.extensions["cycle"]
    assert isinstance(cycle, list)
    assert len(cycle) == size + 1
    assert {str(job.id) for job in chain} == set(cycle)
    assert (await get(db, first.id)).depends_on == ()


async def test_edits_at_once_cannot_close_a_ring_together(db: Database) -> None:
    for _ in range(10):
        a, c = await put_all(db, make_spec(), make_spec())
        b, d = await put_all(db, make_spec(depends_on=(c.id,)), make_spec(depends_on=(a.id,)))
        answers = await asyncio.gather(
            edited(db, a.id, JobPatch(depends_on=(b.id,))),
            edited(db, c.id, JobPatch(depends_on=(d.id,))),
            return_exceptions=True,
        )
        assert sum(isinstance(answer, DependencyCycle) for answer in answers) == 1


@pytest.mark.parametrize("state", [DEAD, CANCELLED])
async def test_what_is_to_wait_after_its_repair_waits_when_it_is_retried(
    db: Database, state: JobState
) -> None:
    job = await put(db)
    await end(db, job.id, state)
    at = datetime(2100, 1, 1, tzinfo=UTC)
    assert (await edited(db, job.id, JobPatch(run_after=at))).state is state
    after = await retry(db, job.id, by=OPS)
    assert (after.state, after.run_after) == (SCHEDULED, at)
