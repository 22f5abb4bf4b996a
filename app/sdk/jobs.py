"""Jobs: submit, read, change, cancel, hold, retry."""

from collections.abc import AsyncIterator, Sequence
from typing import TypedDict, Unpack
from uuid import UUID

from app.sdk.transport import Call, Params, Transport, key_header, new_key
from app.wire.jobs import (
    CancelReply,
    CancelRequest,
    JobBatch,
    JobEventPage,
    JobPage,
    JobPatch,
    JobReply,
    JobSubmit,
    SubmittedBatch,
    SubmittedJob,
)
from app.wire.values import StandingRequest


class JobFilter(TypedDict, total=False):
    """Which jobs to list; ``label`` holds ``name=value`` texts, all of which must fit."""

    state: str | None
    kind: str | None
    repo: str | None
    factory_id: str | None
    label: Sequence[str]
    since: str | None
    until: str | None


class Jobs:
    """The calls under ``/jobs``, for clients and ops."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def submit(self, job: JobSubmit, *, key: str | None = None) -> SubmittedJob:
        """Submit a job, once: the same ``key`` again returns the job of the first time."""
        call = Call(method="POST", path="/jobs", body=job, headers=_once(key), repeatable=True)
        return await self._transport.reply(call, SubmittedJob)

    async def submit_batch(self, batch: JobBatch, *, key: str | None = None) -> SubmittedBatch:
        """Submit jobs together or not at all; they may depend on each other by ``ref``."""
        call = Call(
            method="POST", path="/jobs/batch", body=batch, headers=_once(key), repeatable=True
        )
        return await self._transport.reply(call, SubmittedBatch)

    async def get(self, job_id: UUID) -> JobReply:
        """Read a job."""
        return await self._transport.reply(_read(f"/jobs/{job_id}"), JobReply)

    async def page(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        **which: Unpack[JobFilter],
    ) -> JobPage:
        """Read one page of jobs, newest first."""
        params: Params = {**which, "cursor": cursor, "limit": limit}  # type: ignore[dict-item]
        return await self._transport.reply(_read("/jobs", params), JobPage)

    async def each(self, **which: Unpack[JobFilter]) -> AsyncIterator[JobReply]:
        """Read all jobs, newest first, page by page."""
        cursor = None
        while True:
            page = await self.page(cursor=cursor, **which)
            for job in page.items:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return

    async def events(
        self, job_id: UUID, *, cursor: str | None = None, limit: int | None = None
    ) -> JobEventPage:
        """Read one page of a job's history, oldest first."""
        call = _read(f"/jobs/{job_id}/events", {"cursor": cursor, "limit": limit})
        return await self._transport.reply(call, JobEventPage)

    async def patch(self, job_id: UUID, patch: JobPatch, *, version: int) -> JobReply:
        """Change a job, if it still has the version that the caller read."""
        headers = {"If-Match": f'"{version}"'}
        call = Call(method="PATCH", path=f"/jobs/{job_id}", body=patch, headers=headers)
        return await self._transport.reply(call, JobReply)

    async def cancel(self, job_id: UUID, *, reason: str | None = None) -> CancelReply:
        """Cancel a job; if it is running, its factory is told at its next heartbeat."""
        body = CancelRequest(reason=reason) if reason else None
        call = Call(method="POST", path=f"/jobs/{job_id}/cancel", body=body)
        return await self._transport.reply(call, CancelReply)

    async def hold(self, job_id: UUID, standing: StandingRequest) -> JobReply:
        """Keep a job from being handed out until somebody lifts the hold, or until its time."""
        call = Call(method="POST", path=f"/jobs/{job_id}/hold", body=standing, repeatable=True)
        return await self._transport.reply(call, JobReply)

    async def unhold(self, job_id: UUID) -> JobReply:
        """Lift a hold."""
        return await self._transport.reply(
            Call(method="POST", path=f"/jobs/{job_id}/unhold"), JobReply
        )

    async def retry(self, job_id: UUID) -> JobReply:
        """Give a dead or cancelled job fresh attempts."""
        return await self._transport.reply(
            Call(method="POST", path=f"/jobs/{job_id}/retry"), JobReply
        )


def _once(key: str | None) -> dict[str, str]:
    return key_header(key or new_key())


def _read(path: str, params: Params | None = None) -> Call:
    return Call(method="GET", path=path, params=params or {}, repeatable=True)
