"""Workflows: pieces of work on their way through their stages."""

from collections.abc import Sequence
from uuid import UUID

from pydantic import BaseModel

from app.sdk.ticks import TICK_WAIT_S
from app.sdk.transport import Call, Params, Transport, key_header, new_key
from app.wire.values import StandingRequest
from app.wire.workflow_ticks import RunReply
from app.wire.workflows import (
    ReviewRequest,
    WorkflowCancel,
    WorkflowCreate,
    WorkflowMove,
    WorkflowPage,
    WorkflowPatch,
    WorkflowReply,
)
from app.workflow import Kind, Review, Status


class Workflows:
    """The calls under ``/workflows``, for ops."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def create(self, workflow: WorkflowCreate, *, key: str | None = None) -> WorkflowReply:
        """Create a workflow, once: the same ``key`` again returns that of the first time."""
        call = Call(
            method="POST",
            path="/workflows",
            body=workflow,
            headers=key_header(key or new_key()),
            repeatable=True,
        )
        return await self._transport.reply(call, WorkflowReply)

    async def get(self, workflow_id: UUID) -> WorkflowReply:
        """Read a workflow."""
        call = Call(method="GET", path=f"/workflows/{workflow_id}", repeatable=True)
        return await self._transport.reply(call, WorkflowReply)

    async def page(
        self,
        *,
        project_id: UUID | None = None,
        kind: Kind | None = None,
        status: Status | None = None,
        processing: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> WorkflowPage:
        """Read one page of workflows, by position."""
        params: Params = {
            "project_id": None if project_id is None else str(project_id),
            "kind": kind,
            "status": status,
            "processing": None if processing is None else str(processing).lower(),
            "cursor": cursor,
            "limit": limit,
        }
        call = Call(method="GET", path="/workflows", params=params, repeatable=True)
        return await self._transport.reply(call, WorkflowPage)

    async def patch(
        self, workflow_id: UUID, patch: WorkflowPatch, *, version: int
    ) -> WorkflowReply:
        """Change a workflow, if it still has the version that the caller read."""
        headers = {"If-Match": f'"{version}"'}
        call = Call(method="PATCH", path=f"/workflows/{workflow_id}", body=patch, headers=headers)
        return await self._transport.reply(call, WorkflowReply)

    async def delete(self, workflow_id: UUID) -> None:
        """Delete a workflow, its job cancelled first."""
        await self._transport.send(Call(method="DELETE", path=f"/workflows/{workflow_id}"))

    async def run(self, workflow_id: UUID) -> RunReply:
        """Ask for its stage to be run, now or as soon as it may."""
        call = Call(method="POST", path=f"/workflows/{workflow_id}/run", wait_s=TICK_WAIT_S)
        return await self._transport.reply(call, RunReply)

    async def review(
        self, workflow_id: UUID, verdict: Review, *, comments: Sequence[str] = ()
    ) -> WorkflowReply:
        """Give a reviewer's verdict: ``approved``, or ``changes_requested`` with comments."""
        body = ReviewRequest.model_validate({"verdict": verdict, "comments": list(comments)})
        return await self._order(workflow_id, "review", body)

    async def merged(self, workflow_id: UUID) -> WorkflowReply:
        """Say that its pull request is merged."""
        return await self._order(workflow_id, "merged")

    async def retry(self, workflow_id: UUID) -> WorkflowReply:
        """Take it back from the person it was left to."""
        return await self._order(workflow_id, "retry")

    async def cancel(self, workflow_id: UUID, *, reason: str | None = None) -> WorkflowReply:
        """End it, its job first."""
        return await self._order(
            workflow_id, "cancel", WorkflowCancel(reason=reason) if reason else None
        )

    async def pause(self, workflow_id: UUID, standing: StandingRequest) -> WorkflowReply:
        """Start nothing of it until somebody resumes it, or until its time."""
        return await self._order(workflow_id, "pause", standing)

    async def resume(self, workflow_id: UUID) -> WorkflowReply:
        """Let it go on."""
        return await self._order(workflow_id, "resume")

    async def move(self, workflow_id: UUID, position: int) -> WorkflowReply:
        """Give it another place in the order."""
        return await self._order(workflow_id, "move", WorkflowMove(position=position))

    async def _order(
        self, workflow_id: UUID, what: str, body: BaseModel | None = None
    ) -> WorkflowReply:
        """Order something that is the same when it is ordered twice."""
        path = f"/workflows/{workflow_id}/{what}"
        call = Call(method="POST", path=path, body=body, repeatable=True)
        return await self._transport.reply(call, WorkflowReply)
