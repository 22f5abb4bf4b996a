"""``fleet up`` as a process: what it writes, how it stops, and that nothing is left of it."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.fleet import Role
from app.sdk import FleetClient
from app.wire.claims import ClaimRequest
from app.wire.factories import FactoryPut
from app.wire.jobs import JobSubmit
from app.wire.tokens import TokenRequest
from tests.support.command import PROGRAM, fleet, fleet_process
from tests.support.environment import child_environment
from tests.support.started import alive, data_dir_of_a_test, fleet_up

SERVES = "serves at"


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with data_dir_of_a_test() as folder:
        yield folder


async def test_up_serves_and_tells_the_other_commands(data_dir: Path) -> None:
    async with fleet_up(data_dir, "--no-ticker") as up:
        url = (await up.until(SERVES)).rpartition(" ")[2]
        path = data_dir / "fleet.json"
        assert path.stat().st_mode & 0o777 == 0o600
        written = json.loads(path.read_bytes())
        assert set(written) == {"url", "database_url", "tokens"}
        assert set(written["tokens"]) == {"ops", "client", "cron"}
        assert written["url"] == url
        assert (await fleet("jobs", "-d", data_dir)).out == "no jobs\n"
        await up.until("/explain?factory_id=")
        for line in up.lines:
            for secret in written["tokens"].values():
                assert secret not in line
        await _paste(up.lines)
        family = up.family()
        assert any("postgres" in each.name() for each in family)
        assert await up.stop() == 0
    assert not alive(family)
    assert up.errors == [] or all("passing through" in line for line in up.errors)
    refused = await fleet("jobs", "-d", data_dir)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "no coordinator answers" in refused.err


async def test_up_does_not_outlive_the_database_that_it_brought(data_dir: Path) -> None:
    async with fleet_up(data_dir, "--no-ticker") as up:
        await up.until(SERVES)
        family = up.family()
        postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)
        assert await up.ended() == 1
    assert any("PostgreSQL ended by itself" in line for line in up.errors)
    assert not alive(family)
    async with fleet_up(data_dir, "--no-ticker") as again:
        await again.until(SERVES)
        assert await again.stop() == 0


async def _paste(lines: list[str]) -> None:
    """Run the ready-made lines as a person would paste them."""
    calls = [line.strip() for line in lines if line.startswith("  ") and "fleet " not in line]
    assert sum("curl" in line for line in calls) >= 3
    shell = await asyncio.create_subprocess_exec(
        *("bash", "-euc", "\n".join(calls)),
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(),
    )
    out, _ = await shell.communicate()
    assert shell.returncode == 0
    assert b'"kind":"hello"' in out.replace(b" ", b"")
    assert b"unauthenticated" not in out


async def test_a_restart_keeps_tokens_and_jobs_and_a_claim_that_waits_does_not_hold_it_up(
    data_dir: Path,
) -> None:
    async with fleet_up(data_dir) as up:
        await up.until(SERVES)
        before = up.file
        async with up.client() as ops:
            job = await ops.jobs.submit(JobSubmit(kind="x", required_capabilities=["moon"]))
        async with up.client() as ops, FleetClient(up.file.url, await _factory(ops)) as f1:
            await f1.factories.put("f1", FactoryPut())
            sent = asyncio.Event()
            wanted = ClaimRequest(factory_id="f1", wait_s=60)
            claim = asyncio.create_task(f1.leases.claim(wanted, on_sent=sent.set))
            await sent.wait()
            await ops.factories.page()
            family = up.family()
            assert await up.stop(signal.SIGINT) == 0
            claim.cancel()
            await asyncio.wait([claim])
        assert not alive(family)
    async with fleet_up(data_dir, port=int(before.url.rpartition(":")[2])) as up:
        await up.until(SERVES)
        assert up.file == before
        async with up.client() as ops:
            assert (await ops.jobs.get(job.id)).kind == "x"


async def _factory(ops: FleetClient) -> str:
    minted = await ops.tokens.create(TokenRequest(role=Role.FACTORY, factory_id="f1"))
    assert minted.token is not None
    return minted.token


async def test_after_a_kill_the_next_start_cleans_up(data_dir: Path) -> None:
    async with fleet_up(data_dir, measured=False) as up:
        await up.until(SERVES)
        before = up.file
        family = up.family()
        await up.stop(signal.SIGKILL)
        assert alive(family)
        async with fleet_up(data_dir) as again:
            await again.until(SERVES)
            assert not alive(family)
            assert again.file.tokens == before.tokens
            async with again.client() as ops:
                assert (await ops.readyz()).ready
            assert await again.stop() == 0


async def test_a_port_in_use_is_said_at_once(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = await fleet_process("up", "--data-dir", data_dir, "--port", port)
    assert done.code == 1
    assert done.err == f"error: port {port} of 127.0.0.1 is in use: choose another with --port\n"
    assert not data_dir.exists()  # noqa: ASYNC240 - a look


async def test_a_data_folder_in_use_is_said_at_once(data_dir: Path) -> None:
    async with fleet_up(data_dir, measured=False) as up:
        await up.until(SERVES)
        done = await fleet_process("up", "--data-dir", data_dir, "--port", 0)
        assert done.code == 1
        assert f"another process runs PostgreSQL in {data_dir}" in done.err
        assert await up.stop() == 0


async def test_serve_is_one_replica_on_a_database_that_is_there(database_url: str) -> None:
    minted = await fleet("token", "create", "--role", "ops", FLEET_DATABASE_URL=database_url)
    serving = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "serve", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(FLEET_DATABASE_URL=database_url),
    )
    assert serving.stdout is not None
    try:
        async with asyncio.timeout(60):
            url = (await serving.stdout.readline()).decode().strip().rpartition(" ")[2]
        async with FleetClient(url, minted.out.strip()) as ops:
            assert (await ops.factories.page()).items == []
        serving.terminate()
        async with asyncio.timeout(60):
            assert await serving.wait() == 0
    finally:
        if serving.returncode is None:
            serving.kill()
