"""Edit: change a job that is stored, at the version its caller has read.

What may be changed depends on where the job is:

==================  ================================================================
unfinished, no      everything; but for priority and labels it is an edit of what is
lease runs          to run, so that it closes the fence of a lapsed lease, and the
                    job's place is computed anew
leased              priority and labels
dead, cancelled     everything: it can be repaired before it is retried; it stays
                    where it is, and its parents are counted at the retry
succeeded           priority and labels; the rest is history
==================  ================================================================

Its kind can never be changed. A dependency on a job that is dead or cancelled already cancels this
one, as at submission.
"""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import Enum
from typing import Final, TypeVar

from app import lease
from app.coordinator.dependants import parent_ended
from app.coordinator.moving import move, reading_of, record_of
from app.coordinator.rings import find_ring
from app.errors import DependencyCycle, ImpossibleTransition, UnknownDependency, VersionMismatch
from app.fleet import (
    ClassId,
    CostClass,
    IfParentFails,
    JobClass,
    JobId,
    JobRecord,
    JobState,
    Json,
    JsonObject,
    Principal,
    Priority,
)
from app.life import Change, Event
from app.store import classes, dependencies, jobs
from app.store.jobs import Content
from app.store.lives import Reading
from app.store.retrying import Moved, settled
from app.store.session import Connection, Database
from app.store.wake import wake

T = TypeVar("T")


class Unset(Enum):
    """The type of :data:`UNSET`: "not named", where None is a value of its own."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPatch:
    """What to change of a job; a field that is not named stays as it is."""

    repo: str | Unset | None = UNSET
    payload: JsonObject | Unset = UNSET
    labels: dict[str, str] | Unset = UNSET
    required: frozenset[str] | Unset = UNSET
    prefers_engine: str | Unset | None = UNSET
    cost_class: CostClass | Unset = UNSET
    priority: Priority | Unset = UNSET
    lock: str | Unset | None = UNSET
    depends_on: tuple[JobId, ...] | Unset = UNSET
    if_parent_fails: IfParentFails | Unset = UNSET
    run_after: datetime | Unset | None = UNSET
    timeout_s: int | Unset = UNSET
    attempts_max: int | Unset = UNSET
    dedupe_key: str | Unset | None = UNSET

    @property
    def named(self) -> frozenset[str]:
        """The fields that are to be changed."""
        return frozenset(
            field.name for field in fields(self) if getattr(self, field.name) is not UNSET
        )


ALWAYS: Final = frozenset({"priority", "labels"})
"""What may be changed of any job, and closes no fence: it is not what is to run."""

_REPAIRABLE: Final = frozenset({JobState.DEAD, JobState.CANCELLED})


async def edit(
    db: Database, job_id: JobId, patch: JobPatch, *, if_match: int, by: Principal
) -> JobRecord:
    """Change a job at version ``if_match``.

    Raises:
        NotFound: there is no such job.
        VersionMismatch: it is at another version (``current_version``).
        ImpossibleTransition: its state does not allow that change, or no attempt would be left.
        UnknownDependency: it should depend on a job that does not exist.
        DependencyCycle: it should wait for a job that waits for it.
        Conflict: another job has the dedupe key.
        LostRace: others kept changing the jobs it depends on.
    """

    async def once(conn: Connection) -> JobRecord:
        if patch.depends_on is not UNSET:
            await dependencies.lock_graph(conn)
        record = await record_of(conn, job_id)
        if record.version != if_match:
            detail = f"The job is at version {record.version}, not {if_match}."
            raise VersionMismatch(detail, current_version=record.version)
        _check_allowed(record, patch)
        if patch.named:
            await _edit(conn, record, patch, by)
        return await record_of(conn, job_id)

    return await settled(db, once)


def _check_allowed(record: JobRecord, patch: JobPatch) -> None:
    refused = sorted(patch.named - ALWAYS)
    if refused and record.state in {JobState.LEASED, JobState.SUCCEEDED}:
        detail = (
            f"The job is {record.state}: only its priority and labels can be changed, "
            f"not {', '.join(refused)}."
        )
        raise ImpossibleTransition(detail, state=record.state.value, fields=[*refused])


async def _edit(conn: Connection, record: JobRecord, patch: JobPatch, by: Principal) -> None:
    # Classes before jobs: whoever waits for another's new class holds no job meanwhile.
    job_class = _patched_class(record.job_class, patch)
    class_id = (await classes.intern(conn, [job_class]))[job_class]
    if patch.depends_on is not UNSET:
        await _redraw(conn, record, set(patch.depends_on))
    before = await reading_of(conn, record.id)
    content = _content(record, patch, class_id)
    if not await jobs.edit(conn, record.id, version=record.version, content=content):
        raise Moved
    reading = _with_old_fence(await reading_of(conn, record.id), before)
    change = _placed(reading, patch)
    because_of = reading.failed_parents[0] if reading.life.parent_failed else None
    detail: JsonObject = {"fields": _sorted(patch.named)}
    has_dependants = await move(conn, reading, change, by=by, detail=detail, because_of=because_of)
    if change.finished and has_dependants:
        await wake(conn, await parent_ended(conn, [(record.id, change.after.state)]))


async def _redraw(conn: Connection, record: JobRecord, parents: set[JobId]) -> None:
    """Make a job wait for these and for no others; the graph is locked."""
    before = set(record.depends_on)
    known = await dependencies.lock_parents(conn, before | parents)
    unknown = sorted(str(each) for each in parents - known.keys())
    if unknown:
        detail = f"There is no job {', '.join(unknown)} to depend on."
        raise UnknownDependency(detail, unknown=[*unknown])
    above = await dependencies.ancestors(conn, parents)
    ring = find_ring(above | {record.id: sorted(parents)})
    if ring is not None:
        names = [str(each) for each in ring]
        detail = f"These jobs would wait for each other: {' → '.join(names)}."
        raise DependencyCycle(detail, cycle=[*names])
    await dependencies.remove(conn, record.id, before - parents)
    await dependencies.add(conn, [(record.id, parent) for parent in sorted(parents - before)])


def _with_old_fence(reading: Reading, before: Reading) -> Reading:
    """Keep the lock and the fence of before the edit: it is them that the edit may close."""
    life = replace(reading.life, fence_open=before.life.fence_open)
    return replace(reading, life=life, lock=before.lock)


def _placed(reading: Reading, patch: JobPatch) -> Change:
    """Place the edited job by the law, if the edit concerns what is to run."""
    life = reading.life
    if patch.run_after is not UNSET:
        life = replace(life, run_after=patch.run_after)
    stays = Change(event=Event.EDIT, before=reading.life, after=life)
    if life.state in _REPAIRABLE or not patch.named - ALWAYS:
        return stays
    decision = lease.edit(life, now=reading.now)
    if isinstance(decision, Change):
        return replace(decision, before=reading.life)
    detail = f"{life.attempts} attempts were made already; attempts_max must be more than that."
    raise ImpossibleTransition(detail, attempts=life.attempts)


def _patched_class(job_class: JobClass, patch: JobPatch) -> JobClass:
    return replace(
        job_class,
        required=_or(patch.required, job_class.required),
        prefers_engine=_or(patch.prefers_engine, job_class.prefers_engine),
        cost_class=_or(patch.cost_class, job_class.cost_class),
        priority=_or(patch.priority, job_class.priority),
        lock=_or(patch.lock, job_class.lock),
    )


def _content(record: JobRecord, patch: JobPatch, class_id: ClassId) -> Content:
    return Content(
        class_id=class_id,
        repo=_or(patch.repo, record.repo),
        payload=_or(patch.payload, record.payload),
        labels=_or(patch.labels, record.labels),
        if_parent_fails=_or(patch.if_parent_fails, record.if_parent_fails),
        timeout_s=_or(patch.timeout_s, record.timeout_s),
        attempts_max=_or(patch.attempts_max, record.attempts_max),
        dedupe_key=_or(patch.dedupe_key, record.dedupe_key),
    )


def _or(new: T | Unset, old: T) -> T:
    return old if isinstance(new, Unset) else new


def _sorted(names: frozenset[str]) -> list[Json]:
    return [*sorted(names)]
