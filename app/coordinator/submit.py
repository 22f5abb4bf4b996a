"""Submit: take in jobs, one or up to a thousand that may depend on each other, all or nothing.

Three things can move while a submission is decided. A parent may end: its row is locked before its
state is read, so that it either is seen as it ended or, ending later, sees its new dependant. A
twin with the same dedupe key may get in first: then our insert leaves that row out, and the whole
is decided again with the twin in sight. And a class may be pruned: that is seen in the same way.

Order of what is waited for: classes, then jobs by id, then dedupe keys in their order.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.coordinator.placement import Place, place
from app.coordinator.prospects import warnings_for
from app.coordinator.rings import find_ring, parents_first
from app.errors import DependencyCycle, Invalid, UnknownDependency
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
from app.runtime.ids import new_id
from app.store import classes, dependencies, events, jobs, offers
from app.store.events import NewEvent
from app.store.jobs import NewJob
from app.store.offers import Offers
from app.store.retrying import Moved, settled_within
from app.store.session import Connection
from app.store.wake import wake

BATCH_MAX = 1_000

SUBMIT = "submit"
"""The first event of every job's history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A job as it was taken in, or (not ``created``) the one that has the dedupe key already."""

    job: JobRecord
    created: bool
    warnings: tuple[str, ...] = ()


async def submit(conn: Connection, spec: JobSpec, *, by: Principal) -> Submitted:
    """Take in one job.

    Raises:
        UnknownDependency: it depends on a job that does not exist; ``unknown`` names them.
        DependencyCycle: it depends on itself.
        LostRace: others kept changing the same jobs.
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
        LostRace: others kept changing the same jobs.
    """
    _check_refs(specs)
    return await settled_within(conn, lambda: _take_in(conn, specs, by))


@dataclass(frozen=True, slots=True, kw_only=True)
class _New:
    """A spec that becomes a job, and whom that waits for."""

    id: JobId
    spec: JobSpec
    parents: frozenset[JobId]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """Which job each spec becomes: a new one, or one that has its dedupe key already.

    That may be a job stored before, or a new one of the same batch.
    """

    slots: Sequence[_New | JobId]
    new: Sequence[_New]
    """The jobs to insert: those slots that are no ids."""

    @property
    def stored(self) -> set[JobId]:
        """The jobs that were there before."""
        made = {new.id for new in self.new if new.spec.dedupe_key is not None}
        return {slot for slot in self.slots if not isinstance(slot, _New)} - made

    @property
    def entangled(self) -> bool:
        """Whether any of the new jobs may wait for another one of them."""
        return any(new.spec.depends_on_refs for new in self.new)


async def _take_in(
    conn: Connection, specs: Sequence[JobSpec], by: Principal
) -> tuple[Submitted, ...]:
    plan = await _plan(conn, specs)
    offered = await offers.read(conn)
    made = await _insert(conn, plan, offered.now, by)
    stored = plan.stored
    found = await jobs.by_ids(conn, stored) if stored else {}
    if len(found) < len(stored):
        # The job that has a dedupe key was pruned while we looked.
        raise Moved
    return _answers(plan, made, found, offered)


async def _plan(conn: Connection, specs: Sequence[JobSpec]) -> _Plan:
    keys = {spec.dedupe_key for spec in specs if spec.dedupe_key is not None}
    known = await jobs.by_dedupe_keys(conn, keys) if keys else {}
    ids: list[JobId] = []
    is_new: list[bool] = []
    for spec in specs:
        job_id = None if spec.dedupe_key is None else known.get(spec.dedupe_key)
        is_new.append(job_id is None)
        if job_id is None:
            job_id = JobId(new_id())
            if spec.dedupe_key is not None:
                known[spec.dedupe_key] = job_id
        ids.append(job_id)
    by_ref = {
        spec.ref: job_id for spec, job_id in zip(specs, ids, strict=True) if spec.ref is not None
    }
    slots = [
        _New(id=job_id, spec=spec, parents=_parents(spec, by_ref)) if new else job_id
        for spec, job_id, new in zip(specs, ids, is_new, strict=True)
    ]
    return _Plan(slots=slots, new=[slot for slot in slots if isinstance(slot, _New)])


def _parents(spec: JobSpec, by_ref: Mapping[str, JobId]) -> frozenset[JobId]:
    if not (spec.depends_on or spec.depends_on_refs):
        return frozenset()
    return frozenset(spec.depends_on) | {by_ref[ref] for ref in spec.depends_on_refs}


async def _insert(conn: Connection, plan: _Plan, now: datetime, by: Principal) -> list[JobRecord]:
    """Insert what is new; returns the jobs as they were made, in their order."""
    if not plan.new:
        return []
    class_ids = await classes.intern(conn, {new.spec.job_class for new in plan.new})
    places = await _places(conn, plan, now)
    rows = [
        NewJob(
            id=new.id,
            class_id=class_ids[new.spec.job_class],
            spec=new.spec,
            state=place.state,
            parents_left=place.parents_left,
            cancelled_by_parent=place.because_of,
        )
        for new, place in zip(plan.new, places, strict=True)
    ]
    if await jobs.insert(conn, rows, now) < len(rows):
        raise Moved
    waits = [(new.id, parent) for new in plan.new for parent in new.parents]
    if waits:
        await dependencies.add(conn, waits)
    await events.record(conn, _history(rows, by))
    await wake(conn, _ready_classes(rows))
    return [
        jobs.as_inserted(row, new.parents, now) for row, new in zip(rows, plan.new, strict=True)
    ]


async def _places(conn: Connection, plan: _Plan, now: datetime) -> list[Place]:
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


def _place(new: _New, states: Mapping[JobId, JobState], now: datetime) -> Place:
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


def _history(made: Sequence[NewJob], by: Principal) -> list[NewEvent]:
    submitted = [NewEvent(job_id=job.id, event=SUBMIT, by=by.name) for job in made]
    cancelled = [
        NewEvent(
            job_id=job.id,
            event=Event.PARENT_FAILED,
            detail={"parent": str(job.cancelled_by_parent)},
        )
        for job in made
        if job.cancelled_by_parent is not None
    ]
    return submitted + cancelled


def _ready_classes(new: Sequence[NewJob]) -> set[ClassId]:
    return {job.class_id for job in new if job.state is JobState.READY}


def _answers(
    plan: _Plan, made: Sequence[JobRecord], found: Mapping[JobId, JobRecord], offered: Offers
) -> tuple[Submitted, ...]:
    said: dict[JobClass, tuple[str, ...]] = {}
    by_id = {**found, **{job.id: job for job in made if job.dedupe_key is not None}}
    in_order = iter(made)
    answers: list[Submitted] = []
    for slot in plan.slots:
        if not isinstance(slot, _New):
            answers.append(Submitted(job=by_id[slot], created=False))
            continue
        job = next(in_order)
        warnings: tuple[str, ...] = ()
        if job.state is not JobState.CANCELLED:
            if job.job_class not in said:
                said[job.job_class] = warnings_for(job.job_class, offered.factories, offered.now)
            warnings = said[job.job_class]
        answers.append(Submitted(job=job, created=True, warnings=warnings))
    return tuple(answers)


def _check_refs(specs: Sequence[JobSpec]) -> None:
    if len(specs) > BATCH_MAX:
        detail = f"A batch has at most {BATCH_MAX} jobs; this one has {len(specs)}."
        raise Invalid(detail, errors=[{"field": "jobs", "message": detail}])
    counted = Counter(spec.ref for spec in specs if spec.ref is not None)
    twice = sorted(ref for ref, count in counted.items() if count > 1)
    if twice:
        detail = f"More than one job has the ref {', '.join(twice)}."
        raise Invalid(detail, errors=[{"field": "ref", "message": detail}])
    unknown = sorted({ref for spec in specs for ref in spec.depends_on_refs} - counted.keys())
    if unknown:
        detail = f"No job of this request has the ref {', '.join(unknown)}."
        raise UnknownDependency(detail, unknown=[*unknown])


def _check_ring(parents: Mapping[JobId, frozenset[JobId]], new: Mapping[JobId, _New]) -> None:
    ring = find_ring({job_id: sorted(each) for job_id, each in parents.items()})
    if ring is not None:
        names = [new[job_id].spec.ref or str(job_id) for job_id in ring]
        detail = f"These jobs wait for each other: {' → '.join(names)}."
        raise DependencyCycle(detail, cycle=[*names])
