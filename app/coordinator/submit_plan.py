"""Which job each one of a submission becomes: a new one, or one that has its dedupe key already."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.errors import Invalid, UnknownDependency
from app.fleet import JobId, JobSpec
from app.runtime.ids import new_id
from app.store import jobs
from app.store.session import Connection

BATCH_MAX = 1_000


class Newcomer(NamedTuple):
    """A spec that becomes a job, and whom that waits for; a tuple, for there are a thousand."""

    id: JobId
    spec: JobSpec
    parents: frozenset[JobId]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which job each spec becomes: a new one, or one that has its dedupe key already.

    That may be a job stored before, or a new one of the same batch.
    """

    slots: Sequence[Newcomer | JobId]
    new: Sequence[Newcomer]
    """The jobs to insert: those slots that are no ids."""

    @property
    def stored(self) -> set[JobId]:
        """The jobs that were there before."""
        if len(self.new) == len(self.slots):
            return set()
        made = {new.id for new in self.new if new.spec.dedupe_key is not None}
        return {slot for slot in self.slots if not isinstance(slot, Newcomer)} - made

    @property
    def entangled(self) -> bool:
        """Whether any of the new jobs may wait for another one of them."""
        return any(new.spec.depends_on_refs for new in self.new)


def check_refs(specs: Sequence[JobSpec]) -> None:
    """Check what can be checked of a submission by itself.

    Raises:
        Invalid: there are too many, or a ``ref`` names two of them.
        UnknownDependency: one depends on a ref that none of them has.
    """
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


async def plan_for(conn: Connection, specs: Sequence[JobSpec]) -> Plan:
    """Give each spec the id of its job."""
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
        Newcomer(job_id, spec, _parents(spec, by_ref)) if new else job_id
        for spec, job_id, new in zip(specs, ids, is_new, strict=True)
    ]
    return Plan(slots=slots, new=[slot for slot in slots if isinstance(slot, Newcomer)])


_NOBODY: frozenset[JobId] = frozenset()


def _parents(spec: JobSpec, by_ref: Mapping[str, JobId]) -> frozenset[JobId]:
    if not (spec.depends_on or spec.depends_on_refs):
        return _NOBODY
    return frozenset(spec.depends_on) | {by_ref[ref] for ref in spec.depends_on_refs}
