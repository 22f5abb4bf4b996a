"""Dead ends: jobs that nobody is left for, since they were taken from the only ones who could.

A job goes to another factory after one has failed at it. When no other is left, because it left or
went down, the job may go back: better the same factory again than none for ever.
"""

from dataclasses import replace

from app.coordinator.steps import EXCLUSION_DROPPED
from app.eligibility import exclusion_stands
from app.fleet import ClassId, JobClass
from app.store import classes, events, offers, retrying, sweeping
from app.store.events import NewEvent
from app.store.session import Connection, Database
from app.store.wake import wake

WAIT_MS = 1000
JOBS_MAX = 500
"""How many jobs of one class are moved in one pass."""


async def clear(db: Database) -> int:
    """Drop the exclusions of ready jobs that leave them no factory; tells of how many jobs."""

    async def act(conn: Connection) -> int:
        if not await sweeping.begin(conn, wait_ms=WAIT_MS):
            return 0
        found = await sweeping.excluding_classes(conn)
        if not found:
            return 0
        fleet = (await offers.read(conn)).factories
        stuck = {
            class_id: job_class
            for class_id, job_class in found.items()
            if not exclusion_stands(job_class, fleet)
        }
        return await _reopen(conn, stuck)

    return await retrying.settled(db, act)


async def _reopen(conn: Connection, stuck: dict[ClassId, JobClass]) -> int:
    opened = {old: replace(each, excluded=frozenset()) for old, each in stuck.items()}
    interned = await classes.intern(conn, opened.values())
    freed = 0
    for old, open_class in sorted(opened.items()):
        new = interned[open_class]
        moved = await sweeping.reclassify(conn, old, new, JOBS_MAX)
        factories = sorted(stuck[old].excluded)
        await events.record(
            conn,
            [
                NewEvent(job_id=job_id, event=EXCLUSION_DROPPED, detail={"factories": [*factories]})
                for job_id in moved
            ],
        )
        if moved:
            await wake(conn, [new])
        freed += len(moved)
    return freed
