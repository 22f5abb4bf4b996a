"""Jobs in a database: submitted as clients do, then leased and ended straight in their rows."""

from datetime import datetime
from typing import TypedDict, Unpack

from app.coordinator.dependants import parent_ended
from app.coordinator.submit import submit, submit_batch
from app.fleet import (
    FINISHED,
    IfParentFails,
    JobClass,
    JobId,
    JobRecord,
    JobSpec,
    JobState,
    JsonObject,
    Principal,
    Role,
    TokenId,
)
from app.runtime.ids import new_id
from app.store import jobs
from app.store.retrying import settled
from app.store.session import Connection, Database

CLIENT = Principal(token_id=TokenId(new_id()), role=Role.CLIENT, name="cli")


class SpecFields(TypedDict, total=False):
    """What :func:`make_spec` may be told."""

    kind: str
    job_class: JobClass
    repo: str | None
    payload: JsonObject
    labels: dict[str, str]
    depends_on: tuple[JobId, ...]
    depends_on_refs: tuple[str, ...]
    ref: str | None
    if_parent_fails: IfParentFails
    run_after: datetime | None
    timeout_s: int
    attempts_max: int
    dedupe_key: str | None


def make_spec(**given: Unpack[SpecFields]) -> JobSpec:
    """A job that anybody may do at once."""
    fields: SpecFields = {"kind": "test", "job_class": JobClass(), **given}
    return JobSpec(**fields)


async def put(db: Database, **given: Unpack[SpecFields]) -> JobRecord:
    """Submit one job."""
    taken = await settled(db, lambda conn: submit(conn, make_spec(**given), by=CLIENT))
    return taken.job


async def put_all(db: Database, *specs: JobSpec) -> list[JobRecord]:
    """Submit a batch."""
    taken = await settled(db, lambda conn: submit_batch(conn, specs, by=CLIENT))
    return [each.job for each in taken]


async def get(db: Database, job_id: JobId) -> JobRecord:
    """Read a job."""
    async with db.connection() as conn:
        return (await jobs.by_ids(conn, [job_id]))[job_id]


async def state_of(db: Database, job_id: JobId) -> JobState:
    """Read a job's state."""
    return (await get(db, job_id)).state


async def count_jobs(db: Database) -> int:
    """Count all stored jobs."""
    async with db.connection() as conn:
        counted: int = await conn.fetchval("select count(*) from job")
    return counted


async def lease(db: Database, job_id: JobId, holder: str = "f1") -> int:
    """Lease a ready job for an hour, as a claim does; returns the fence."""
    async with db.transaction() as conn:
        fence: int = await conn.fetchval(
            "update job set state = 'leased', version = version + 1, fence = fence + 1,"
            " fence_open = true, holder = $2, seated = true, lease_s = 3600, claimed_at = now(),"
            " lease_expires_at = now() + interval '1 hour', attempts = attempts + 1"
            " where id = $1 and state = 'ready' returning fence",
            job_id,
            holder,
        )
        await conn.execute(
            "update job_lock set holder_job = $1, holder_fence = $2, lapsed = false where name ="
            " (select lock from job_class where id = (select class_id from job where id = $1))",
            job_id,
            fence,
        )
        await conn.execute("update factory_seat set used = used + 1 where factory_id = $1", holder)
    return fence


async def lapse(db: Database, job_id: JobId) -> None:
    """Write down that the lease of a job has ended while its fence stays open."""
    async with db.transaction() as conn:
        await conn.execute(
            "update job set state = 'ready', version = version + 1, seated = false where id = $1",
            job_id,
        )
        await conn.execute("update job_lock set lapsed = true where holder_job = $1", job_id)
        await conn.execute(
            "update factory_seat set used = used - 1"
            " where factory_id = (select holder from job where id = $1)",
            job_id,
        )


async def end(db: Database, job_id: JobId, state: JobState) -> None:
    """End an unfinished job in its own right, and move its dependants."""
    async with db.transaction() as conn:
        await end_within(conn, job_id, state)


async def end_within(conn: Connection, job_id: JobId, state: JobState) -> None:
    """As :func:`end`, in the caller's transaction."""
    dependants: int | None = await conn.fetchval(
        "update job set state = $2, version = version + 1, finished_at = now(), seated = false,"
        " fence_open = false, hold_reason = null, hold_by = null, hold_until = null"
        " where id = $1 and state <> all($3::text[]) returning dependants",
        job_id,
        state,
        sorted(FINISHED),
    )
    assert dependants is not None
    if dependants:
        await parent_ended(conn, [(job_id, state)])


async def somebody_waits(conn: Connection) -> None:
    """Return once another connection to this database waits for a lock."""
    waits = (
        "select exists (select from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock')"
    )
    while not await conn.fetchval(waits):
        # Within a transaction the view stays as it was first read.
        await conn.execute("select pg_stat_clear_snapshot()")
