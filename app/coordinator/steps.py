"""Steps: changes that the law decided, written with everything that follows from them.

A step that is written moves the job, its seat and its lock, is told in the job's history, excludes
the factory where an attempt went wrong, moves the dependants of a job that ended, and wakes whoever
may have waited for any of it; all in the caller's transaction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.coordinator.dependants import parent_ended
from app.eligibility import exclusion_stands
from app.fleet import FINISHED, ClassId, Factory, FactoryId, JobClass, JobId, JobState, JsonObject
from app.life import Change
from app.store import classes, events, leases, offers
from app.store.events import NewEvent
from app.store.leases import LeaseMove, Moved
from app.store.lives import Reading
from app.store.session import Connection
from app.store.wake import wake

EXCLUSION_DROPPED = "exclusion_dropped"
"""The event that says: a job may go back to factories that it was taken from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change decided on a reading.

    ``excludes``: an attempt at the job went wrong at its holder, so another factory should try
    next. ``detail`` is added to the event.
    """

    reading: Reading
    change: Change
    excludes: bool = False
    error: str | None = None
    detail: JsonObject = field(default_factory=dict)


async def write(conn: Connection, steps: Sequence[Step]) -> dict[JobId, Moved]:
    """Write steps, each job's compared with its reading.

    Returns:
        Those that were written; a job that moved since it was read is left out.
    """
    placed = await _placed(conn, steps)
    moved = await leases.write(
        conn,
        [
            LeaseMove(
                reading=step.reading,
                change=step.change,
                class_id=placed[step.reading.id].class_id,
                error=step.error,
            )
            for step in steps
        ],
    )
    written = [step for step in steps if step.reading.id in moved]
    await events.record(conn, _events(written, placed, moved))
    await _follow(conn, written, placed, moved)
    return moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The class a job belongs to from now on, and the exclusions that it lost by that."""

    class_id: ClassId
    dropped: frozenset[FactoryId] = frozenset()


async def _placed(conn: Connection, steps: Sequence[Step]) -> Mapping[JobId, _Place]:
    """Find the class of each job after its step; one of an excluding step is another."""
    placed = {step.reading.id: _Place(class_id=step.reading.class_id) for step in steps}
    excluding = [step for step in steps if step.excludes and not step.change.finished]
    if not excluding:
        return placed
    known = await classes.by_id(conn, {step.reading.class_id for step in excluding})
    fleet = (await offers.read(conn)).factories
    wanted: dict[JobId, tuple[JobClass, frozenset[FactoryId]]] = {}
    for step in excluding:
        holder = step.change.before.holder
        if holder is not None:
            wanted[step.reading.id] = excluding_class(known[step.reading.class_id], holder, fleet)
    interned = await classes.intern(conn, {job_class for job_class, _ in wanted.values()})
    placed.update(
        (job_id, _Place(class_id=interned[job_class], dropped=dropped))
        for job_id, (job_class, dropped) in wanted.items()
    )
    return placed


def excluding_class(
    job_class: JobClass, factory_id: FactoryId, fleet: Sequence[Factory]
) -> tuple[JobClass, frozenset[FactoryId]]:
    """Exclude a factory from a class, unless nobody would be left; then nobody is excluded.

    Returns:
        The class, and the exclusions that were dropped.
    """
    excluded = job_class.excluded | {factory_id}
    narrower = replace(job_class, excluded=excluded)
    if exclusion_stands(narrower, fleet):
        return narrower, frozenset()
    return replace(job_class, excluded=frozenset()), excluded


def _events(
    steps: Sequence[Step], placed: Mapping[JobId, _Place], moved: Mapping[JobId, Moved]
) -> list[NewEvent]:
    told = []
    for step in steps:
        job_id = step.reading.id
        told.append(_event(step, moved[job_id]))
        if placed[job_id].dropped:
            factories = sorted(placed[job_id].dropped)
            told.append(
                NewEvent(job_id=job_id, event=EXCLUSION_DROPPED, detail={"factories": [*factories]})
            )
    return told


def _event(step: Step, moved: Moved) -> NewEvent:
    before, after = step.change.before, step.change.after
    detail: JsonObject = {"state": after.state.value, "version": moved.version, **step.detail}
    if after.state is JobState.SCHEDULED and after.run_after is not None:
        detail["run_after"] = after.run_after.isoformat()
    if step.error is not None:
        detail["error"] = step.error
    if moved.over_committed:
        detail["over_committed"] = True
    # A lease is spoken of only where there is one: its end, its lapse, or its resumption.
    leased = before.fence_open
    return NewEvent(
        job_id=step.reading.id,
        event=step.change.event,
        factory_id=before.holder if leased else None,
        fence=before.fence if leased else None,
        outcome=step.change.outcome,
        claimed_at=before.claimed_at if step.change.outcome else None,
        detail=detail,
    )


async def _follow(
    conn: Connection,
    steps: Sequence[Step],
    placed: Mapping[JobId, _Place],
    moved: Mapping[JobId, Moved],
) -> None:
    """Move dependants, then wake: for a class with a new ready job, or for everything."""
    ended = [
        (step.reading.id, step.change.after.state)
        for step in steps
        if step.change.after.state in FINISHED and moved[step.reading.id].has_dependants
    ]
    woken = set(await parent_ended(conn, ended)) if ended else set()
    woken.update(
        placed[step.reading.id].class_id
        for step in steps
        if step.change.after.state is JobState.READY
    )
    if any(each.makes_room for each in moved.values()):
        await wake(conn)
    else:
        await wake(conn, woken)
