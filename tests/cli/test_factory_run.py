"""``fleet factory run`` as a real process: commands, their environment, their end."""

import asyncio
import json
import os
import shlex
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from app.fleet import JobState
from app.sdk import FleetClient
from app.wire.jobs import JobReply, JobSubmit
from tests.support.command import PROGRAM
from tests.support.coordinator import Coordinator
from tests.support.environment import child_environment


@dataclass(slots=True, kw_only=True)
class Factory:
    """A factory's process, and its reports as they come."""

    process: Process
    told: list[dict[str, Any]] = field(default_factory=list)

    async def until(self, event: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while line := await self.process.stdout.readline():
                self.told.append(json.loads(line))
                if self.told[-1]["event"] == event:
                    return self.told[-1]
        message = f"it ended before {event}: {self.told}"
        raise AssertionError(message)

    async def ended(self) -> int:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            await self.process.stdout.read()
            return await self.process.wait()


@asynccontextmanager
async def factory_run(
    data_dir: Path, source: str, *words: object, fleet_id: str = "f1"
) -> AsyncIterator[Factory]:
    """Run a factory whose command is a Python program."""
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "factory", "run", "--id", fleet_id, "--data-dir", str(data_dir), "--json"),
        *("--exec", shlex.join([sys.executable, "-c", source])),
        *(str(word) for word in words),
        stdin=PIPE,
        stdout=PIPE,
        env=child_environment(FLEET_NOISE="ours"),
    )
    try:
        yield Factory(process=process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def submit(coordinator: Coordinator, **fields: Any) -> JobReply:  # noqa: ANN401 - fields
    client = await coordinator.client(coordinator.tokens.client)
    return await client.jobs.submit(JobSubmit(kind="x", **fields))


async def read(coordinator: Coordinator, job: JobReply) -> JobReply:
    fleet: FleetClient = await coordinator.client()
    return await fleet.jobs.get(job.id)


async def test_a_command_gets_the_job_and_its_last_line_is_the_result(
    coordinator: Coordinator, data_dir: Path, tmp_path: Path
) -> None:
    source = (
        "import json, os, sys; payload = json.load(sys.stdin); print('working');"
        "env = {k: v for k, v in os.environ.items() if k.startswith('FLEET_')};"
        "print(json.dumps({'payload': payload, 'env': env, 'cwd': os.getcwd()}))"
    )
    payload = {"cwd": str(tmp_path), "n": 1}
    job = await submit(
        coordinator, repo="acme/web", payload=payload, required_capabilities=["docker"]
    )
    words = ("--capability", "docker", "--engine", "devin", "--cost-ceiling", "low")
    async with factory_run(data_dir, source, *words, "--label", "rack=b2") as factory:
        claimed = await factory.until("claimed")
        assert claimed["score"]["total"] == sum(claimed["score"]["breakdown"].values())
        await factory.until("succeeded")
    done = await read(coordinator, job)
    assert done.result == {
        "payload": payload,
        "cwd": str(tmp_path),
        "env": {
            "FLEET_JOB_ID": str(job.id),
            "FLEET_JOB_KIND": "x",
            "FLEET_JOB_ATTEMPT": "1",
            "FLEET_REPO": "acme/web",
            "FLEET_FENCE": "1",
            "FLEET_FACTORY_ID": "f1",
        },
    }
    found = await (await coordinator.client()).factories.get("f1")
    assert (found.capabilities, found.engines, found.cost_ceiling) == (["docker"], ["devin"], "low")
    assert found.labels == {"rack": "b2"}


async def test_how_a_command_ends_decides_what_becomes_of_the_job(
    coordinator: Coordinator, data_dir: Path
) -> None:
    source = (
        "import json, sys; p = json.load(sys.stdin); print(p['say']);"
        "print('broken', file=sys.stderr); sys.exit(p['code'])"
    )
    plain = await submit(coordinator, payload={"say": "no json", "code": 0})
    failed = await submit(coordinator, payload={"say": "", "code": 3}, max_attempts=1)
    nowhere = await submit(coordinator, payload={"cwd": "/no/such/folder"}, max_attempts=1)
    given_back = await submit(coordinator, payload={"say": "", "code": 75}, priority="low")
    async with factory_run(data_dir, source) as factory:
        await factory.until("succeeded")
        await factory.until("failed")
        await factory.until("failed")
        await factory.until("released")
    assert (await read(coordinator, plain)).result == {"stdout_tail": "no json\n"}
    assert (await read(coordinator, failed)).error == "exit code 3: broken"
    assert (await read(coordinator, nowhere)).error == "/no/such/folder is not a folder on f1"
    # It may have been claimed again already: one attempt fewer than leases is what was given back.
    again = await read(coordinator, given_back)
    assert again.attempts < again.fence


def with_a_child(ready: Path) -> str:
    """Write a program that starts another, and says which processes both are."""
    os.mkfifo(ready)
    return (
        "import os, subprocess, sys, time;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(ready)!r}, 'w').write(f'{{os.getpid()}} {{p.pid}}');"
        "time.sleep(600)"
    )


async def test_a_factory_that_is_killed_leaves_no_command_behind(
    coordinator: Coordinator, data_dir: Path, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    await submit(coordinator)
    async with factory_run(data_dir, with_a_child(ready)) as factory:
        pids = [int(pid) for pid in (await asyncio.to_thread(ready.read_text)).split()]
        assert all(alive(pid) for pid in pids)
        family = [psutil.Process(pid) for pid in pids]
        factory.process.kill()
        assert await factory.ended() == -signal.SIGKILL
        await asyncio.to_thread(psutil.wait_procs, family, timeout=15)
    assert not [pid for pid in pids if alive(pid)]


async def test_sigterm_ends_commands_with_all_they_started_and_gives_jobs_back(
    coordinator: Coordinator, data_dir: Path, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    job = await submit(coordinator)
    async with factory_run(data_dir, with_a_child(ready)) as factory:
        pids = [int(pid) for pid in (await asyncio.to_thread(ready.read_text)).split()]
        factory.process.send_signal(signal.SIGTERM)
        assert await factory.ended() == 0
    assert not [pid for pid in pids if alive(pid)]
    after = await read(coordinator, job)
    assert (after.state, after.attempts) == (JobState.READY, 0)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_factory_leaves_with_whoever_started_it(
    coordinator: Coordinator, data_dir: Path
) -> None:
    job = await submit(coordinator)
    async with factory_run(
        data_dir, "import time; time.sleep(600)", "--until-stdin-closes"
    ) as factory:
        await factory.until("claimed")
        assert factory.process.stdin is not None
        factory.process.stdin.close()
        assert await factory.ended() == 0
    assert (await read(coordinator, job)).state is JobState.READY


async def test_a_restart_uses_the_same_token_as_long_as_it_opens(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    kept = data_dir / "factories" / "f%2B1.token"
    secrets = set()
    for _ in range(2):
        await _start_and_stop(data_dir)
        secrets.add(kept.read_text())
    assert kept.stat().st_mode & 0o777 == 0o600
    tokens = [each async for each in ops.tokens.each() if each.factory_id == "f+1"]
    assert (len(secrets), len(tokens)) == (1, 1)
    await ops.tokens.revoke(tokens[0].id)
    await _start_and_stop(data_dir)
    assert kept.read_text() not in secrets


async def _start_and_stop(data_dir: Path) -> None:
    async with factory_run(data_dir, "", fleet_id="f+1") as factory:
        await factory.until("waiting")
        factory.process.terminate()
        assert await factory.ended() == 0


async def test_a_command_that_is_gone_fails_the_job(
    coordinator: Coordinator, data_dir: Path
) -> None:
    agent = data_dir / "agent"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o700)
    async with factory_run(data_dir, "", "--exec", str(agent)) as factory:
        await factory.until("waiting")
        agent.unlink()
        job = await submit(coordinator, max_attempts=1)
        await factory.until("failed")
    assert (await read(coordinator, job)).error == (
        f"{agent} cannot be started: No such file or directory"
    )
