"""What a claim reads and writes: new classes, the heads of classes, and leases."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

import asyncpg

from app.explanation import score_from
from app.fleet import ClassId, DecisionId, FactoryId, Job, JobClass, JobId, JobRecord, JsonObject
from app.scheduler import Score
from app.store import classes, jobs
from app.store.session import Connection
from app.store.sql import sql

UNDONE = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
"""What undoes a whole statement through no fault of its own."""


_TURN_KEY: Final = 0x66_6C_65_65_74_63
"""``fleetc``: the advisory lock of whose turn it is to claim."""


class CommitOutcome(StrEnum):
    """What became of one pick."""

    LEASED = "leased"
    JOB_MOVED = "job moved"
    LOCK_TAKEN = "lock taken"
    NO_SEAT = "no seat"
    KEY_USED = "key used"
    FACTORY_MOVED = "factory moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLease:
    """A pick to commit: this job, as it was read, for this factory, as it was read.

    ``epoch`` is what the factory's facts were read at; ``record`` is the decision.
    """

    factory_id: FactoryId
    epoch: int
    job: Job
    key: str | None
    lease_s: int
    decision_id: DecisionId
    total: int
    record: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """A pick that became a lease: the job as it now stands, and when the lease ends."""

    job: JobRecord
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A pick that did not: which of its facts had moved."""

    outcome: CommitOutcome


class LeaseId(NamedTuple):
    """One lease of one job; a tuple, because each report makes and looks up several."""

    job_id: JobId
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingLease:
    """A lease that still runs, with the decision that gave it."""

    job: JobRecord
    expires_at: datetime
    lease_s: int
    decision_id: DecisionId
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClasses:
    """Classes that the reader may not have seen, and where to look from the next time.

    ``since`` is where it looked from; 0: these are all.
    """

    classes: Mapping[ClassId, JobClass]
    since: int
    horizon: int


async def new_classes(conn: Connection, horizon: int) -> NewClasses:
    """Read the classes made by transactions that were not over at ``horizon``; 0 reads all."""
    rows = await conn.fetch(sql("class_new"), horizon)
    return NewClasses(
        classes={
            ClassId(row["id"]): classes.from_row(row) for row in rows if row["id"] is not None
        },
        since=horizon,
        horizon=rows[0]["xmin"],
    )


async def take_turn(conn: Connection) -> None:
    """Wait until no other process is at its turn, and hold the turn until the transaction ends."""
    await conn.execute(sql("claim_turn"), _TURN_KEY)


async def settle(conn: Connection, leases: Sequence[NewLease]) -> list[Leased | Lost]:
    """Commit a batch; should it fail whole, once more, and then pick by pick.

    A deadlock or a serialization failure undoes the whole statement. Inside the caller's
    transaction there is nothing to repeat: it has failed with it.
    """
    if conn.is_in_transaction():
        return await commit(conn, leases)
    for _ in range(2):
        with contextlib.suppress(*UNDONE):
            return await commit(conn, leases)
    settled: list[Leased | Lost] = []
    for lease in leases:
        try:
            settled += await commit(conn, [lease])
        except UNDONE:
            settled.append(Lost(outcome=CommitOutcome.JOB_MOVED))
    return settled


async def commit(conn: Connection, leases: Sequence[NewLease]) -> list[Leased | Lost]:
    """Turn picks into leases, in one statement; answers in the order of the picks."""
    rows = await conn.fetch(
        sql("claim_commit"),
        list(range(len(leases))),
        [lease.factory_id for lease in leases],
        [lease.epoch for lease in leases],
        [lease.job.id for lease in leases],
        [lease.job.version for lease in leases],
        [lease.job.job_class.lock for lease in leases],
        [lease.key for lease in leases],
        [lease.lease_s for lease in leases],
        [lease.decision_id for lease in leases],
        [lease.total for lease in leases],
        [lease.record for lease in leases],
    )
    return [
        Leased(job=jobs.to_leased(row, lease.job), expires_at=row["lease_expires_at"])
        if row["outcome"] == CommitOutcome.LEASED
        else Lost(outcome=CommitOutcome(row["outcome"]))
        for row, lease in zip(rows, leases, strict=True)
    ]


async def keys(
    conn: Connection, wanted: Sequence[tuple[FactoryId, str]]
) -> dict[tuple[FactoryId, str], tuple[LeaseId, ...]]:
    """Read what the claims of these (factory, key) pairs got; unused keys are left out."""
    rows = await conn.fetch(
        sql("claim_key_read"),
        [factory_id for factory_id, _ in wanted],
        [key for _, key in wanted],
    )
    return {
        (FactoryId(row["factory_id"]), row["key"]): tuple(
            LeaseId(job_id=JobId(UUID(lease["job_id"])), fence=lease["fence"])
            for lease in row["leases"]
        )
        for row in rows
    }


async def standing(
    conn: Connection, factory_id: FactoryId, leases: Sequence[LeaseId]
) -> list[StandingLease]:
    """Read those of a factory's leases that still run, with what gave them; in their order."""
    rows = await conn.fetch(
        sql("claim_standing"),
        factory_id,
        [lease.job_id for lease in leases],
        [lease.fence for lease in leases],
    )
    return [
        StandingLease(
            job=jobs.to_record(row),
            expires_at=row["lease_expires_at"],
            lease_s=row["lease_s"],
            decision_id=DecisionId(row["decision_id"]),
            score=score_from(row["score"]),
        )
        for row in rows
    ]
