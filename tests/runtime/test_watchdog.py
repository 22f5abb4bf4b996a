"""A killed process leaves no command behind: real processes, and a real ``kill -9``."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from app.runtime.children import Command, run_command
from app.runtime.watchdog import Watchdog
from tests.support.environment import child_environment

# Runs one command that starts a child, and says which processes there are.
_HOLDER = """
import asyncio, sys
from app.runtime.children import Command, run_command
from app.runtime.watchdog import Watchdog
with Watchdog(kill_after_s=0.5) as watchdog:
    command = Command(argv=[sys.executable, "-c", sys.argv[1]], environment={})
    asyncio.run(run_command(command, watchdog))
"""
_COMMAND = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.{deafness})
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({ready!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)  # until it is killed
"""


@asynccontextmanager
async def holder(ready: Path, *, deaf: bool) -> AsyncIterator[list[psutil.Process]]:
    """A process that runs a command: it, its watchdog, the command and the command's child."""
    os.mkfifo(ready)
    command = _COMMAND.format(deafness="SIG_IGN" if deaf else "SIG_DFL", ready=str(ready))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HOLDER, command, env=child_environment()
    )
    pids = [int(pid) for pid in (await asyncio.to_thread(ready.read_text)).split()]
    watchdog = psutil.Process(process.pid).children()
    family = [*watchdog, *(psutil.Process(pid) for pid in pids if pid not in _pids(watchdog))]
    process.send_signal(signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    yield family
    for each in family:
        if each.is_running():
            each.kill()


def _pids(processes: list[psutil.Process]) -> set[int]:
    return {each.pid for each in processes}


async def test_whoever_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    async with holder(tmp_path / "ready", deaf=False) as family:
        assert len(family) == 3
        assert await asyncio.to_thread(_ended, family) == []


async def test_a_command_that_is_deaf_is_killed(tmp_path: Path) -> None:
    async with holder(tmp_path / "ready", deaf=True) as family:
        assert await asyncio.to_thread(_ended, family) == []


def _ended(family: list[psutil.Process]) -> list[psutil.Process]:
    """Wait for their ends; returns those that live on. One that nobody reaped is dead, too."""
    _, left = psutil.wait_procs(family, timeout=15)
    return [each for each in left if each.status() != psutil.STATUS_ZOMBIE]


async def test_a_group_that_ended_is_not_ended_again() -> None:
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import time; time.sleep(600)", start_new_session=True
    )
    with (
        Watchdog(kill_after_s=0) as watchdog,
        watchdog.watching(victim.pid),
        watchdog.watching(2**22 + 1),
    ):
        pass
    # Its pipe was closed, it was waited for, and it did not touch what it was told is over.
    assert victim.returncode is None
    victim.kill()
    await victim.wait()


async def test_work_goes_on_without_a_watchdog() -> None:
    with Watchdog() as watchdog:
        (process,) = (
            each
            for each in psutil.Process().children()
            if "watchdog.sh" in " ".join(each.cmdline())
        )
        process.kill()
        await asyncio.to_thread(process.wait)
        command = Command(argv=[sys.executable, "-c", "print('done')"], environment={})
        assert (await run_command(command, watchdog)).stdout == "done\n"
