"""Submitting one job: where it starts, what it repeats, and what is said about its prospects."""

import asyncio
from datetime import timedelta

import pytest

from app.coordinator.prospects import warnings_for
from app.coordinator.reads import job_events
from app.coordinator.submit import Submitted, submit
from app.errors import DependencyCycle, UnknownDependency
from app.fleet import FactoryId, IfParentFails, JobClass, JobId, JobSpec, JobState
from app.runtime.ids import new_id
from app.store import classes
from app.store.retrying import settled
from app.store.session import Database, Limits
from app.store.wake import CHANNEL
from tests.strategies import NOW, make_factory
from tests.support.factories import OPS, database_now, register
from tests.support.jobs import (
    CLIENT,
    count_jobs,
    end,
    get,
    make_spec,
    put,
    somebody_waits,
    state_of,
)

HOUR = timedelta(hours=1)
DEAD, CANCELLED, SUCCEEDED = JobState.DEAD, JobState.CANCELLED, JobState.SUCCEEDED


async def submitted(db: Database, spec: JobSpec) -> Submitted:
    return await settled(db, lambda conn: submit(conn, spec, by=CLIENT))


async def test_a_job_is_stored_as_it_was_asked_for(db: Database) -> None:
    spec = make_spec(
        kind="implement",
        job_class=JobClass(required=frozenset({"docker"}), lock="repo:shop"),
        repo="shop",
        payload={"prompt": "…", "nested": [1, None]},
        labels={"team": "a"},
        timeout_s=60,
        attempts_max=5,
        dedupe_key="k",
    )
    job = (await submitted(db, spec)).job
    assert job == await get(db, job.id)
    assert (job.kind, job.job_class, job.repo) == (spec.kind, spec.job_class, spec.repo)
    assert (job.payload, job.labels, job.dedupe_key) == (spec.payload, spec.labels, "k")
    assert (job.timeout_s, job.attempts_max, job.attempts) == (60, 5, 0)
    assert (job.version, job.state, job.fence, job.fence_open) == (1, JobState.READY, 0, False)
    assert job.id.version == 7
    assert job.created_at == job.updated_at


async def test_a_job_of_later_is_scheduled_and_looked_at_in_time(db: Database) -> None:
    async with db.connection() as conn:
        now = await database_now(conn)
    later = await put(db, run_after=now + HOUR)
    assert later.state is JobState.SCHEDULED
    assert await state_of(db, (await put(db, run_after=now - HOUR)).id) is JobState.READY
    async with db.connection() as conn:
        wake_at = await conn.fetchval("select wake_at from job where id = $1", later.id)
    assert wake_at == now + HOUR


@pytest.mark.parametrize(
    ("ended", "policy", "expected"),
    [
        (None, IfParentFails.CANCEL, JobState.BLOCKED),
        (None, IfParentFails.RUN, JobState.BLOCKED),
        (SUCCEEDED, IfParentFails.CANCEL, JobState.READY),
        (DEAD, IfParentFails.CANCEL, CANCELLED),
        (CANCELLED, IfParentFails.CANCEL, CANCELLED),
        (DEAD, IfParentFails.RUN, JobState.READY),
        (CANCELLED, IfParentFails.RUN, JobState.READY),
    ],
)
async def test_a_job_starts_where_its_parent_puts_it(
    db: Database, ended: JobState | None, policy: IfParentFails, expected: JobState
) -> None:
    parent = await put(db)
    if ended is not None:
        await end(db, parent.id, ended)
    child = await put(db, depends_on=(parent.id,), if_parent_fails=policy)
    assert child.state is expected
    assert child.depends_on == (parent.id,)
    assert (child.finished_at is not None) == (expected is CANCELLED)


async def test_a_job_cancelled_at_once_says_because_of_whom(db: Database) -> None:
    parent = await put(db)
    await end(db, parent.id, DEAD)
    child = await put(db, depends_on=(parent.id,))
    async with db.connection() as conn:
        blamed = await conn.fetchval("select cancelled_by_parent from job where id = $1", child.id)
    told = (await job_events(db, child.id, None, 10)).items
    assert blamed == parent.id
    assert [(each.event, each.by, each.detail) for each in told] == [
        ("submit", "cli", {}),
        ("parent_failed", None, {"parent": str(parent.id)}),
    ]


async def test_a_parent_named_twice_is_one_parent(db: Database) -> None:
    parent = await put(db)
    child = await put(db, depends_on=(parent.id, parent.id))
    assert child.depends_on == (parent.id,)
    await end(db, parent.id, SUCCEEDED)
    assert await state_of(db, child.id) is JobState.READY


async def test_an_unknown_parent_is_named_and_nothing_is_stored(db: Database) -> None:
    known, unknown = (await put(db)).id, JobId(new_id())
    with pytest.raises(UnknownDependency) as refused:
        await put(db, depends_on=(known, unknown))
    assert refused.value.extensions == {"unknown": [str(unknown)]}
    assert await count_jobs(db) == 1
    assert (await get(db, known)).version == 1


async def test_a_job_cannot_wait_for_itself(db: Database) -> None:
    with pytest.raises(DependencyCycle) as refused:
        await put(db, ref="a", depends_on_refs=("a",))
    assert refused.value.extensions == {"cycle": ["a", "a"]}
    assert await count_jobs(db) == 0


async def test_a_repeat_returns_the_first_whatever_became_of_it(db: Database) -> None:
    first = await submitted(db, make_spec(dedupe_key="k"))
    assert first.created
    for state in (None, SUCCEEDED):
        if state is not None:
            await end(db, first.job.id, state)
        unknown = (JobId(new_id()),)
        again = await submitted(db, make_spec(dedupe_key="k", kind="other", depends_on=unknown))
        assert (again.created, again.warnings) == (False, ())
        assert again.job == await get(db, first.job.id)
    assert await count_jobs(db) == 1


async def test_twenty_at_once_with_one_key_make_one_job(database_url: str) -> None:
    db = await Database.open(database_url, Limits(size=20, timeout_s=60))
    parent = await put(db)
    spec = make_spec(dedupe_key="k", depends_on=(parent.id,))
    answers = await asyncio.gather(*(submitted(db, spec) for _ in range(20)))
    assert len({answer.job.id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    assert await count_jobs(db) == 2
    async with db.connection() as conn:
        assert await conn.fetchval("select dependants from job where id = $1", parent.id) == 1
    await db.close()


async def test_a_ready_job_wakes_its_class_and_a_blocked_one_nobody(db: Database) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    ear = await db.dedicated()
    await ear.add_listener(CHANNEL, lambda *message: heard.put_nowait(str(message[-1])))
    parent = await put(db)
    await put(db, depends_on=(parent.id,), job_class=JobClass(lock="other"))
    ready = await put(db, job_class=JobClass(lock="last"))
    async with db.connection() as conn:
        ids = await classes.intern(conn, {parent.job_class, ready.job_class})
    assert [await heard.get(), await heard.get()] == [
        str(ids[parent.job_class]),
        str(ids[ready.job_class]),
    ]
    await ear.close()


async def test_a_class_pruned_at_the_wrong_moment_is_made_again(db: Database) -> None:
    spec = make_spec(job_class=JobClass(lock="l"))
    async with db.connection() as conn:
        await classes.intern(conn, [spec.job_class])
    sweeper = await db.dedicated()
    watcher = await db.dedicated()
    sweep = sweeper.transaction()
    await sweep.start()
    await sweeper.execute("delete from job_class")
    # The submission finds the class and then waits for the one who is deleting it.
    waiting = asyncio.create_task(submitted(db, spec))
    await somebody_waits(watcher)
    await sweep.commit()
    assert (await waiting).created
    await sweeper.close()
    await watcher.close()


class TestProspects:
    """The warning that nobody we know of could ever take the job."""

    async def warnings(self, db: Database, *required: str) -> tuple[str, ...]:
        job_class = JobClass(required=frozenset(required))
        return (await submitted(db, make_spec(job_class=job_class))).warnings

    async def drain(self, db: Database, name: str) -> None:
        async with db.connection() as conn:
            await conn.execute(
                "update factory set drain_reason = 'moving house', drain_by = $2 where id = $1",
                name,
                OPS.name,
            )

    async def test_without_any_factory(self, db: Database) -> None:
        assert await self.warnings(db) == ("No factory is registered. The job waits for one.",)
        assert await self.warnings(db, "gpu", "docker") == (
            "No factory is registered. The job waits for one that offers docker and gpu.",
        )

    async def test_what_no_factory_offers_is_named(self, db: Database) -> None:
        async with db.connection() as conn:
            await register(conn, "f1", capabilities=["docker"])
        assert await self.warnings(db) == ()
        assert await self.warnings(db, "docker") == ()
        assert await self.warnings(db, "docker", "gpu") == ("No factory offers gpu.",)
        assert await self.warnings(db, "engine:claude", "gpu") == (
            "No factory offers engine:claude or gpu.",
        )

    async def test_what_no_factory_offers_together_is_told_with_the_nearest(
        self, db: Database
    ) -> None:
        async with db.connection() as conn:
            await register(conn, "f1", capabilities=["docker"])
            await register(conn, "f2", capabilities=["gpu", "xcode"])
        assert await self.warnings(db, "docker", "gpu", "xcode") == (
            "No factory offers docker, gpu and xcode together. The nearest, f2, lacks docker.",
        )

    async def test_a_factory_on_its_way_out_is_named(self, db: Database) -> None:
        async with db.connection() as conn:
            await register(conn, "f1", capabilities=["docker"])
            await register(conn, "f2")
        await self.drain(db, "f1")
        assert await self.warnings(db) == ()
        assert await self.warnings(db, "docker") == (
            "No factory that stays offers docker. f1 does, but is draining (moving house).",
        )
        await self.drain(db, "f2")
        assert await self.warnings(db) == (
            "No factory stays. f1 and f2 are draining (moving house).",
        )

    async def test_a_drain_that_is_over_is_no_reason(self, db: Database) -> None:
        async with db.connection() as conn:
            await register(conn, "f1")
        await self.drain(db, "f1")
        async with db.connection() as conn:
            await conn.execute("update factory set drain_until = now() - interval '1 second'")
        assert await self.warnings(db) == ()

    def test_a_factory_that_failed_the_job_does_not_count(self) -> None:
        excluding = JobClass(excluded=frozenset({FactoryId("f1")}))
        (warning,) = warnings_for(excluding, [make_factory("f1")], NOW)
        assert warning == "Every factory that could take it is excluded."
