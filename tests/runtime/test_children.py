"""Commands for jobs: their groups end with them, whatever happens."""

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from app.runtime.children import Command, run_command


def python(source: str, **environment: str) -> Command:
    return Command(argv=[sys.executable, "-c", source], environment=environment)


def assert_gone(pid: int) -> None:
    """A killed process is gone as soon as it is dead, be it reaped or not."""
    try:
        psutil.wait_procs([psutil.Process(pid)], timeout=10)
        assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return


async def test_a_command_gets_its_input_and_environment_and_says_how_it_ended() -> None:
    source = (
        "import os, sys; print(sys.stdin.read() + os.environ['FLEET_JOB_ID']);"
        "print('oops', file=sys.stderr); sys.exit(3)"
    )
    command = Command(
        argv=[sys.executable, "-c", source], stdin=b"in ", environment={"FLEET_JOB_ID": "7"}
    )
    ended = await run_command(command)
    assert (ended.code, ended.stdout, ended.stderr) == (3, "in 7\n", "oops\n")


async def test_our_secrets_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_TOKEN", "fleet_secret")
    monkeypatch.setenv("FLEET_DATABASE_URL", "postgresql://me:secret@db/fleet")
    source = "import os; print([n for n in os.environ if n.startswith('FLEET_')])"
    ended = await run_command(python(source, FLEET_FENCE="1"))
    assert ended.stdout.strip() == "['FLEET_FENCE']"


async def test_only_the_end_of_a_flood_is_kept() -> None:
    ended = await run_command(python("print('x' * 3_000_000); print('the end')"))
    assert ended.stdout.endswith("x\nthe end\n")
    assert len(ended.stdout) <= 262_144


async def test_a_command_that_does_not_read_its_input_is_no_failure() -> None:
    command = Command(
        argv=[sys.executable, "-c", "print('done')"], stdin=b"x" * 2_000_000, environment={}
    )
    assert (await run_command(command)).stdout == "done\n"


async def test_what_a_command_leaves_behind_ends_with_it() -> None:
    source = (
        "import subprocess, sys;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "print(p.pid, flush=True)"
    )
    async with asyncio.timeout(20):
        ended = await run_command(python(source))
    assert_gone(int(ended.stdout))


async def test_cancelling_ends_the_whole_group_even_if_it_is_deaf(tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    source = (
        "import signal, subprocess, sys, os, time;"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"open({str(started)!r}, 'w').write(f'{{os.getpid()}} {{p.pid}}');"
        "time.sleep(600)"
    )
    command = Command(argv=[sys.executable, "-c", source], environment={}, kill_after_s=0.2)
    task = asyncio.create_task(run_command(command))
    pids = [int(pid) for pid in (await asyncio.to_thread(started.read_text)).split()]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for pid in pids:
        assert_gone(pid)


async def test_a_command_that_does_not_exist_is_said_so() -> None:
    with pytest.raises(FileNotFoundError):
        await run_command(Command(argv=["/nowhere/agent"], environment={}))
