"""Puts jobs, locks and factories of a small world straight into PostgreSQL."""

from collections.abc import Iterable, Mapping

from app.fleet import Factory, Job, JobId, LockHolder
from app.store import classes
from app.store.session import Connection

_JOB = """
    insert into job (
        id, class_id, kin, state, kind, repo, created_at, attempts_max, timeout_s, if_parent_fails,
        version
    ) values (
        $1, $2, (select kin_key from job_class where id = $2), $3, 'test', $4, $5, 3, 3600,
        'cancel', $6
    )
"""


async def put_jobs(conn: Connection, jobs: Iterable[Job]) -> None:
    """Store jobs in the state that they have, with the class that they have."""
    some = list(jobs)
    ids = await classes.intern(conn, {job.job_class for job in some})
    await conn.executemany(
        _JOB,
        [
            (job.id, ids[job.job_class], job.state, job.repo, job.created_at, job.version)
            for job in some
        ],
    )


async def put_locks(conn: Connection, held: Mapping[str, LockHolder]) -> None:
    """Let somebody hold locks."""
    await conn.executemany(
        "insert into job_lock (name, holder_job, holder_fence) values ($1, $2, 1)"
        " on conflict (name) do update set holder_job = $2, holder_fence = 1, lapsed = false",
        [(name, holder.job_id) for name, holder in held.items()],
    )


async def put_factory(conn: Connection, factory: Factory) -> None:
    """Register a factory as it is, seen now."""
    await conn.execute(
        "insert into factory (id, capabilities, engines, declared_cost_ceiling,"
        " declared_seat_limit, account) values ($1, $2, $3, $4, $5, $6)",
        factory.id,
        sorted(factory.capabilities),
        sorted(factory.engines),
        factory.cost_ceiling,
        factory.seat_limit,
        factory.account,
    )
    await conn.execute(
        "insert into factory_pulse (factory_id, health, external_load, warm_repos)"
        " values ($1, $2, $3, $4)",
        factory.id,
        factory.health,
        factory.external_load,
        sorted(factory.warm_repos),
    )
    await conn.execute(
        "insert into factory_seat (factory_id, seat_limit, used, last_served_at)"
        " values ($1, $2, $3, $4)",
        factory.id,
        factory.seat_limit,
        factory.seats_used,
        factory.last_served_at,
    )


async def job_state(conn: Connection, job_id: JobId) -> tuple[str, int, str | None]:
    """Read a job's state, fence and holder."""
    row = await conn.fetchrow("select state, fence, holder from job where id = $1", job_id)
    assert row is not None
    return (row["state"], row["fence"], row["holder"])
