"""Projects: create, read, change, pause, remove."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from logging import getLogger
from typing import Any
from uuid import UUID

from app.coordinator.paging import Page, page_of, place
from app.coordinator.standing_until import ahead
from app.errors import Conflict, NotFound, VersionMismatch
from app.fleet import Json, Principal, Standing
from app.runtime.ids import new_id
from app.store import factories, projects
from app.store.projects import ProjectRecord
from app.store.retrying import Moved, settled
from app.store.session import Connection, Database
from app.workflow import Project, ProjectId

__all__ = [
    "ProjectRecord",
    "create_project",
    "edit_project",
    "get_project",
    "list_projects",
    "pause_project",
    "remove_project",
    "resume_project",
]

_LOG = getLogger(__name__)


async def create_project(
    conn: Connection, name: str, settings: Mapping[str, Any], *, by: Principal
) -> ProjectRecord:
    """Create a project; ``settings`` are fields of :class:`app.workflow.Project`.

    Raises:
        Conflict: another has the name.
    """
    project = Project(id=ProjectId(new_id()), name=name, **settings)
    await projects.insert(conn, project)
    _LOG.info("project created", extra={"project_id": str(project.id), "by": by.name})
    return await record_of(conn, project.id)


async def get_project(db: Database, project_id: ProjectId) -> ProjectRecord:
    """Read a project.

    Raises:
        NotFound: there is no such project.
    """
    async with db.connection() as conn:
        return await record_of(conn, project_id)


async def list_projects(
    db: Database, name: str | None, cursor: str | None, limit: int
) -> Page[ProjectRecord]:
    """List projects, the oldest first; only the one of this name, if it is given.

    Raises:
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _project_id)
    async with db.connection() as conn:
        found = await projects.page(conn, after=after, limit=limit + 1, name=name)
    return page_of(found, limit, lambda each: str(each.project.id))


async def edit_project(
    db: Database,
    project_id: ProjectId,
    changes: Mapping[str, Any],
    *,
    if_match: int,
    by: Principal,
) -> ProjectRecord:
    """Change a project at version ``if_match``; jobs that were submitted stay as they are.

    Raises:
        NotFound: there is no such project.
        VersionMismatch: it is at another version (``current_version``).
        Conflict: another project has the name.
    """

    async def once(conn: Connection) -> ProjectRecord:
        before = (await record_of(conn, project_id)).project
        if before.version != if_match:
            detail = f"The project is at version {before.version}, not {if_match}."
            raise VersionMismatch(detail, current_version=before.version)
        return await _write(conn, before, replace(before, **changes))

    del by
    return await settled(db, once)


async def pause_project(
    db: Database, project_id: ProjectId, *, reason: str, until: datetime | None, by: Principal
) -> ProjectRecord:
    """Start nothing of a project; what runs is polled, and a paused head keeps its clone.

    Raises:
        NotFound: there is no such project.
        Invalid: ``until`` is past.
    """
    standing = Standing(reason=reason, by=by.name, until=until)
    return await _change(
        db, project_id, lambda before, now: replace(before, paused=ahead(standing, now))
    )


async def resume_project(db: Database, project_id: ProjectId, *, by: Principal) -> ProjectRecord:
    """Let a project go on.

    Raises:
        NotFound: there is no such project.
    """
    del by  # a resume leaves nothing that could name anybody
    return await _change(db, project_id, lambda before, _now: replace(before, paused=None))


async def remove_project(
    db: Database, project_id: ProjectId, *, by: Principal, if_match: int | None = None
) -> None:
    """Delete a project, and with it what is left of its finished workflows.

    Raises:
        NotFound: there is no such project.
        VersionMismatch: ``if_match`` names another version.
        Conflict: it has workflows that are not finished.
    """
    async with db.transaction() as conn:
        await projects.lock(conn, project_id)
        found = (await record_of(conn, project_id)).project
        if if_match is not None and if_match != found.version:
            detail = "The project has changed since you read it."
            raise VersionMismatch(detail, current_version=found.version)
        left = await projects.unfinished(conn, project_id)
        if left:
            detail = f"{found.name} has {left} workflow(s) that are not finished; cancel them."
            raise Conflict(detail, unfinished=left)
        await projects.remove(conn, project_id)
    _LOG.info("project removed", extra={"project_id": str(project_id), "by": by.name})


async def record_of(conn: Connection, project_id: ProjectId) -> ProjectRecord:
    """Read a project on the caller's connection.

    Raises:
        NotFound: there is no such project.
    """
    record = (await projects.by_ids(conn, [project_id])).get(project_id)
    if record is None:
        detail = f"There is no project {project_id}."
        raise NotFound(detail)
    return record


async def _change(
    db: Database, project_id: ProjectId, decide: Callable[[Project, datetime], Project]
) -> ProjectRecord:
    async def once(conn: Connection) -> ProjectRecord:
        before = (await record_of(conn, project_id)).project
        return await _write(conn, before, decide(before, await factories.now(conn)))

    return await settled(db, once)


async def _write(conn: Connection, before: Project, after: Project) -> ProjectRecord:
    if after != before and not await projects.write(conn, after):
        raise Moved
    return await record_of(conn, before.id)


def _project_id(key: Json) -> ProjectId:
    if not isinstance(key, str):
        raise TypeError
    return ProjectId(UUID(key))
