"""Leases in a database: claimed as the desk does, aged by hand, and looked at from outside."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from app.coordinator import claim as claiming
from app.coordinator.catalog import Catalog
from app.coordinator.claim import Want
from app.coordinator.finish import LeaseRef
from app.fleet import FactoryId, JobId
from app.runtime.ids import new_id
from app.store.history import read as history_read
from app.store.session import Connection, Database


async def claim(
    db: Database, factory_id: FactoryId, max_jobs: int = 1, *, lease_s: int = 60
) -> list[LeaseRef]:
    """Claim jobs; returns their leases, the best first."""
    async with db.transaction() as conn:
        want = Want(factory_id=factory_id, max_jobs=max_jobs, lease_s=lease_s)
        (served,) = await claiming.serve(conn, Catalog(), [want], new_id=new_id)
    return [LeaseRef(job_id=each.job.id, fence=each.fence) for each in served.claims]


async def claim_one(db: Database, factory_id: FactoryId, *, lease_s: int = 60) -> LeaseRef:
    """Claim the one job that there is."""
    (ref,) = await claim(db, factory_id, lease_s=lease_s)
    return ref


async def age(db: Database, job_id: JobId, seconds: int) -> None:
    """Let so many seconds pass for one job: every time in its row moves back by that."""
    async with db.connection() as conn:
        await conn.execute(_AGE, job_id, timedelta(seconds=seconds))


async def row_of(db: Database, job_id: JobId) -> dict[str, Any]:
    """Read a job's row as it is."""
    async with db.connection() as conn:
        row = await conn.fetchrow("select * from job where id = $1", job_id)
    assert row is not None
    return dict(row)


async def history(db: Database, job_id: JobId) -> list[str]:
    """List a job's events by name, the oldest first; claims are no events."""
    async with db.connection() as conn:
        told = await history_read(conn, job_id, after=None, limit=100)
    return [each.event for each in told if each.event != "claimed"]


async def last_event(db: Database, job_id: JobId) -> dict[str, Any]:
    """Read the newest event of a job."""
    async with db.connection() as conn:
        row = await conn.fetchrow(
            "select * from job_event where job_id = $1 order by id desc limit 1", job_id
        )
    assert row is not None
    return dict(row)


async def seats_used(db: Database, factory_id: FactoryId) -> int:
    """Count a factory's seats as its counter has it."""
    async with db.connection() as conn:
        used: int = await conn.fetchval(
            "select used from factory_seat where factory_id = $1", factory_id
        )
    return used


async def lock_holder(db: Database, name: str) -> tuple[JobId | None, int | None, bool]:
    """Read who holds a lock, under which fence, and whether that has lapsed."""
    async with db.connection() as conn:
        row = await conn.fetchrow("select * from job_lock where name = $1", name)
    assert row is not None
    return (row["holder_job"], row["holder_fence"], row["lapsed"])


_AGE = """
    update job
    set claimed_at = claimed_at - $2::interval,
        lease_expires_at = lease_expires_at - $2::interval,
        cancel_requested_at = cancel_requested_at - $2::interval,
        cancel_deadline_at = cancel_deadline_at - $2::interval,
        wake_at = wake_at - $2::interval,
        run_after = run_after - $2::interval,
        hold_until = hold_until - $2::interval,
        finished_at = finished_at - $2::interval
    where id = $1
"""

_INCONSISTENT = """
    select 'seats of ' || s.factory_id as what
    from factory_seat s
    where s.used <> (select count(*) from job where holder = s.factory_id and seated)
    union all
    select 'seated but not leased: ' || id from job where seated and state <> 'leased'
    union all
    select 'seated under a closed fence: ' || id from job where seated and not fence_open
    union all
    select 'finished under an open fence: ' || id
    from job where fence_open and state in ('succeeded', 'dead', 'cancelled')
    union all
    select 'leased under a closed fence: ' || id from job where state = 'leased' and not fence_open
    union all
    select 'finished, but not when: ' || id
    from job where state in ('succeeded', 'dead', 'cancelled') and finished_at is null
    union all
    select 'leased without its lock: ' || b.id
    from job b
    join job_class c on c.id = b.class_id
    join job_lock l on l.name = c.lock
    where b.state = 'leased'
        and (l.holder_job, l.holder_fence, l.lapsed) is distinct from (b.id, b.fence, false)
    union all
    select 'class without its lock: ' || c.id
    from job_class c
    where c.lock is not null and not exists (select from job_lock where name = c.lock)
    union all
    select 'lock of nobody: ' || l.name
    from job_lock l
    left join job b on b.id = l.holder_job and b.fence = l.holder_fence and b.fence_open
    where l.holder_job is not null and b.id is null
    union all
    select 'nothing will wake it: ' || b.id
    from job b
    join job_class c on c.id = b.class_id
    left join job_lock l on l.name = c.lock
    where b.wake_at is null
        and (
            b.state in ('leased', 'scheduled')
            or (
                b.fence_open
                and (c.lock is null or (l.holder_job, l.holder_fence) = (b.id, b.fence))
            )
        )
"""


async def inconsistencies(conn: Connection) -> Sequence[str]:
    """List what contradicts itself in one snapshot of the database."""
    rows = await conn.fetch(_INCONSISTENT)
    return [row["what"] for row in rows]
