"""The MCP server in a process of its own, spoken to by the official client over stdio."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from app.fleet import Priority
from app.wire.claims import ClaimRequest
from app.wire.factories import FactoryPut
from app.wire.jobs import JobSubmit
from tests.support.command import PROGRAM
from tests.support.coordinator import Coordinator, coordinator_on
from tests.support.environment import child_environment

READ_ONLY = {
    "explain_factory",
    "explain_job",
    "explain_pair",
    "what_if",
    "list_decisions",
    "explain_decision",
    "lease_receipts",
}


@pytest.fixture
async def coordinator(database_url: str) -> AsyncIterator[Coordinator]:
    async with coordinator_on(database_url) as running:
        yield running


@asynccontextmanager
async def agent(data_dir: Path, *flags: str) -> AsyncIterator[Client]:
    program, *words = PROGRAM
    server = StdioServerParameters(
        command=program,
        args=[*words, "mcp", "-d", str(data_dir), *flags],
        env=child_environment(),
    )
    async with Client(server) as client:
        yield client


async def told(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    said = answer.structured_content
    assert isinstance(said, dict)
    return said


async def test_an_agent_asks_why_and_changes_nothing(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    coordinator.write_file(tmp_path)
    ops = await coordinator.client()
    f1 = await coordinator.factory("f1")
    await f1.factories.put("f1", FactoryPut())
    first = await ops.jobs.submit(JobSubmit(kind="test", priority=Priority.HIGH))
    stuck = await ops.jobs.submit(JobSubmit(kind="test", required_capabilities=["docker"]))
    async with agent(tmp_path) as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == READ_ONLY
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed.tools)
        factory = await told(client, "explain_factory", factory_id="f1")
        assert factory["ranking"][0]["job_id"] == str(first.id)
        job = await told(client, "explain_job", job_id=str(stuck.id))
        assert job["headline"] == "0 of 1 factory can take it: 1 lacks docker."
        pair = await told(client, "explain_pair", job_id=str(stuck.id), factory_id="f1")
        assert pair["pair"]["instead"] == str(first.id)
        richer = {"factory": {"id": "f1", "capabilities": ["docker"]}}
        what_if = await told(client, "what_if", hypothesis=richer)
        assert len(what_if["factories"]) == 1
        (claim,) = (await f1.leases.claim(ClaimRequest(factory_id="f1"))).claims
        page = await told(client, "list_decisions", factory_id="f1")
        assert page["items"][0]["id"] == str(claim.decision_id)
        shown = await told(client, "explain_decision", decision_id=str(claim.decision_id))
        assert shown["replay"]["identical"] is True
        leases = await told(client, "lease_receipts", job_id=str(first.id))
        assert leases["items"][0]["open"] is True
        missing = await client.call_tool("explain_factory", {"factory_id": "nobody"})
        assert missing.is_error


async def test_an_agent_that_may_submits(coordinator: Coordinator, tmp_path: Path) -> None:
    coordinator.write_file(tmp_path)
    async with agent(tmp_path, "--allow-submit") as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == READ_ONLY | {"submit_job"}
        job = await told(client, "submit_job", job={"kind": "test"})
        assert job["state"] == "ready"
        assert job["warnings"] == ["No factory is registered. The job waits for one."]
