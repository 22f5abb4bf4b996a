"""Explanations: what a factory would get, and why a job is (not) taken."""

from datetime import datetime
from urllib.parse import quote
from uuid import UUID

from app.sdk.transport import Call, Transport
from app.wire.decisions import DecisionPage, DecisionReply, ReceiptPage
from app.wire.explain import FactoryExplanationReply
from app.wire.explain_job import JobExplanationReply
from app.wire.repos import RepoExplanation
from app.wire.what_if import WhatIfReply, WhatIfRequest
from app.wire.workflow_ticks import WorkflowsExplanation


class Explain:
    """The calls under ``/explain``; a factory may ask about itself."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def factory(
        self, factory_id: str, *, limit: int | None = None
    ) -> FactoryExplanationReply:
        """Ask what a factory's next claim would get, and what is kept from it."""
        params = {"factory_id": factory_id, "limit": limit}
        call = Call(method="GET", path="/explain", params=params, repeatable=True)
        return await self._transport.reply(call, FactoryExplanationReply)

    async def job(self, job_id: UUID, *, factory_id: str | None = None) -> JobExplanationReply:
        """Ask why a job is not running, for all factories or one."""
        call = Call(
            method="GET",
            path=f"/explain/jobs/{job_id}",
            params={"factory_id": factory_id},
            repeatable=True,
        )
        return await self._transport.reply(call, JobExplanationReply)

    async def workflows(self) -> WorkflowsExplanation:
        """Ask why each workflow did, or did not, start, and what the next tick would do."""
        call = Call(method="GET", path="/explain/workflows", repeatable=True)
        return await self._transport.reply(call, WorkflowsExplanation)

    async def repo(self, repo_id: str) -> RepoExplanation:
        """Ask what the last cycle of a repo came to, and what the next would do."""
        path = f"/explain/repos/{quote(repo_id, safe='')}"
        return await self._transport.reply(
            Call(method="GET", path=path, repeatable=True), RepoExplanation
        )

    async def decision(self, decision_id: UUID) -> DecisionReply:
        """Read what a past claim was decided on."""
        call = Call(method="GET", path=f"/explain/decisions/{decision_id}", repeatable=True)
        return await self._transport.reply(call, DecisionReply)

    async def decisions(
        self,
        *,
        job_id: UUID | None = None,
        factory_id: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> DecisionPage:
        """List what claims were decided, the newest first."""
        params = {
            "job_id": None if job_id is None else str(job_id),
            "factory_id": factory_id,
            "since": None if since is None else since.isoformat(),
            "limit": limit,
            "cursor": cursor,
        }
        call = Call(method="GET", path="/explain/decisions", params=params, repeatable=True)
        return await self._transport.reply(call, DecisionPage)

    async def leases(self, job_id: UUID) -> ReceiptPage:
        """Read the receipts of the leases that a job had."""
        call = Call(method="GET", path=f"/explain/jobs/{job_id}/leases", repeatable=True)
        return await self._transport.reply(call, ReceiptPage)

    async def what_if(self, hypothesis: WhatIfRequest) -> WhatIfReply:
        """Ask what would be, if something were otherwise; changes nothing."""
        call = Call(
            method="POST",
            path="/explain/what-if",
            body=hypothesis,
            repeatable=True,
        )
        return await self._transport.reply(call, WhatIfReply)
