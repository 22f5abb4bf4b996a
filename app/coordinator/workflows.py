"""Workflows: create, read, change, move, remove."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from logging import getLogger
from typing import Any
from uuid import UUID

from app import workflow_calls
from app.coordinator.paging import Page, page_of, place
from app.errors import ImpossibleTransition, Invalid, NotFound, VersionMismatch
from app.fleet import Json, Principal
from app.runtime.ids import new_id
from app.store import factories, workflows
from app.store.retrying import settled
from app.store.session import Connection, Database
from app.store.workflows import Place, WorkflowFilter, WorkflowRecord
from app.workflow import FIRST_STATUS, STATUSES, Kind, ProjectId, Status, Workflow, WorkflowId

__all__ = [
    "WorkflowFilter",
    "WorkflowRecord",
    "WorkflowSpec",
    "create_workflow",
    "edit_workflow",
    "get_workflow",
    "list_workflows",
    "move_workflow",
]

_LOG = getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSpec:
    """A workflow as it is asked for; work begun elsewhere may be taken over at any status."""

    project_id: ProjectId
    kind: Kind
    title: str
    prompt: str = ""
    position: int | None = None
    status: Status | None = None
    auto_run: bool = False
    pr_url: str | None = None
    tracks_after_merge: bool = False
    has_uat: bool = False
    uat_test_at: datetime | None = None


async def create_workflow(conn: Connection, spec: WorkflowSpec, *, by: Principal) -> WorkflowRecord:
    """Create a workflow, behind all others unless it is given a position.

    Raises:
        NotFound: there is no such project.
        Invalid: a workflow of its kind never has that status.
    """
    workflow_id = WorkflowId(new_id())
    position = spec.position
    if position is None:
        position = await workflows.last_position(conn) + 1
    else:
        await workflows.make_room(conn, workflow_id, position)
    workflow = Workflow(
        id=workflow_id,
        project_id=spec.project_id,
        kind=spec.kind,
        title=spec.title,
        prompt=spec.prompt,
        position=position,
        status=_checked(spec.kind, spec.status or FIRST_STATUS[spec.kind]),
        auto_run=spec.auto_run,
        pr_url=spec.pr_url,
        tracks_after_merge=spec.tracks_after_merge,
        has_uat=spec.has_uat,
        uat_test_at=spec.uat_test_at,
    )
    now = await factories.now(conn)
    await workflows.insert(conn, workflow_calls.placed(workflow, now))
    _LOG.info("workflow created", extra={"workflow_id": str(workflow_id), "by": by.name})
    return await record_of(conn, workflow_id)


async def get_workflow(db: Database, workflow_id: WorkflowId) -> WorkflowRecord:
    """Read a workflow.

    Raises:
        NotFound: there is no such workflow.
    """
    async with db.connection() as conn:
        return await record_of(conn, workflow_id)


async def list_workflows(
    db: Database, wanted: WorkflowFilter, cursor: str | None, limit: int
) -> Page[WorkflowRecord]:
    """List workflows by position.

    Raises:
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _place)
    async with db.connection() as conn:
        found = await workflows.page(conn, wanted, after=after, limit=limit + 1)
    return page_of(found, limit, lambda each: [each.workflow.position, str(each.workflow.id)])


async def edit_workflow(
    db: Database,
    workflow_id: WorkflowId,
    changes: Mapping[str, Any],
    *,
    if_match: int,
    by: Principal,
) -> WorkflowRecord:
    """Change a workflow at version ``if_match``; a new status is where its stage begins anew.

    Raises:
        NotFound: there is no such workflow.
        VersionMismatch: it is at another version (``current_version``).
        Invalid: a workflow of its kind never has that status.
        ImpossibleTransition: the status cannot be changed while its job is under way.
    """

    async def once(conn: Connection) -> WorkflowRecord:
        before = (await record_of(conn, workflow_id)).workflow
        check_version(before, if_match)
        after = _edited(before, changes, await factories.now(conn))
        if after != before:
            await workflows.write(conn, after)
        return await record_of(conn, workflow_id)

    del by
    return await settled(db, once)


async def move_workflow(
    db: Database, workflow_id: WorkflowId, position: int, *, by: Principal
) -> WorkflowRecord:
    """Give a workflow a place in the order; if another has it, that and all behind it move on.

    Raises:
        NotFound: there is no such workflow.
    """

    async def once(conn: Connection) -> WorkflowRecord:
        before = (await record_of(conn, workflow_id)).workflow
        if before.position != position:
            await workflows.make_room(conn, workflow_id, position)
            await workflows.write(conn, replace(before, position=position))
        return await record_of(conn, workflow_id)

    del by
    return await settled(db, once)


async def record_of(conn: Connection, workflow_id: WorkflowId) -> WorkflowRecord:
    """Read a workflow on the caller's connection.

    Raises:
        NotFound: there is no such workflow.
    """
    record = (await workflows.by_ids(conn, [workflow_id])).get(workflow_id)
    if record is None:
        detail = f"There is no workflow {workflow_id}."
        raise NotFound(detail)
    return record


def check_version(workflow: Workflow, if_match: int | None) -> None:
    """Make sure that the caller has seen the present version, if it named one.

    Raises:
        VersionMismatch: it has not.
    """
    if if_match is not None and if_match != workflow.version:
        detail = f"The workflow is at version {workflow.version}, not {if_match}."
        raise VersionMismatch(detail, current_version=workflow.version)


def _edited(before: Workflow, changes: Mapping[str, Any], now: datetime) -> Workflow:
    others = {name: value for name, value in changes.items() if name != "status"}
    after = replace(before, **others)
    status = _checked(before.kind, changes.get("status", before.status))
    if status is not before.status and before.processing:
        detail = "Its job is under way: cancel the workflow, or wait for the job to end."
        raise ImpossibleTransition(detail, workflow_status=before.status.value)
    return workflow_calls.placed(workflow_calls.put(after, status), now)


def _checked(kind: Kind, status: Status) -> Status:
    if status in STATUSES[kind]:
        return status
    known = ", ".join(sorted(STATUSES[kind]))
    message = f"must be one of {known} for a workflow of the kind {kind}"
    detail = f"status {message}."
    raise Invalid(detail, errors=[{"field": "status", "message": message}])


def _place(key: Json) -> Place:
    if not isinstance(key, list):
        raise TypeError
    position, workflow_id = key
    if type(position) is not int or abs(position) >= 2**63:
        raise ValueError
    return Place(position=position, id=WorkflowId(UUID(str(workflow_id))))
