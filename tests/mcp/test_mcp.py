"""The MCP server in a process of its own, spoken to by the official client over stdio."""

import asyncio
import json
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO
from uuid import UUID

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

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
async def agent(
    data_dir: Path | None,
    *flags: str,
    errors: TextIO = sys.stderr,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Client]:
    program, *words = PROGRAM
    where = [] if data_dir is None else ["-d", str(data_dir)]
    server = StdioServerParameters(
        command=program,
        args=[*words, "mcp", *where, *flags],
        env=child_environment(**environment),
    )
    async with Client(stdio_client(server, errlog=errors)) as client:
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


async def refused(client: Client, tool: str, **arguments: Any) -> str:  # noqa: ANN401
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


async def test_an_agent_is_told_why_it_is_refused_and_nothing_else_is_said(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    coordinator.write_file(tmp_path)
    noise = tmp_path / "noise"
    with noise.open("w") as errors:
        async with agent(tmp_path, "--allow-submit", errors=errors) as client:
            assert client.server_info is not None
            assert client.server_info.version == version("fleet-coordinator")
            assert await refused(client, "explain_factory", factory_id="nobody") == (
                "There is no such thing: No factory is registered as 'nobody'. (not-found, 404)"
            )
            assert await refused(client, "explain_factory", factory_id="a/b") == (
                "The request is not valid: factory_id: must have no slash and no control "
                "character, and no space at either end (invalid-request, 422)"
            )
            assert await refused(client, "explain_job", job_id="7") == (
                "The arguments of explain_job are not valid: job_id: must be an id, which is a UUID"
            )
            assert await refused(client, "submit_job", job={"priority": "huge"}) == (
                "The arguments of submit_job are not valid: job.kind: is required; "
                "job.priority: must be critical, high, normal or low"
            )
            lonely = {"kind": "x", "depends_on": [str(UUID(int=7))]}
            assert "unknown-dependency, 422" in await refused(client, "submit_job", job=lonely)
    assert noise.read_text() == ""


async def test_an_agent_is_told_that_nobody_answers() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        environment = {"FLEET_URL": url, "FLEET_TOKEN": "fleet_none"}
        async with agent(None, errors=sys.stderr, environment=environment) as client:
            said = await refused(client, "explain_factory", factory_id="f1")
    assert said.startswith(f"no coordinator answers at {url}")


async def test_nothing_but_the_protocol_is_on_standard_output(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    coordinator.write_file(tmp_path)
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *("mcp", "-d", str(tmp_path)),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=child_environment(),
    )
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }
    call = {"name": "explain_factory", "arguments": {"factory_id": "nobody"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    assert process.stdin is not None
    assert process.stdout is not None
    lines = "this is no JSON\n" + "".join(json.dumps(each) + "\n" for each in asked)
    process.stdin.write(lines.encode())
    answers = {}
    async with asyncio.timeout(60):
        while 2 not in answers:
            answer = json.loads(await process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
        rest, errors = await process.communicate()
    assert answers[2]["result"]["isError"] is True
    assert (rest, process.returncode) == (b"", 0)
    assert b"Traceback" not in errors


async def test_an_agent_that_may_submits(coordinator: Coordinator, tmp_path: Path) -> None:
    coordinator.write_file(tmp_path)
    async with agent(tmp_path, "--allow-submit") as client:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == READ_ONLY | {"submit_job"}
        job = await told(client, "submit_job", job={"kind": "test"})
        assert job["state"] == "ready"
        assert job["warnings"] == ["No factory is registered. The job waits for one."]
