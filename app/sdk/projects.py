"""Projects: where workflows do their work."""

from uuid import UUID

from app.sdk.transport import Call, Transport, key_header, new_key
from app.wire.projects import ProjectCreate, ProjectPage, ProjectPatch, ProjectReply
from app.wire.values import StandingRequest


class Projects:
    """The calls under ``/projects``, for ops."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def create(self, project: ProjectCreate, *, key: str | None = None) -> ProjectReply:
        """Create a project, once: the same ``key`` again returns that of the first time."""
        call = Call(
            method="POST",
            path="/projects",
            body=project,
            headers=key_header(key or new_key()),
            repeatable=True,
        )
        return await self._transport.reply(call, ProjectReply)

    async def get(self, project_id: UUID) -> ProjectReply:
        """Read a project."""
        call = Call(method="GET", path=f"/projects/{project_id}", repeatable=True)
        return await self._transport.reply(call, ProjectReply)

    async def page(
        self, *, name: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> ProjectPage:
        """Read one page of projects, the oldest first; only the one of this name, if given."""
        params = {"name": name, "cursor": cursor, "limit": limit}
        call = Call(method="GET", path="/projects", params=params, repeatable=True)
        return await self._transport.reply(call, ProjectPage)

    async def patch(self, project_id: UUID, patch: ProjectPatch, *, version: int) -> ProjectReply:
        """Change a project, if it still has the version that the caller read."""
        headers = {"If-Match": f'"{version}"'}
        call = Call(method="PATCH", path=f"/projects/{project_id}", body=patch, headers=headers)
        return await self._transport.reply(call, ProjectReply)

    async def delete(self, project_id: UUID) -> None:
        """Delete a project whose workflows are all finished."""
        await self._transport.send(Call(method="DELETE", path=f"/projects/{project_id}"))

    async def pause(self, project_id: UUID, standing: StandingRequest) -> ProjectReply:
        """Start nothing of a project until somebody resumes it, or until its time."""
        path = f"/projects/{project_id}/pause"
        call = Call(method="POST", path=path, body=standing, repeatable=True)
        return await self._transport.reply(call, ProjectReply)

    async def resume(self, project_id: UUID) -> ProjectReply:
        """Let a project go on."""
        path = f"/projects/{project_id}/resume"
        return await self._transport.reply(
            Call(method="POST", path=path, repeatable=True), ProjectReply
        )
