"""Projects: stored, read, changed, removed."""

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime

import asyncpg

from app.errors import Conflict
from app.fleet import CostClass, Priority
from app.store.session import Connection, Record
from app.store.sql import sql
from app.store.standings import columns_of, standing_in
from app.tick_jobs import JobDefaults
from app.workflow import Project, ProjectId


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRecord:
    """A project as people read it."""

    project: Project
    created_at: datetime
    updated_at: datetime


async def insert(conn: Connection, project: Project) -> None:
    """Store a new project.

    Raises:
        Conflict: another has the name.
    """
    try:
        await conn.execute(sql("project_insert"), project.id, *_columns(project))
    except asyncpg.UniqueViolationError as error:
        raise _name_taken(project) from error


async def write(conn: Connection, project: Project) -> bool:
    """Change a project that is still at the version that was read; its version moves.

    Raises:
        Conflict: another has the name.
    """
    try:
        row = await conn.fetchrow(
            sql("project_write"), project.id, *_columns(project), project.version
        )
    except asyncpg.UniqueViolationError as error:
        raise _name_taken(project) from error
    return row is not None


async def by_ids(conn: Connection, ids: Collection[ProjectId]) -> dict[ProjectId, ProjectRecord]:
    """Read projects; one that does not exist is left out."""
    rows = await conn.fetch(sql("project_read"), list(ids))
    return {ProjectId(row["id"]): _to_record(row) for row in rows}


async def page(
    conn: Connection, *, after: ProjectId | None, limit: int, name: str | None = None
) -> list[ProjectRecord]:
    """Read projects, the oldest first, after one of them; of this name, if one is given."""
    rows = await conn.fetch(sql("project_page"), after, limit, name)
    return [_to_record(row) for row in rows]


async def lock(conn: Connection, project_id: ProjectId) -> bool:
    """Keep a project from getting new workflows until the transaction ends; whether it exists."""
    return bool(await conn.fetchval(sql("project_lock"), project_id))


async def unfinished(conn: Connection, project_id: ProjectId) -> int:
    """Count the workflows of a project that are not finished."""
    count: int = await conn.fetchval(sql("project_unfinished"), project_id)
    return count


async def remove(conn: Connection, project_id: ProjectId) -> None:
    """Delete a project and its workflows."""
    await conn.execute(sql("project_remove"), project_id)


def _columns(project: Project) -> tuple[object, ...]:
    defaults = project.job_defaults
    return (
        project.name,
        project.local_directory,
        project.repo,
        sorted(project.required_capabilities),
        defaults.prefers_engine,
        defaults.priority,
        defaults.cost_class,
        defaults.timeout_s,
        defaults.attempts_max,
        *columns_of(project.paused),
    )


def _to_record(row: Record) -> ProjectRecord:
    return ProjectRecord(
        project=Project(
            id=ProjectId(row["id"]),
            name=row["name"],
            version=row["version"],
            local_directory=row["local_directory"],
            repo=row["repo"],
            required_capabilities=frozenset(row["required"]),
            job_defaults=_defaults(row),
            paused=standing_in(row, "pause"),
        ),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _defaults(row: Record) -> JobDefaults:
    values = {field.name: row[field.name] for field in fields(JobDefaults)}
    values["priority"] = Priority(values["priority"])
    values["cost_class"] = CostClass(values["cost_class"])
    return JobDefaults(**values)


def _name_taken(project: Project) -> Conflict:
    return Conflict(f"Another project is called {project.name!r}.", name=project.name)
