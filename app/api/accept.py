"""Requests as values: the hand-off from the wire to the use cases."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeAlias
from uuid import UUID

from app.coordinator.edit import JobPatch as Patch
from app.coordinator.submit_apart import Apart
from app.fleet import CostClass, FactoryId, FactorySpec, JobClass, JobId, JobSpec
from app.wire.factories import FactoryPut
from app.wire.job_fields import JobFields
from app.wire.jobs import BatchJob, JobPatch, JobSubmit

_CORE_NAME: Final[Mapping[str, str]] = {
    "required_capabilities": "required",
    "max_attempts": "attempts_max",
}
"""Where the core calls a field by another name than the wire does."""


def job(body: JobSubmit) -> JobSpec:
    """Read a job that was submitted alone."""
    parents = tuple(JobId(each) for each in _once_each(body.depends_on))
    return _spec(body, _class(body, {}), depends_on=parents)


def batch(bodies: Sequence[BatchJob]) -> tuple[JobSpec, ...]:
    """Read the jobs of a batch; a parent that is the ``ref`` of one of them is that one."""
    refs = {body.ref for body in bodies if body.ref is not None}
    known: _Classes = {}
    return tuple(_batch_job(body, refs, known) for body in bodies)


def apart(bodies: Sequence[BatchJob]) -> Apart | None:
    """Read the jobs of a batch, if none waits for any and none has a key, each in its turn."""
    if any(body.ref or body.depends_on or body.dedupe_key for body in bodies):
        return None
    known: _Classes = {}
    job_classes = [_class(body, known) for body in bodies]
    return Apart(
        job_classes=job_classes,
        spec=lambda number: _spec(bodies[number], job_classes[number]),
    )


def patch(body: JobPatch) -> Patch:
    """Read what is to change of a job: the fields that were sent, and no others."""
    named: dict[str, Any] = {
        _CORE_NAME.get(name, name): getattr(body, name) for name in body.model_fields_set
    }
    if "required" in named:
        named["required"] = frozenset(named["required"])
    if "depends_on" in named:
        named["depends_on"] = tuple(JobId(each) for each in _once_each(named["depends_on"]))
    return Patch(**named)


def factory(factory_id: FactoryId, body: FactoryPut) -> FactorySpec:
    """Read what a factory is said to be; a null stands for the default."""
    return FactorySpec(
        id=factory_id,
        capabilities=frozenset(body.capabilities),
        engines=frozenset(body.engines),
        warm_repos=tuple(dict.fromkeys(body.warm_repos)),
        cost_ceiling=CostClass.HIGH if body.cost_ceiling is None else body.cost_ceiling,
        seat_limit=1 if body.seat_limit is None else body.seat_limit,
        health=body.health,
        external_load=body.external_load,
        account=body.account,
        labels=body.labels,
    )


def _batch_job(body: BatchJob, refs: set[str], known: "_Classes") -> JobSpec:
    if not body.depends_on:
        return _spec(body, _class(body, known), ref=body.ref)
    stored: list[JobId] = []
    named: list[str] = []
    for parent in _once_each(body.depends_on):
        job_id = None if parent in refs else _job_id(parent)
        if job_id is None:
            named.append(parent)
        else:
            stored.append(job_id)
    return _spec(
        body,
        _class(body, known),
        depends_on=tuple(stored),
        depends_on_refs=tuple(named),
        ref=body.ref,
    )


def _job_id(text: str) -> JobId | None:
    with suppress(ValueError):
        return JobId(UUID(text))
    return None


def _once_each(parents: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(parents))


_Classes: TypeAlias = dict[tuple[object, ...], JobClass]


def _class(body: JobFields, known: _Classes) -> JobClass:
    """Read a job's class; jobs of one request that are of the same class share it."""
    content = (
        tuple(body.required_capabilities),
        body.prefers_engine,
        body.cost_class,
        body.priority,
        body.lock,
    )
    job_class = known.get(content)
    if job_class is None:
        job_class = known[content] = JobClass(
            required=frozenset(body.required_capabilities),
            prefers_engine=body.prefers_engine,
            cost_class=body.cost_class,
            priority=body.priority,
            lock=body.lock,
        )
    return job_class


def _spec(
    body: JobFields,
    job_class: JobClass,
    *,
    depends_on: tuple[JobId, ...] = (),
    depends_on_refs: tuple[str, ...] = (),
    ref: str | None = None,
) -> JobSpec:
    return JobSpec(
        kind=body.kind,
        job_class=job_class,
        repo=body.repo,
        payload=body.payload,
        labels=body.labels,
        depends_on=depends_on,
        depends_on_refs=depends_on_refs,
        ref=ref,
        if_parent_fails=body.if_parent_fails,
        run_after=body.run_after,
        timeout_s=body.timeout_s,
        attempts_max=body.max_attempts,
        dedupe_key=body.dedupe_key,
    )
