"""Submit: take in jobs, one or up to a thousand that may depend on each other, all or nothing.

Three things can move while a submission is decided. A parent may end: its row is locked before its
state is read, so that it either is seen as it ended or, ending later, sees its new dependant. A
twin with the same dedupe key may get in first: then our insert leaves that row out, and the whole
is decided again with the twin in sight. And a class may be pruned: that is seen in the same way.

Order of what is waited for: classes, then jobs by id, then dedupe keys in their order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from app.coordinator.placement import Place, place
from app.coordinator.prospects import warnings_for
from app.coordinator.rings import find_ring, parents_first
from app.coordinator.submit_plan import BATCH_MAX, Newcomer, Plan, check_refs, plan_for
from app.errors import DependencyCycle, UnknownDependency
from app.fleet import (
    ClassId,
    IfParentFails,
    JobClass,
    JobId,
    JobRecord,
    JobSpec,
    JobState,
    Principal,
)
from app.life import Event
from app.store import dependencies, events, jobs, offers
from app.store.events import NewEvent
from app.store.newcomers import NewJob, as_inserted, insert
from app.store.offers import ClassKey, Prospects
from app.store.retrying import Moved
from app.store.session import Connection
from app.store.wake import wake

__all__ = [
    "BATCH_MAX",
    "NewJob",
    "Shown",
    "Submitted",
    "View",
    "as_inserted",
    "submit",
    "submit_batch",
    "submit_shown",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job as it was taken in, or (not ``created``) the one that has the dedupe key already."""

    job: JobRecord
    created: bool
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class View(Generic[T]):
    """How jobs are shown to who submits them.

    ``new`` shows one that was made, at the time it was, with its warnings; ``stored`` one that has
    the dedupe key already. ``all_new`` is handed all that were made, if there are no others.
    """

    new: Callable[[NewJob, datetime, tuple[str, ...]], T]
    stored: Callable[[JobRecord], T]
    all_new: Callable[[Sequence[T]], None] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Generic[T]):
    """The jobs of a submission, as a view shows them, and whether some or all were made by it."""

    answers: tuple[T, ...]
    any_new: bool
    all_new: bool


def _shown_new(job: NewJob, now: datetime, warnings: tuple[str, ...]) -> Submitted:
    return Submitted(job=as_inserted(job, now), created=True, warnings=warnings)


def _shown_stored(job: JobRecord) -> Submitted:
    return Submitted(job=job, created=False)


_AS_RECORDS = View(new=_shown_new, stored=_shown_stored)


async def submit(conn: Connection, spec: JobSpec, *, by: Principal) -> Submitted:
    """Take in one job.

    Raises:
        UnknownDependency: it depends on a job that does not exist; ``unknown`` names them.
        DependencyCycle: it depends on itself.
        Moved: others changed what this rests on; the caller's transaction must begin again.
    """
    (only,) = await submit_batch(conn, [spec], by=by)
    return only


async def submit_batch(
    conn: Connection, specs: Sequence[JobSpec], *, by: Principal
) -> tuple[Submitted, ...]:
    """Take in up to a thousand jobs, all or none, in the order in which they were given.

    Raises:
        Invalid: there are too many, or a ``ref`` names two of them.
        UnknownDependency: one depends on a job or a ref that does not exist.
        DependencyCycle: some would wait for each other for ever; ``cycle`` names them by ref.
        Moved: others changed what this rests on; the caller's transaction must begin again.
    """
    return (await submit_shown(conn, specs, by=by, view=_AS_RECORDS)).answers


async def submit_shown(
    conn: Connection, specs: Sequence[JobSpec], *, by: Principal, view: View[T]
) -> Shown[T]:
    """As :func:`submit_batch`, but answer in another form, made while the jobs are stored.

    Raises:
        Invalid: there are too many, or a ``ref`` names two of them.
        UnknownDependency: one depends on a job or a ref that does not exist.
        DependencyCycle: some would wait for each other for ever; ``cycle`` names them by ref.
        Moved: others changed what this rests on; the caller's transaction must begin again.
    """
    check_refs(specs)
    plan = await plan_for(conn, specs)
    key_of, prospects = await classed(conn, [new.spec.job_class for new in plan.new])
    made = await _rows(conn, plan, key_of, prospects.now)
    fresh: list[T] = []

    def meanwhile() -> None:
        show(made, prospects, view, fresh)
        if len(made) == len(plan.slots):
            view.all_new(fresh)

    if made:
        await _store(conn, made, prospects.now, by=by, meanwhile=meanwhile)
    stored = plan.stored
    found = await jobs.by_ids(conn, stored) if stored else {}
    if len(found) < len(stored):
        # The job that has a dedupe key was pruned while we looked.
        raise Moved
    if made and len(made) == len(plan.slots):
        return Shown(answers=tuple(fresh), any_new=True, all_new=True)
    found.update(
        (job.id, as_inserted(job, prospects.now)) for job in made if job.spec.dedupe_key is not None
    )
    in_order = iter(fresh)
    answers = [
        next(in_order) if isinstance(slot, Newcomer) else view.stored(found[slot])
        for slot in plan.slots
    ]
    return Shown(answers=tuple(answers), any_new=bool(made), all_new=False)


async def _rows(
    conn: Connection, plan: Plan, key_of: Mapping[int, ClassKey], now: datetime
) -> list[NewJob]:
    """Put each job that is new in its class and its place."""
    if not plan.new:
        return []
    places = await _places(conn, plan, now)
    return [
        NewJob(
            new.id,
            *key_of[id(new.spec.job_class)],
            new.spec,
            new.parents,
            place.state,
            place.parents_left,
            place.because_of,
        )
        for new, place in zip(plan.new, places, strict=True)
    ]


async def classed(
    conn: Connection, job_classes: Sequence[JobClass]
) -> tuple[dict[int, ClassKey], Prospects]:
    """Find, or make, the class of each of these values, by the identity of the value.

    Jobs of one batch share the values of their classes: hashing each is dear, telling apart is not.
    """
    by_object = {id(each): each for each in job_classes}
    prospects = await offers.prospects(conn, set(by_object.values()))
    return {key: prospects.keys[each] for key, each in by_object.items()}, prospects


async def _store(
    conn: Connection,
    made: Sequence[NewJob],
    now: datetime,
    *,
    by: Principal,
    meanwhile: Callable[[], None],
) -> None:
    """Insert jobs, and tell whom it concerns; their rows say themselves who submitted them."""
    if await insert(conn, made, now, by=by.name, meanwhile=meanwhile) < len(made):
        raise Moved
    waits = [(job.id, parent) for job in made for parent in job.depends_on]
    if waits:
        await dependencies.add(conn, waits)
    await events.record(conn, _cancelled(made))
    await wake(conn, _ready_classes(made))


async def _places(conn: Connection, plan: Plan, now: datetime) -> list[Place]:
    if not plan.entangled:
        states = await _lock_parents(conn, {each for new in plan.new for each in new.parents})
        # Most wait for nothing, and so have the same place.
        free = place({}, if_parent_fails=IfParentFails.CANCEL, run_after=None, now=now)
        return [
            _place(new, states, now) if new.parents or new.spec.run_after else free
            for new in plan.new
        ]
    by_id = {new.id: new for new in plan.new}
    parents = {new.id: new.parents for new in plan.new}
    _check_ring(parents, by_id)
    outside = {parent for each in parents.values() for parent in each} - by_id.keys()
    states = await _lock_parents(conn, outside)
    placed: dict[JobId, Place] = {}
    for job_id in parents_first(parents):
        if job_id in by_id:
            placed[job_id] = _place(by_id[job_id], states, now)
            states[job_id] = placed[job_id].state
    return [placed[new.id] for new in plan.new]


def _place(new: Newcomer, states: Mapping[JobId, JobState], now: datetime) -> Place:
    return place(
        {parent: states[parent] for parent in new.parents},
        if_parent_fails=new.spec.if_parent_fails,
        run_after=new.spec.run_after,
        now=now,
    )


async def _lock_parents(conn: Connection, ids: set[JobId]) -> dict[JobId, JobState]:
    if not ids:
        return {}
    states = await dependencies.lock_parents(conn, ids)
    unknown = sorted(str(each) for each in ids - states.keys())
    if unknown:
        detail = f"There is no job {', '.join(unknown)} to depend on."
        raise UnknownDependency(detail, unknown=[*unknown])
    return states


def _cancelled(made: Sequence[NewJob]) -> list[NewEvent]:
    return [
        NewEvent(
            job_id=job.id,
            event=Event.PARENT_FAILED,
            detail={"parent": str(job.cancelled_by_parent)},
        )
        for job in made
        if job.cancelled_by_parent is not None
    ]


def _ready_classes(made: Sequence[NewJob]) -> set[ClassId]:
    return {job.class_id for job in made if job.state is JobState.READY}


def show(made: Sequence[NewJob], prospects: Prospects, view: View[T], shown: list[T]) -> None:
    """Show the jobs that are made; jobs of a class are warned of alike."""
    said: dict[ClassId, tuple[str, ...]] = {}
    now, hopeless = prospects.now, prospects.hopeless
    for job in made:
        if job.class_id not in hopeless or job.state is JobState.CANCELLED:
            shown.append(view.new(job, now, ()))
            continue
        warnings = said.get(job.class_id)
        if warnings is None:
            warnings = warnings_for(job.spec.job_class, prospects.factories, now)
            said[job.class_id] = warnings
        shown.append(view.new(job, now, warnings))


def _check_ring(parents: Mapping[JobId, frozenset[JobId]], new: Mapping[JobId, Newcomer]) -> None:
    ring = find_ring({job_id: sorted(each) for job_id, each in parents.items()})
    if ring is not None:
        names = [new[job_id].spec.ref or str(job_id) for job_id in ring]
        detail = f"These jobs wait for each other: {' → '.join(names)}."
        raise DependencyCycle(detail, cycle=[*names])
