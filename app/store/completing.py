"""Completing: leases that ended well, by the batch, in one statement.

SQL holds the same rule as :mod:`app.lease` here (a property test ties them together).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from app.errors import LostRace
from app.fleet import FactoryId, JobId, Json
from app.store.claims import LeaseId
from app.store.session import Connection, Record
from app.store.sql import sql
from app.store.wake import CHANNEL, LOCK, SEAT

_AGAIN_MAX: Final = 5
"""How often a completion may meet a class that was made while it waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completing:
    """A lease that its holder says is done."""

    lease: LeaseId
    factory_id: FactoryId
    result: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A lease that was completed."""

    lease: LeaseId
    factory_id: FactoryId
    version: int
    has_dependants: bool


async def complete(conn: Connection, leases: Sequence[Completing]) -> dict[LeaseId, Completed]:
    """Complete leases, each on its own; one is missing from the answer if its fence is not open.

    Who waits for a lock or a seat that is free by it is told when the transaction commits.

    Raises:
        LostRace: a job was moved from class to class as often as this was tried.
    """
    done, _ = await _complete(conn, leases, childless=False)
    return done


async def complete_childless(
    conn: Connection, leases: Sequence[Completing]
) -> tuple[dict[LeaseId, Completed], frozenset[LeaseId]]:
    """As :func:`complete`, in autocommit mode, but for jobs that others depend on.

    One statement does it all. What has dependants is left as it is, since they have to move in the
    same transaction.

    Returns:
        What was completed, and what was left because of its dependants.

    Raises:
        LostRace: a job was moved from class to class as often as this was tried.
    """
    return await _complete(conn, leases, childless=True)


async def _complete(
    conn: Connection, leases: Sequence[Completing], *, childless: bool
) -> tuple[dict[LeaseId, Completed], frozenset[LeaseId]]:
    done: dict[LeaseId, Completed] = {}
    parents: set[LeaseId] = set()
    left = list(leases)
    for _ in range(_AGAIN_MAX):
        rows = await conn.fetch(
            sql("finish_complete"),
            [each.lease.job_id for each in left],
            [each.lease.fence for each in left],
            [each.factory_id for each in left],
            # As text: in an array of JSON, a result that is a list would be taken for a dimension.
            [None if each.result is None else orjson.dumps(each.result).decode() for each in left],
            CHANNEL,
            LOCK,
            SEAT,
            childless,
        )
        again = {_lease_id(row) for row in rows if row["outcome"] == "again"}
        parents.update(_lease_id(row) for row in rows if row["outcome"] == "parent")
        done.update((_lease_id(row), _completed(row)) for row in rows if row["outcome"] == "done")
        left = [each for each in left if each.lease in again]
        if not left:
            return done, frozenset(parents)
    detail = "The jobs were edited again and again while they were completed. Try again."
    raise LostRace(detail)


def _completed(row: Record) -> Completed:
    return Completed(
        lease=_lease_id(row),
        factory_id=FactoryId(row["factory_id"]),
        version=row["version"],
        has_dependants=row["dependants"] > 0,
    )


def _lease_id(row: Record) -> LeaseId:
    return LeaseId(job_id=JobId(row["job_id"]), fence=row["fence"])
