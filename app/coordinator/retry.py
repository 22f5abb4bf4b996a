"""Retry: begin a dead or cancelled job again, and revive what was cancelled because of it.

The rule over a job and its parents is applied under the locks of both, generation by generation:
so a parent that ends meanwhile is either seen as it ended, or finds the job revived.
"""

from collections.abc import Iterable, Mapping

from app import lease
from app.coordinator.moving import move, reading_of, record_of
from app.errors import ImpossibleTransition
from app.fleet import ClassId, JobId, JobRecord, JobState, JsonObject, Principal
from app.life import Change, Decision, Event, Reason, Refused
from app.store import dependants, dependencies, events, lives
from app.store.events import NewEvent
from app.store.lives import Move, Reading
from app.store.retrying import Moved, settled
from app.store.session import Connection, Database
from app.store.wake import wake


async def retry(db: Database, job_id: JobId, *, by: Principal) -> JobRecord:
    """Begin a job again, with fresh attempts; the fence goes on counting.

    Raises:
        NotFound: there is no such job.
        ImpossibleTransition: it is neither dead nor cancelled, or a parent is.
        LostRace: others kept changing the same jobs.
    """

    async def once(conn: Connection) -> JobRecord:
        await dependencies.lock_family(conn, [job_id])
        reading = await reading_of(conn, job_id)
        change = _change(lease.retry(reading.life, now=reading.now), reading)
        if await move(conn, reading, change, by=by):
            await _revive_dependants(conn, job_id)
        return await record_of(conn, job_id)

    return await settled(db, once)


def _change(decision: Decision, reading: Reading) -> Change:
    if isinstance(decision, Change):
        return decision
    state = reading.life.state
    if decision.reason is Reason.PARENT_FAILED:
        parents = [str(parent) for parent in reading.failed_parents]
        detail = (
            f"The job depends on {', '.join(parents)}, dead or cancelled. Retry that first, which "
            "revives this one as well, or set if_parent_fails to run."
        )
        raise ImpossibleTransition(detail, state=state.value, parents=[*parents])
    detail = f"The job is {state}; only a dead or cancelled one can be retried."
    raise ImpossibleTransition(detail, state=state.value)


async def _revive_dependants(conn: Connection, job_id: JobId) -> None:
    """Move the dependants of a job that begins again, and theirs as they begin again in turn."""
    begun, ready = {job_id}, set[ClassId]()
    while begun:
        moves = await _revive(conn, await dependencies.to_revive(conn, begun))
        begun = {each.reading.id for each in moves if each.change.event is Event.RETRY}
        ready |= {
            each.reading.class_id for each in moves if each.change.after.state is JobState.READY
        }
    await wake(conn, ready)


async def _revive(conn: Connection, ids: Iterable[JobId]) -> list[Move]:
    """Apply the law to dependants whose parents changed, all of one generation."""
    ids = sorted(ids)
    if not ids:
        return []
    await dependencies.lock_family(conn, ids)
    readings = (await lives.read(conn, ids)).values()
    decided = {each.id: lease.after_parents(each.life, now=each.now) for each in readings}
    moves = [
        Move(reading=each, change=decision)
        for each in readings
        if isinstance(decision := decided[each.id], Change)
    ]
    if len(await lives.write(conn, moves)) < len(moves):
        raise Moved
    await dependencies.blame(conn, _to_blame(readings, decided))
    await dependants.count(conn, _to_count(readings, decided))
    await events.record(conn, [_event(each) for each in moves])
    return moves


def _event(move: Move) -> NewEvent:
    parent = move.reading.cancelled_by_parent
    detail: JsonObject = {"state": move.change.after.state.value}
    if parent is not None:
        detail["parent"] = str(parent)
    return NewEvent(job_id=move.reading.id, event=move.change.event, detail=detail)


def _to_count(readings: Iterable[Reading], decided: Mapping[JobId, Decision]) -> dict[JobId, int]:
    """Count the parents of those that stay where they are: held, or leased."""
    return {
        each.id: each.life.unfinished_parents
        for each in readings
        if decided[each.id] == Refused(reason=Reason.ALREADY)
    }


def _to_blame(readings: Iterable[Reading], decided: Mapping[JobId, Decision]) -> dict[JobId, JobId]:
    """Name another failed parent for those that stay cancelled, so that its retry revives them."""
    return {
        each.id: each.failed_parents[0]
        for each in readings
        if decided[each.id] == Refused(reason=Reason.PARENT_FAILED)
    }
