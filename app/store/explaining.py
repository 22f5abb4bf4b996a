"""What an explanation reads beside what a claim reads: one job in its situation, past decisions."""

from dataclasses import dataclass
from datetime import datetime

from app.fleet import (
    ClassId,
    Context,
    DecisionId,
    FactoryId,
    Job,
    JobId,
    JobState,
    JsonObject,
    LockHolder,
    Standing,
)
from app.store import classes
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A job as the scheduler sees it, with the time and the lock it may wait for."""

    job: Job
    class_id: ClassId
    ctx: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A claim's record: who got what under which fence, and everything it was decided on."""

    id: DecisionId
    at: datetime
    factory_id: FactoryId
    job_id: JobId
    fence: int
    total: int
    record: JsonObject


async def situation(conn: Connection, job_id: JobId) -> Situation | None:
    """Read a job with everything that speaks for or against its being taken now."""
    row = await conn.fetchrow(sql("job_situation"), job_id)
    if row is None:
        return None
    return Situation(job=_job(row), class_id=ClassId(row["class_id"]), ctx=_context(row))


async def decision(conn: Connection, decision_id: DecisionId) -> Decision | None:
    """Read the record of a claim."""
    row = await conn.fetchrow(sql("decision_read"), decision_id)
    if row is None:
        return None
    return Decision(
        id=DecisionId(row["id"]),
        at=row["at"],
        factory_id=FactoryId(row["factory_id"]),
        job_id=JobId(row["job_id"]),
        fence=row["fence"],
        total=row["total"],
        record=row["record"],
    )


def _job(row: Record) -> Job:
    hold = None
    if row["hold_reason"] is not None:
        hold = Standing(reason=row["hold_reason"], by=row["hold_by"], until=row["hold_until"])
    return Job(
        id=JobId(row["id"]),
        job_class=classes.from_row(row),
        created_at=row["created_at"],
        repo=row["repo"],
        state=JobState(row["state"]),
        version=row["version"],
        run_after=row["run_after"],
        unfinished_parents=tuple(JobId(parent) for parent in row["unfinished_parents"]),
        hold=hold,
        lease_expires_at=row["lease_expires_at"],
    )


def _context(row: Record) -> Context:
    locks = {}
    if row["lock_job"] is not None:
        locks[row["lock"]] = LockHolder(
            job_id=JobId(row["lock_job"]),
            factory_id=None if row["lock_factory"] is None else FactoryId(row["lock_factory"]),
            expires_at=row["lock_expires_at"],
        )
    return Context(now=row["now"], locks=locks)
