"""``fleet mcp``: explain for agents, over standard input and output.

A client of the SDK like the command line. Read-only by default: the one tool that writes is there
only if whoever starts the server allows it.
"""

from importlib.metadata import version
from typing import Annotated, Any, Final
from uuid import UUID

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from app.sdk import FleetClient, FleetError, Problem
from app.wire.faults import faults_of
from app.wire.jobs import JobSubmit
from app.wire.what_if import WhatIfRequest

INSTRUCTIONS = """\
Asks a fleet coordinator why: what a factory's next claim would get, why a job is (not) running,
what would have to change, what past claims were decided on, and what other weights would do.
Answers come from the functions and the facts that decide. Ids of jobs and decisions are UUIDs,
those of factories are names."""

_DISTRIBUTION: Final = "fleet-coordinator"

_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

FactoryName = Annotated[str, Field(description="The factory's id.")]
JobName = Annotated[UUID, Field(description="The job's id.")]


class FleetServer(MCPServer[Any]):
    """The server; a refusal is an answer that the agent can read and act on, and no crash of it."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool by name.

        Raises:
            ToolError: it was refused; the text says what and why.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            match error.__cause__:
                case ValidationError() as wrong:
                    said = "; ".join(faults_of(wrong))
                    message = f"The arguments of {name} are not valid: {said}"
                    raise ToolError(message) from None
                case FleetError() as refused:
                    raise ToolError(refusal(refused)) from None
            raise


def refusal(error: FleetError) -> str:
    """Say why there is no answer: what sort of problem, what happened, field by field."""
    if not isinstance(error, Problem):
        return str(error)
    return f"{error.body.title}: {error} ({error.slug}, {error.status})"


def make_server(fleet: FleetClient, *, allow_submit: bool) -> MCPServer[Any]:
    """Make the server; ``fleet`` is open for as long as it runs."""
    server = FleetServer(
        name="fleet",
        title="Fleet coordinator",
        version=version(_DISTRIBUTION),
        instructions=INSTRUCTIONS,
        log_level="WARNING",
    )
    _explanations(server, fleet)
    _records(server, fleet)
    if allow_submit:
        _submission(server, fleet)
    return server


def _explanations(server: MCPServer, fleet: FleetClient) -> None:
    @server.tool(annotations=_READS)
    async def explain_factory(
        factory_id: FactoryName,
        limit: Annotated[int, Field(ge=1, le=100, description="How many jobs to rank.")] = 10,
    ) -> dict[str, Any]:
        """What a factory's next claim would get, what it cannot get and why, what it lacks."""
        return _plain(await fleet.explain.factory(factory_id, limit=limit))

    @server.tool(annotations=_READS)
    async def explain_job(job_id: JobName) -> dict[str, Any]:
        """Why a job is, or is not, running: every factory's reasons, its place, what blocks it."""
        return _plain(await fleet.explain.job(job_id))

    @server.tool(annotations=_READS)
    async def explain_pair(job_id: JobName, factory_id: FactoryName) -> dict[str, Any]:
        """Would this factory take this job next; if not, the smallest changes that flip it."""
        return _plain(await fleet.explain.job(job_id, factory_id=factory_id))

    @server.tool(annotations=_READS)
    async def what_if(hypothesis: WhatIfRequest) -> dict[str, Any]:
        """What other weights, a changed factory or a changed job would flip; changes nothing."""
        return _plain(await fleet.explain.what_if(hypothesis))


def _records(server: MCPServer, fleet: FleetClient) -> None:
    @server.tool(annotations=_READS)
    async def list_decisions(
        job_id: Annotated[UUID | None, Field(description="Of this job.")] = None,
        factory_id: Annotated[str | None, Field(description="Of this factory.")] = None,
        limit: Annotated[int, Field(ge=1, le=100, description="How many.")] = 20,
        cursor: Annotated[
            str | None, Field(description="The `next_cursor` of the answer before.")
        ] = None,
    ) -> dict[str, Any]:
        """Past claims, the newest first."""
        found = await fleet.explain.decisions(
            job_id=job_id, factory_id=factory_id, limit=limit, cursor=cursor
        )
        return _plain(found)

    @server.tool(annotations=_READS)
    async def explain_decision(
        decision_id: Annotated[UUID, Field(description="The decision's id.")],
    ) -> dict[str, Any]:
        """What a claim was decided on, and whether today's scheduler decides the same."""
        return _plain(await fleet.explain.decision(decision_id))

    @server.tool(annotations=_READS)
    async def lease_receipts(job_id: JobName) -> dict[str, Any]:
        """The leases that a job had: who had it, by which decision, how each ended."""
        return _plain(await fleet.explain.leases(job_id))


def _submission(server: MCPServer, fleet: FleetClient) -> None:
    @server.tool(annotations=_WRITES)
    async def submit_job(job: JobSubmit) -> dict[str, Any]:
        """Submit a job; `warnings` say if nobody could ever take it."""
        return _plain(await fleet.jobs.submit(job))


def _plain(reply: BaseModel) -> dict[str, Any]:
    return reply.model_dump(mode="json")
