"""``fleet up`` as a process: started, watched line by line, told to stop."""

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from app.cli.fleet_file import FleetFile
from app.sdk import FleetClient, Retries
from tests.support.command import PROGRAM
from tests.support.environment import child_environment, unmeasured_environment
from tests.support.folders import data_folder

PATIENCE_S = 90


@dataclass(slots=True, kw_only=True)
class Started:
    """A coordinator with everything it brought, and what it said so far."""

    process: Process
    data_dir: Path
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seen: list[psutil.Process] = field(default_factory=list)

    async def until(self, said: str) -> str:
        """Wait for a line that holds these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            while line := (await self.process.stdout.readline()).decode():
                self.lines.append(line.rstrip())
                if said in line:
                    return self.lines[-1]
        message = f"it ended before {said!r}: {self.lines} {self.errors}"
        raise AssertionError(message)

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for the end."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            rest = await self.process.stdout.read()
            self.lines += rest.decode().splitlines()
            return await self.process.wait()

    @property
    def file(self) -> FleetFile:
        """What it wrote for other commands."""
        return FleetFile.model_validate_json((self.data_dir / "fleet.json").read_bytes())

    def client(self) -> FleetClient:
        """Open it as ops."""
        file = self.file
        return FleetClient(file.url, file.tokens.ops, retries=Retries(attempts=1))

    def family(self) -> list[psutil.Process]:
        """List every process that it started, however deep."""
        self.seen = psutil.Process(self.process.pid).children(recursive=True)
        return self.seen


@asynccontextmanager
async def fleet_up(
    data_dir: Path, *words: object, cwd: Path | None = None, port: int = 0, measured: bool = True
) -> AsyncIterator[Started]:
    """Start it; whatever the test does, nothing of it is left afterwards."""
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "up", "--data-dir", str(data_dir), "--port", str(port)),
        *(str(word) for word in words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        cwd=cwd,
        env=child_environment() if measured else unmeasured_environment(),
    )
    started = Started(process=process, data_dir=data_dir)
    reading = asyncio.create_task(_complaints(started))
    try:
        yield started
    finally:
        if process.returncode is None:
            started.family()
            process.kill()
        for each in started.seen:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        await started.ended()
        await reading


@contextmanager
def data_dir_of_a_test() -> Iterator[Path]:
    """Name a data folder that is not there yet."""
    with data_folder() as folder:
        yield folder / "data"


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Tell which of them still run."""
    return [each for each in processes if each.is_running() and _awake(each)]


def _awake(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def _complaints(started: Started) -> None:
    assert started.process.stderr is not None
    while line := await started.process.stderr.readline():
        started.errors.append(line.decode().rstrip())
