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
class _Plan:
    """Which job each spec becomes, and whom the new ones wait for."""

    ids: tuple[JobId, ...]
    fresh: Mapping[JobId, JobSpec]
    parents: Mapping[JobId, frozenset[JobId]]

    @property
    def external(self) -> set[JobId]:
        """The parents that are stored already."""
        return {parent for each in self.parents.values() for parent in each} - self.fresh.keys()


async def _take_in(
    conn: Connection, specs: Sequence[JobSpec], by: Principal
) -> tuple[Submitted, ...]:
    plan = await _plan(conn, specs)
    offered = await offers.read(conn)
    if plan.fresh:
        await _insert(conn, plan, offered.now, by)
    records = await jobs.by_ids(conn, set(plan.ids))
    if len(records) < len(set(plan.ids)):
        # The job that has a dedupe key was pruned while we looked.
        raise Moved
    return _answers(plan, records, offered)


async def _plan(conn: Connection, specs: Sequence[JobSpec]) -> _Plan:
    keys = {spec.dedupe_key for spec in specs if spec.dedupe_key is not None}
    known = await jobs.by_dedupe_keys(conn, keys) if keys else {}
    ids: list[JobId] = []
    fresh: dict[JobId, JobSpec] = {}
    for spec in specs:
        job_id = None if spec.dedupe_key is None else known.get(spec.dedupe_key)
        if job_id is None:
            job_id = JobId(new_id())
            fresh[job_id] = spec
            if spec.dedupe_key is not None:
                known[spec.dedupe_key] = job_id
        ids.append(job_id)
    by_ref = {
        spec.ref: job_id for spec, job_id in zip(specs, ids, strict=True) if spec.ref is not None
    }
    parents = {
        job_id: frozenset(spec.depends_on) | {by_ref[ref] for ref in spec.depends_on_refs}
        for job_id, spec in fresh.items()
    }
    _check_ring(parents, fresh)
    return _Plan(ids=tuple(ids), fresh=fresh, parents=parents)


async def _insert(conn: Connection, plan: _Plan, now: datetime, by: Principal) -> None:
    class_ids = await classes.intern(conn, {spec.job_class for spec in plan.fresh.values()})
    places = _places(plan, await _lock_parents(conn, plan.external), now)
    new = [
        NewJob(
            id=job_id,
            class_id=class_ids[spec.job_class],
            spec=spec,
            state=places[job_id].state,
            parents_left=places[job_id].parents_left,
            cancelled_by_parent=places[job_id].because_of,
        )
        for job_id, spec in plan.fresh.items()
    ]
    if len(await jobs.insert(conn, new)) < len(new):
        raise Moved
    await dependencies.add(
        conn, [(job_id, parent) for job_id, each in plan.parents.items() for parent in each]
    )
    await events.record(conn, _history(places, by))
    await wake(conn, _ready_classes(new))


async def _lock_parents(conn: Connection, ids: set[JobId]) -> dict[JobId, JobState]:
    if not ids:
        return {}
    states = await dependencies.lock_parents(conn, ids)
    unknown = sorted(str(each) for each in ids - states.keys())
    if unknown:
        detail = f"There is no job {', '.join(unknown)} to depend on."
        raise UnknownDependency(detail, unknown=[*unknown])
    return states


def _places(plan: _Plan, states: Mapping[JobId, JobState], now: datetime) -> dict[JobId, Place]:
    states = dict(states)
    places: dict[JobId, Place] = {}
    for job_id in parents_first(plan.parents):
        if job_id not in plan.fresh:
            continue
        spec = plan.fresh[job_id]
        places[job_id] = place(
            {parent: states[parent] for parent in plan.parents[job_id]},
            if_parent_fails=spec.if_parent_fails,
            run_after=spec.run_after,
            now=now,
        )
        states[job_id] = places[job_id].state
    return places


def _history(places: Mapping[JobId, Place], by: Principal) -> list[NewEvent]:
    submitted = [NewEvent(job_id=job_id, event=SUBMIT, by=by.name) for job_id in places]
    cancelled = [
        NewEvent(job_id=job_id, event=Event.PARENT_FAILED, detail={"parent": str(each.because_of)})
        for job_id, each in places.items()
        if each.because_of is not None
    ]
    return submitted + cancelled


def _ready_classes(new: Sequence[NewJob]) -> set[ClassId]:
    return {job.class_id for job in new if job.state is JobState.READY}


def _answers(
    plan: _Plan, records: Mapping[JobId, JobRecord], offered: Offers
) -> tuple[Submitted, ...]:
    said: dict[JobClass, tuple[str, ...]] = {}
    answers: list[Submitted] = []
    told: set[JobId] = set()
    for job_id in plan.ids:
        job, created = records[job_id], job_id in plan.fresh and job_id not in told
        told.add(job_id)
        warnings: tuple[str, ...] = ()
        if created and job.state is not JobState.CANCELLED:
            if job.job_class not in said:
                said[job.job_class] = warnings_for(job.job_class, offered.factories, offered.now)
            warnings = said[job.job_class]
        answers.append(Submitted(job=job, created=created, warnings=warnings))
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


def _check_ring(parents: Mapping[JobId, frozenset[JobId]], fresh: Mapping[JobId, JobSpec]) -> None:
    ring = find_ring({job_id: sorted(each) for job_id, each in parents.items()})
    if ring is not None:
        names = [fresh[job_id].ref or str(job_id) for job_id in ring]
        detail = f"These jobs wait for each other: {' → '.join(names)}."
        raise DependencyCycle(detail, cycle=[*names])
