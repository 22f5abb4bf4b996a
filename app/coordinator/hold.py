"""Hold and unhold: keep a job from being claimed, until lifted or until its time.

A second hold replaces the words of the first. Where the job belongs afterwards is computed anew.
"""

from datetime import datetime

from app import lease
from app.coordinator.moving import move, reading_of, record_of
from app.coordinator.standing_until import ahead
from app.errors import ImpossibleTransition
from app.fleet import JobId, JobRecord, JsonObject, Principal, Standing
from app.life import Change, Decision
from app.store.lives import Reading
from app.store.retrying import settled
from app.store.session import Connection, Database


async def hold(
    db: Database, job_id: JobId, *, reason: str, until: datetime | None, by: Principal
) -> JobRecord:
    """Keep new claims away from a job.

    Raises:
        NotFound: there is no such job.
        Invalid: ``until`` is past.
        ImpossibleTransition: it is leased, or finished.
        LostRace: others kept changing it.
    """
    standing = Standing(reason=reason, by=by.name, until=until)
    detail: JsonObject = {"reason": reason}
    if until is not None:
        detail["until"] = until.isoformat()

    async def once(conn: Connection) -> JobRecord:
        reading = await reading_of(conn, job_id)
        begun = ahead(standing, reading.now)
        change = _change(lease.hold(reading.life, begun), reading, "held")
        await move(conn, reading, change, by=by, detail=detail)
        return await record_of(conn, job_id)

    return await settled(db, once)


async def unhold(db: Database, job_id: JobId, *, by: Principal) -> JobRecord:
    """Lift the hold of a job.

    Raises:
        NotFound: there is no such job.
        ImpossibleTransition: no hold stands on it.
        LostRace: others kept changing it.
    """

    async def once(conn: Connection) -> JobRecord:
        reading = await reading_of(conn, job_id)
        change = _change(lease.unhold(reading.life, now=reading.now), reading, "unheld")
        await move(conn, reading, change, by=by)
        return await record_of(conn, job_id)

    return await settled(db, once)


def _change(decision: Decision, reading: Reading, what: str) -> Change:
    if isinstance(decision, Change):
        return decision
    state = reading.life.state
    detail = f"The job is {state} and cannot be {what}."
    raise ImpossibleTransition(detail, state=state.value)
