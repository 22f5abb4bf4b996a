"""Real runs: a factory as a process, with an agent that ships, on a real git repository."""

import asyncio
import json
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.command import PROGRAM
from tests.support.environment import child_environment

AGENTS = Path(__file__).parents[2] / "deploy" / "examples"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words],  # noqa: S607 - whichever git there is
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@asynccontextmanager
async def working(data_dir: Path, command: str) -> AsyncIterator[Process]:
    """Run a factory that does its jobs by a command."""
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "factory", "run", "--id", "f1", "--data-dir", str(data_dir), "--json"),
        *("--exec", command),
        stdout=PIPE,
        env=child_environment(),
    )
    try:
        yield process
    finally:
        process.terminate()
        assert process.stdout is not None
        await process.stdout.read()
        await process.wait()


async def until(process: Process, event: str) -> dict[str, Any]:
    """Wait for what the factory reports."""
    assert process.stdout is not None
    told: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        while line := await process.stdout.readline():
            told.append(json.loads(line))
            if told[-1]["event"] == event:
                return told[-1]
            assert told[-1]["event"] != "failed", told[-1]
    message = f"it ended before {event}: {told}"
    raise AssertionError(message)
