"""Submitting many jobs at once: tied to each other by refs, all or none of them."""

import asyncio
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.submit import BATCH_MAX, submit_batch
from app.errors import DependencyCycle, Invalid, UnknownDependency
from app.fleet import IfParentFails, JobClass, JobId, JobState
from app.runtime.ids import new_id
from app.store import jobs
from app.store.session import Database, Limits
from tests.strategies import make_class
from tests.support.factories import OPS, register
from tests.support.jobs import CLIENT, count_jobs, end, get, make_spec, put, put_all, state_of

READY, BLOCKED, CANCELLED = JobState.READY, JobState.BLOCKED, JobState.CANCELLED


async def test_refs_tie_jobs_whatever_their_order(db: Database) -> None:
    outside = await put(db)
    last, first, middle = await put_all(
        db,
        make_spec(ref="last", depends_on_refs=("middle", "first", "middle")),
        make_spec(ref="first"),
        make_spec(ref="middle", depends_on_refs=("first",), depends_on=(outside.id,)),
    )
    assert [last.state, first.state, middle.state] == [BLOCKED, READY, BLOCKED]
    assert set(last.depends_on) == {first.id, middle.id}
    assert set(middle.depends_on) == {first.id, outside.id}
    for job in (first, outside, middle):
        await end(db, job.id, JobState.SUCCEEDED)
    assert await state_of(db, last.id) is READY


async def test_a_dead_parent_outside_cancels_all_the_way_down(db: Database) -> None:
    outside = await put(db)
    await end(db, outside.id, JobState.DEAD)
    jobs = await put_all(
        db,
        make_spec(ref="a", depends_on=(outside.id,)),
        make_spec(ref="b", depends_on_refs=("a",)),
        make_spec(ref="c", depends_on_refs=("b",), if_parent_fails=IfParentFails.RUN),
        make_spec(ref="d", depends_on_refs=("c", "a")),
    )
    assert [job.state for job in jobs] == [CANCELLED, CANCELLED, READY, CANCELLED]


@pytest.mark.parametrize("size", [1, 2, 50])
async def test_a_ring_is_named_whole_and_nothing_is_stored(db: Database, size: int) -> None:
    ring = [make_spec(ref=f"r{i}", depends_on_refs=(f"r{(i + 1) % size}",)) for i in range(size)]
    beside = [make_spec(ref="free"), make_spec(depends_on_refs=("r0",))]
    with pytest.raises(DependencyCycle) as refused:
        await put_all(db, *beside, *ring)
    cycle = refused.value.extensions["cycle"]
    assert isinstance(cycle, list)
    assert cycle[0] == cycle[-1]
    assert len(cycle) == size + 1
    for job, parent in pairwise(cycle):
        assert int(str(parent)[1:]) == (int(str(job)[1:]) + 1) % size
    assert await count_jobs(db) == 0


async def test_a_ring_hidden_behind_a_dedupe_key_is_found(db: Database) -> None:
    with pytest.raises(DependencyCycle) as refused:
        await put_all(
            db,
            make_spec(ref="a", dedupe_key="k", depends_on_refs=("c",)),
            make_spec(ref="b", dedupe_key="k"),
            make_spec(ref="c", depends_on_refs=("b",)),
        )
    assert refused.value.extensions["cycle"] in (["a", "c", "a"], ["c", "a", "c"])


async def test_what_does_not_exist_is_named_and_nothing_is_stored(db: Database) -> None:
    unknown = JobId(new_id())
    with pytest.raises(UnknownDependency) as refused:
        await put_all(db, make_spec(), make_spec(depends_on=(unknown,)))
    assert refused.value.extensions == {"unknown": [str(unknown)]}
    with pytest.raises(UnknownDependency) as refused:
        await put_all(db, make_spec(), make_spec(depends_on_refs=("x", "y")))
    assert refused.value.extensions == {"unknown": ["x", "y"]}
    assert await count_jobs(db) == 0


async def test_a_ref_names_one_job(db: Database) -> None:
    with pytest.raises(Invalid, match="ref a"):
        await put_all(db, make_spec(ref="a"), make_spec(ref="a"))


async def test_a_batch_has_a_size(db: Database) -> None:
    with pytest.raises(Invalid, match="at most 1000"):
        await put_all(db, *[make_spec()] * (BATCH_MAX + 1))
    async with db.transaction() as conn:
        assert await submit_batch(conn, [], by=CLIENT) == ()


async def test_a_thousand_jobs_take_a_few_statements(db: Database) -> None:
    specs = [
        make_spec(ref=str(i), depends_on_refs=(str(i - 1),) if i % 2 else ())
        for i in range(BATCH_MAX)
    ]
    said: list[str] = []
    conn = await db.dedicated()
    conn.add_query_logger(lambda query: said.append(query.query))
    async with conn.transaction():
        answers = await submit_batch(conn, specs, by=CLIENT)
    await conn.close()
    assert len(answers) == len({answer.job.id for answer in answers}) == BATCH_MAX
    assert [answer.job.state for answer in answers] == [READY, BLOCKED] * (BATCH_MAX // 2)
    assert len(said) < 20


async def test_repeats_within_a_batch_and_of_before_are_one_job(db: Database) -> None:
    before = await put(db, dedupe_key="old")
    async with db.transaction() as conn:
        await register(conn)
        specs = [
            make_spec(dedupe_key="new"),
            make_spec(dedupe_key="old", ref="old"),
            make_spec(dedupe_key="new", job_class=JobClass(required=frozenset({"gpu"}))),
            make_spec(depends_on_refs=("old",)),
        ]
        first, old, again, child = await submit_batch(conn, specs, by=CLIENT)
    assert [first.created, old.created, again.created, child.created] == [True, False, False, True]
    assert (again.job, old.job.id) == (first.job, before.id)
    assert child.job.depends_on == (before.id,)
    assert await count_jobs(db) == 3


async def test_batches_with_the_same_keys_at_once_never_fail(database_url: str) -> None:
    db = await Database.open(database_url, Limits(size=10, timeout_s=60))
    keys = [f"k{i}" for i in range(30)]
    parents = [(await put(db)).id for _ in range(3)]

    async def batch(turn: int) -> list[JobId]:
        turned = keys[turn * 3 :] + keys[: turn * 3]
        some = [make_spec(dedupe_key=key, depends_on=(parents[turn % 3],)) for key in turned]
        return [job.id for job in await put_all(db, *some)]

    answers = await asyncio.gather(*(batch(turn) for turn in range(10)))
    assert len({frozenset(ids) for ids in answers}) == 1
    assert await count_jobs(db) == len(keys) + len(parents)
    jobs = [await get(db, parent) for parent in parents]
    async with db.connection() as conn:
        counted = await conn.fetchval("select sum(dependants) from job")
    assert counted == len(keys)
    assert {job.version for job in jobs} == {1}
    await db.close()


async def test_what_is_answered_is_what_is_stored(db: Database) -> None:
    parent = await put(db)
    later = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    specs = [
        make_spec(payload={"a": [1, 2.5, "é", None]}, labels={"team": "web"}, repo="shop"),
        make_spec(run_after=later, dedupe_key="nightly", timeout_s=60, attempts_max=1),
        make_spec(depends_on=(parent.id,), if_parent_fails=IfParentFails.RUN, ref="child"),
        make_spec(depends_on_refs=("child",), job_class=make_class(lock="merge")),
        make_spec(dedupe_key="nightly"),
        *(make_spec(ref=str(number)) for number in range(60)),
    ]
    async with db.transaction() as conn:
        submitted = await submit_batch(conn, specs, by=CLIENT)
    assert [each.created for each in submitted] == [True] * 4 + [False] + [True] * 60
    assert submitted[4].job == submitted[1].job
    async with db.connection() as conn:
        stored = await jobs.by_ids(conn, {each.job.id for each in submitted})
        told = await conn.fetchval("select count(*) from job where submitted_by = $1", CLIENT.name)
    assert {each.job.id: each.job for each in submitted} == stored
    assert told == 65


async def test_what_a_dead_parent_cancels_is_answered_as_it_is_stored(db: Database) -> None:
    parent = await put(db)
    await cancel(db, parent.id, reason=None, by=OPS)
    (child,) = await put_all(db, make_spec(depends_on=(parent.id,)))
    async with db.connection() as conn:
        assert (await jobs.by_ids(conn, [child.id]))[child.id] == child
    assert child.finished_at is not None
