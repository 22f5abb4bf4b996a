"""What an explanation reads beside what a claim reads: jobs in their situation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.fleet import (
    ClassId,
    Context,
    FactoryId,
    Job,
    JobId,
    JobState,
    LockHolder,
    Standing,
)
from app.position import Stretch
from app.store import classes
from app.store.session import Connection, Record
from app.store.sql import sql

ABOVE_MAX = 2000
ABOVE_DEPTH_MAX = 100
BELOW_MAX = 1000
AHEAD_MAX = 1000
"""Where counts and searches stop, so that no explanation costs more than it is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A job as the scheduler sees it, with the time and the lock it may wait for."""

    job: Job
    class_id: ClassId
    holder: FactoryId | None
    ctx: Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependant:
    """A job that waits for another, so many steps away."""

    job_id: JobId
    state: JobState
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """How many jobs stand before one; ``at_least`` if the count stopped at its bound."""

    jobs: int
    at_least: bool


async def situations(conn: Connection, ids: Sequence[JobId]) -> dict[JobId, Situation]:
    """Read jobs with everything that speaks for or against their being taken now."""
    rows = await conn.fetch(sql("job_situation"), list(ids))
    return {
        JobId(row["id"]): Situation(
            job=_job(row),
            class_id=ClassId(row["class_id"]),
            holder=None if row["holder"] is None else FactoryId(row["holder"]),
            ctx=_context(row),
        )
        for row in rows
    }


async def kinds(conn: Connection, ids: Sequence[JobId]) -> dict[JobId, str]:
    """Read of what kind jobs are; one that does not exist any more is left out."""
    rows = await conn.fetch(sql("job_kinds"), list(ids))
    return {JobId(row["id"]): row["kind"] for row in rows}


async def above(conn: Connection, job_id: JobId) -> dict[JobId, list[JobId]]:
    """Read what a job waits for, and what that waits for: unfinished parents, by child."""
    rows = await conn.fetch(sql("explain_above"), job_id, ABOVE_DEPTH_MAX, ABOVE_MAX)
    found: dict[JobId, list[JobId]] = {}
    for row in rows:
        parents = found.setdefault(JobId(row["job_id"]), [])
        if row["parent_id"] not in parents:
            parents.append(JobId(row["parent_id"]))
    return found


async def below(conn: Connection, job_id: JobId) -> tuple[Dependant, ...]:
    """Read the jobs that wait for a job, however many steps away, the nearest first."""
    rows = await conn.fetch(sql("explain_below"), job_id, BELOW_MAX)
    found: dict[JobId, Dependant] = {}
    for row in rows:
        dependant = Dependant(
            job_id=JobId(row["id"]), state=JobState(row["state"]), steps=row["depth"]
        )
        found.setdefault(dependant.job_id, dependant)
    return tuple(found.values())


async def ahead(conn: Connection, where: Sequence[tuple[Sequence[ClassId], Stretch]]) -> Ahead:
    """Count the ready jobs of classes in stretches whose lock is free, up to a bound in all."""
    jobs = await conn.fetchval(
        sql("explain_ahead"),
        [class_id for ids, _ in where for class_id in ids],
        [number for number, (ids, _) in enumerate(where, start=1) for _ in ids],
        *_borders([each for _, each in where]),
        AHEAD_MAX,
    )
    return Ahead(jobs=jobs, at_least=jobs >= AHEAD_MAX)


async def ahead_in_repos(
    conn: Connection, where: Sequence[tuple[Sequence[tuple[ClassId, str]], Stretch]], so_far: Ahead
) -> Ahead:
    """Count on with those of classes within repos."""
    pairs = [pair for some, _ in where for pair in some]
    if not pairs:
        return so_far
    more = await conn.fetchval(
        sql("explain_ahead_repo"),
        [class_id for class_id, _ in pairs],
        [number for number, (some, _) in enumerate(where, start=1) for _ in some],
        *_borders([each for _, each in where]),
        AHEAD_MAX,
        [repo for _, repo in pairs],
    )
    jobs = min(so_far.jobs + more, AHEAD_MAX)
    return Ahead(jobs=jobs, at_least=jobs >= AHEAD_MAX)


def _borders(
    where: Sequence[Stretch],
) -> tuple[list[datetime], list[UUID], list[datetime], list[UUID]]:
    return (
        [each.since.at for each in where],
        [each.since.id for each in where],
        [each.before.at for each in where],
        [each.before.id for each in where],
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
