"""What cancel, hold, retry and edit have in common: one job read, moved, and told of."""

from app.errors import NotFound
from app.fleet import JobId, JobRecord, JobState, JsonObject, Principal
from app.life import Change
from app.store import events, jobs, lives
from app.store.events import NewEvent
from app.store.lives import Move, Reading
from app.store.retrying import Moved
from app.store.session import Connection
from app.store.wake import wake


async def reading_of(conn: Connection, job_id: JobId) -> Reading:
    """Read the life of a job.

    Raises:
        NotFound: there is no such job.
    """
    reading = (await lives.read(conn, [job_id])).get(job_id)
    if reading is None:
        raise no_such_job(job_id)
    return reading


async def record_of(conn: Connection, job_id: JobId) -> JobRecord:
    """Read a job whole.

    Raises:
        NotFound: there is no such job.
    """
    record = (await jobs.by_ids(conn, [job_id])).get(job_id)
    if record is None:
        raise no_such_job(job_id)
    return record


async def move(
    conn: Connection,
    reading: Reading,
    change: Change,
    *,
    by: Principal,
    detail: JsonObject | None = None,
    because_of: JobId | None = None,
) -> bool:
    """Write a change and its event, and wake who may take the job if it is ready by that.

    Returns:
        Whether other jobs depend on this one, as of the moment of writing.

    Raises:
        Moved: the job changed since it was read.
    """
    moved = await lives.write(conn, [Move(reading=reading, change=change, because_of=because_of)])
    if reading.id not in moved:
        raise Moved
    event = NewEvent(
        job_id=reading.id,
        event=change.event,
        factory_id=reading.life.holder if change.fence_closed else None,
        fence=reading.life.fence if change.fence_closed else None,
        by=by.name,
        detail=detail or {},
    )
    await events.record(conn, [event])
    if change.after.state is JobState.READY:
        await wake(conn, [reading.class_id])
    return moved[reading.id]


def no_such_job(job_id: JobId) -> NotFound:
    """Make the refusal."""
    return NotFound(f"There is no job {job_id}.")
