"""Workflows: stored, read, changed, moved, removed."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from app.errors import NotFound
from app.fleet import JobId
from app.store.retrying import Moved
from app.store.session import Connection, Record, statement
from app.store.sql import sql
from app.store.standings import columns_of, standing_in
from app.store.tables import WorkflowRow
from app.workflow import Kind, ProjectId, Review, Status, Workflow, WorkflowId


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRecord:
    """A workflow as people read it."""

    workflow: Workflow
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowFilter:
    """Which workflows to list: those to which all applies that is named."""

    project_id: ProjectId | None = None
    kind: Kind | None = None
    status: Status | None = None
    processing: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a workflow stands in the order of all."""

    position: int
    id: WorkflowId


async def insert(conn: Connection, workflow: Workflow) -> None:
    """Store a new workflow.

    Raises:
        NotFound: there is no such project.
    """
    try:
        await conn.execute(sql("workflow_insert"), workflow.id, *_columns(workflow))
    except asyncpg.ForeignKeyViolationError as error:
        detail = f"There is no project {workflow.project_id}."
        raise NotFound(detail) from error


async def write(conn: Connection, workflow: Workflow) -> None:
    """Change a workflow that is still at the version that was read; its version moves.

    Raises:
        Moved: it is not, or it is gone.
    """
    row = await conn.fetchrow(
        sql("workflow_write"), workflow.id, *_columns(workflow), workflow.version
    )
    if row is None:
        raise Moved


async def by_ids(conn: Connection, ids: Collection[WorkflowId]) -> dict[WorkflowId, WorkflowRecord]:
    """Read workflows; one that does not exist is left out."""
    rows = await conn.fetch(sql("workflow_read"), list(ids))
    return {WorkflowId(row["id"]): _to_record(row) for row in rows}


async def board(conn: Connection) -> tuple[Workflow, ...]:
    """Read every workflow that a tick has to look at, in order."""
    rows = await conn.fetch(sql("workflow_board"))
    return tuple(_to_workflow(row) for row in rows)


async def last_position(conn: Connection) -> int:
    """Tell the greatest position there is; 0 without workflows."""
    found: int = await conn.fetchval(sql("workflow_last_position"))
    return found


async def make_room(conn: Connection, workflow_id: WorkflowId, position: int) -> None:
    """Move those at a position and behind it one on, if another workflow has that position."""
    await conn.execute(sql("workflow_make_room"), workflow_id, position)


async def remove(conn: Connection, workflow: Workflow) -> None:
    """Delete a workflow that is still at the version that was read.

    Raises:
        Moved: it is not.
    """
    row = await conn.fetchrow(sql("workflow_remove"), workflow.id, workflow.version)
    if row is None:
        raise Moved


async def page(
    conn: Connection, wanted: WorkflowFilter, *, after: Place | None, limit: int
) -> list[WorkflowRecord]:
    """Read workflows that pass, by position and after a place in that order."""
    text, arguments = statement(page_query(wanted, after=after, limit=limit))
    # One snapshot for both: else one removed in between would make the page look like the last.
    async with conn.transaction(isolation="repeatable_read", readonly=True):
        ids = [WorkflowId(row["id"]) for row in await conn.fetch(text, *arguments)]
        found = await by_ids(conn, ids)
    return [found[each] for each in ids]


def page_query(wanted: WorkflowFilter, *, after: Place | None, limit: int) -> "SelectOfScalar[Any]":
    """Build the select of a page's ids."""
    equal = (
        (WorkflowRow.project_id, wanted.project_id),
        (WorkflowRow.kind, wanted.kind),
        (WorkflowRow.status, wanted.status),
        (WorkflowRow.processing, wanted.processing),
    )
    position, id_ = col(WorkflowRow.position), col(WorkflowRow.id)
    query = select(WorkflowRow.id).where(
        *(col(column) == value for column, value in equal if value is not None)
    )
    if after is not None:
        query = query.where(
            (position > after.position) | ((position == after.position) & (id_ > after.id))
        )
    return query.order_by(position, id_).limit(limit)


def _columns(workflow: Workflow) -> tuple[object, ...]:
    return (
        workflow.project_id,
        workflow.kind,
        workflow.title,
        workflow.prompt,
        workflow.position,
        workflow.status,
        workflow.processing,
        workflow.auto_run,
        workflow.run_requested,
        workflow.pr_url,
        workflow.review,
        workflow.review_at,
        list(workflow.review_comments),
        workflow.tracks_after_merge,
        workflow.has_uat,
        workflow.uat_test_at,
        workflow.merged_at,
        workflow.stage_attempt,
        workflow.stage_failures,
        workflow.needs_human_reason,
        *columns_of(workflow.paused),
        workflow.clone_key,
        workflow.job_id,
        workflow.finished_at,
    )


def _to_record(row: Record) -> WorkflowRecord:
    return WorkflowRecord(
        workflow=_to_workflow(row), created_at=row["created_at"], updated_at=row["updated_at"]
    )


def _to_workflow(row: Record) -> Workflow:
    return Workflow(
        id=WorkflowId(row["id"]),
        project_id=ProjectId(row["project_id"]),
        kind=Kind(row["kind"]),
        title=row["title"],
        prompt=row["prompt"],
        position=row["position"],
        status=Status(row["status"]),
        version=row["version"],
        processing=row["processing"],
        auto_run=row["auto_run"],
        run_requested=row["run_requested"],
        pr_url=row["pr_url"],
        review=Review(row["review"]),
        review_at=row["review_at"],
        review_comments=tuple(row["review_comments"]),
        tracks_after_merge=row["tracks_after_merge"],
        has_uat=row["has_uat"],
        uat_test_at=row["uat_test_at"],
        merged_at=row["merged_at"],
        stage_attempt=row["stage_attempt"],
        stage_failures=row["stage_failures"],
        needs_human_reason=row["needs_human_reason"],
        paused=standing_in(row, "pause"),
        clone_key=row["clone_key"],
        job_id=None if row["job_id"] is None else JobId(row["job_id"]),
        finished_at=row["finished_at"],
    )
