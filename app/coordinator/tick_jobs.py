"""The jobs of ticks: read with how they ended, submitted once, withdrawn when nobody can take them.

What both ticks do with a job besides deciding; every function works in the caller's transaction,
so that a job and what it means to its workflow or run are one commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.coordinator.cancel import cancel_once
from app.coordinator.moving import reading_of
from app.coordinator.submit import submit
from app.coordinator.ticking import TICK
from app.errors import Conflict
from app.fleet import FINISHED, Factory, JobId, JobSpec, JobState
from app.store import events, jobs
from app.store.retrying import Moved
from app.store.session import Connection
from app.tick_jobs import JobReport, placeable, shown_key

WITHDRAWN = "no registered factory may ever take it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A tick's job as it was found (None if it is not stored any more), and if anybody may take it.

    ``version`` is what a withdrawal compares.
    """

    report: JobReport | None
    placeable: bool = True
    version: int = 0


async def find(conn: Connection, job_id: JobId | None, factories: Sequence[Factory]) -> Found:
    """Read a tick's job."""
    record = None if job_id is None else (await jobs.by_ids(conn, [job_id])).get(job_id)
    if record is None:
        return Found(report=None)
    by = None
    if record.state is JobState.CANCELLED:
        by = await events.cancelled_by(conn, record.id)
    return Found(
        report=JobReport.of(record, by),
        placeable=placeable(record.job_class.required, factories),
        version=record.version,
    )


async def submit_once(conn: Connection, spec: JobSpec) -> JobId:
    """Submit a tick's job, or find the one that was submitted under the same dedupe key.

    Raises:
        Conflict: the key belongs to a job that is none of ours.
    """
    taken = await submit(conn, spec, by=TICK)
    if not taken.created and (taken.job.kind, taken.job.labels) != (spec.kind, spec.labels):
        detail = f"Another job has the dedupe key {shown_key(spec.dedupe_key)}."
        raise Conflict(detail, job_id=str(taken.job.id))
    return taken.job.id


async def withdraw(conn: Connection, job_id: JobId, version: int) -> None:
    """Cancel a job that nobody has begun, as it was found.

    Raises:
        Moved: it changed since; somebody may have begun.
    """
    reading = await reading_of(conn, job_id)
    if reading.version != version or reading.life.state in FINISHED:
        raise Moved
    await cancel_once(conn, reading, WITHDRAWN, TICK)
