"""Who waits for whom: drawn, erased and walked, with the jobs concerned locked in order."""

from collections.abc import Iterable, Mapping, Sequence

from app.fleet import JobId, JobState
from app.store.session import Connection
from app.store.sql import sql

_GRAPH_LOCK = 0x666C6565745F64
"""``fleet_d``: the advisory lock of whoever draws dependencies between stored jobs."""


async def lock_parents(conn: Connection, ids: Iterable[JobId]) -> dict[JobId, JobState]:
    """Lock jobs that others will depend on, and read their states; one missing is left out.

    A parent that is ending meanwhile is waited for and seen as it ended; one that ends later sees
    the dependant that was added.
    """
    rows = await conn.fetch(sql("dependency_lock_parents"), sorted(ids))
    return {JobId(row["id"]): JobState(row["state"]) for row in rows}


async def add(conn: Connection, edges: Sequence[tuple[JobId, JobId]]) -> None:
    """Make jobs wait for others, as (job, parent); the parents are locked already, or new."""
    if edges:
        await conn.execute(
            sql("dependency_add"), [job for job, _ in edges], [parent for _, parent in edges]
        )


async def remove(conn: Connection, job_id: JobId, parents: Iterable[JobId]) -> None:
    """End that a job waits for these parents; they are locked already."""
    await conn.execute(sql("dependency_remove"), job_id, list(parents))


async def lock_graph(conn: Connection) -> None:
    """Wait until nobody else draws dependencies between stored jobs, until the end of this.

    A ring can only be closed that way: a new job has no dependants yet. So whoever holds this sees
    all that could be part of one.
    """
    await conn.execute(sql("dependency_graph_lock"), _GRAPH_LOCK)


async def ancestors(conn: Connection, ids: Iterable[JobId]) -> dict[JobId, list[JobId]]:
    """Read whom these jobs wait for, whom those wait for, and so on, as job → parents."""
    found: dict[JobId, list[JobId]] = {}
    for row in await conn.fetch(sql("dependency_ancestors"), list(ids)):
        found.setdefault(JobId(row["job_id"]), []).append(JobId(row["parent_id"]))
    return found


async def to_revive(conn: Connection, parents: Iterable[JobId]) -> set[JobId]:
    """Find the dependants whom it concerns that these jobs have begun again."""
    return {
        JobId(row["id"]) for row in await conn.fetch(sql("dependency_to_revive"), list(parents))
    }


async def lock_family(conn: Connection, ids: Iterable[JobId]) -> None:
    """Lock jobs and the parents of each, so that the rule over both can be applied."""
    await conn.execute(sql("dependency_lock_family"), list(ids))


async def blame(conn: Connection, parent_of: Mapping[JobId, JobId]) -> None:
    """Name another parent because of which each of these jobs stays cancelled."""
    if parent_of:
        await conn.execute(sql("dependency_blame"), list(parent_of), list(parent_of.values()))
