"""Explanations: what a factory would get, and why a job is (not) taken."""

from uuid import UUID

from app.sdk.transport import Call, Transport
from app.wire.decisions import DecisionReply
from app.wire.explain import FactoryExplanationReply
from app.wire.explain_job import JobExplanationReply
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

    async def decision(self, decision_id: UUID) -> DecisionReply:
        """Read what a past claim was decided on."""
        call = Call(method="GET", path=f"/explain/decisions/{decision_id}", repeatable=True)
        return await self._transport.reply(call, DecisionReply)
