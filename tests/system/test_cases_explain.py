"""What explain says a claim would get is what a claim gets, whatever state the fleet is in."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.coordinator import claim as claiming
from app.coordinator.catalog import Catalog
from app.coordinator.claim import Want
from app.coordinator.explain import explain_factory
from app.fleet import Factory, FactoryId, Job, JobId, JobState, LockHolder
from app.runtime.ids import new_id
from app.store.session import Connection, Database
from tests.strategies import NOW, contexts, fleets, open_factories, queues, ready_jobs
from tests.support.factories import database_now
from tests.support.postgres import Databases
from tests.support.world import put_factory, put_jobs, put_locks

WORLDS = 70

_STATES = (JobState.READY, JobState.READY, JobState.BLOCKED, JobState.SCHEDULED, JobState.HELD)
_CONDITIONS = (
    None,
    None,
    None,
    "update factory set drain_reason = 'x', drain_by = 'ann' where id = $1",
    "update factory set pause_reason = 'x', pause_by = 'a', pause_until = now() where id = $1",
    "update factory set quarantined_until = now() + interval '10 minutes' where id = $1",
    "update factory_pulse set health = 'down' where factory_id = $1",
    "update factory_pulse set last_seen_at = now() - interval '1 hour' where factory_id = $1",
)
_EMPTY = "truncate job, job_class, job_lock, factory cascade"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A fleet: its jobs, its machines, what is the matter with each, and which locks are held."""

    jobs: Sequence[Job]
    machines: Sequence[Factory]
    conditions: Sequence[str | None]
    held: Mapping[str, LockHolder]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def db(databases: Databases, runner: asyncio.Runner) -> Iterator[Database]:
    with databases.fresh() as url:
        opened = runner.run(Database.open(url))
        yield opened
        runner.run(opened.close())


states = st.builds(
    State,
    jobs=queues(st.builds(replace, ready_jobs(), state=st.sampled_from(_STATES))),
    machines=fleets(open_factories, min_size=3),
    conditions=st.lists(st.sampled_from(_CONDITIONS), min_size=4, max_size=4),
    held=contexts.map(lambda ctx: ctx.locks),
)


@settings(max_examples=WORLDS, suppress_health_check=[HealthCheck.too_slow])
@given(state=states)
def test_what_is_explained_is_what_is_claimed(
    runner: asyncio.Runner, db: Database, state: State
) -> None:
    """C75: two hundred states and more; “none” is an empty claim."""

    async def compare() -> None:
        await become(db, state)
        for machine in state.machines:
            assert await explained(db, machine.id) == await claimed(db, machine.id)

    runner.run(compare())


async def become(db: Database, state: State) -> None:
    async with db.transaction() as conn:
        await conn.execute(_EMPTY)
        now = await database_now(conn)
        await put_jobs(
            conn, [replace(job, created_at=now - (NOW - job.created_at)) for job in state.jobs]
        )
        await put_locks(conn, state.held)
        for machine, condition in zip(state.machines, state.conditions, strict=False):
            await put_factory(conn, machine)
            if condition is not None:
                await conn.execute(condition, machine.id)


async def explained(db: Database, factory_id: FactoryId) -> JobId | None:
    found = await explain_factory(db, Catalog(), factory_id, limit=3)
    return found.ranking[0].job.id if found.ranking else None


async def claimed(db: Database, factory_id: FactoryId) -> JobId | None:
    """Claim in earnest, and take it back for the next question."""

    async def claim(conn: Connection) -> JobId | None:
        want = Want(factory_id=factory_id, max_jobs=1)
        (served,) = await claiming.serve(conn, Catalog(), [want], new_id=new_id)
        return served.claims[0].job.id if served.claims else None

    async with db.connection() as conn:
        transaction = conn.transaction()
        await transaction.start()
        try:
            return await claim(conn)
        finally:
            await transaction.rollback()
