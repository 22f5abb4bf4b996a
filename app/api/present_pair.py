"""What would make a factory take a job, as a reply: changes in words, and as calls to make."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from app.changes import Change, ChangeKind
from app.coordinator.explain_pair import PairExplanation
from app.counterfactual import Wait
from app.fleet import Json
from app.wire.explain_job import CallReply, ChangeReply, FlipReply, PairReply, WaitReply

_RENAMED = {"required": "required_capabilities", "unfinished_parents": "depends_on"}
_JOB_VERBS = {ChangeKind.UNHOLD: "unhold", ChangeKind.RETRY: "retry"}


def pair(found: PairExplanation) -> PairReply:
    """Show whether a factory takes a job next, and what would make it."""
    return PairReply(
        would_take=found.would_take,
        headline=found.headline,
        instead=found.instead,
        flips=[
            FlipReply(
                changes=[ChangeReply(kind=each.kind, message=each.message) for each in changes],
                calls=_calls(changes, found),
            )
            for changes in found.changes
        ],
        wait=_wait(found.wait),
    )


def _wait(found: Wait | None) -> WaitReply | None:
    if found is None:
        return None
    return WaitReply(at=found.at, until=found.until, for_good_at=found.for_good_at)


def _calls(changes: Iterable[Change], found: PairExplanation) -> list[CallReply]:
    """Write changes as calls; what one call can carry goes into one."""
    verbs: list[CallReply] = []
    patch: dict[str, Json] = {}
    put: dict[str, Json] = {}
    job_path, factory_path = f"/jobs/{found.job_id}", f"/factories/{quote(found.factory_id)}"
    for each in changes:
        if each.kind in _JOB_VERBS:
            path = f"{job_path}/{_JOB_VERBS[each.kind]}"
            verbs.append(CallReply(method="POST", path=path, body={}))
        elif each.kind is ChangeKind.RESUME:
            verbs.append(CallReply(method="POST", path=f"{factory_path}/resume", body={}))
        else:
            patch |= _fields(each.job, found) | _fields(each.job_class, found)
            put |= _fields(each.factory, found)
    if patch:
        verbs.append(CallReply(method="PATCH", path=job_path, body=patch))
    if put:
        verbs.append(CallReply(method="PUT", path=factory_path, body=put))
    return verbs


def _fields(changed: Mapping[str, Any], found: PairExplanation) -> dict[str, Json]:
    return {_RENAMED.get(name, name): _json(name, value, found) for name, value in changed.items()}


def _json(name: str, value: object, found: PairExplanation) -> Json:
    if name == "unfinished_parents":
        return [str(parent) for parent in found.finished_parents]
    if isinstance(value, frozenset):
        return [*sorted(value)]
    return None if value is None else value if isinstance(value, int) else str(value)
