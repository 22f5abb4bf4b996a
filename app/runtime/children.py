"""Commands run for a job: in a process group of their own, and never left behind.

Whatever the command starts belongs to its group (unless it takes pains to leave it), and the group
ends with the command: when that exits, when the caller is cancelled, when time is up. It is asked
first (SIGTERM) and killed after a moment. A :class:`app.runtime.watchdog.Watchdog` ends it if this
process is killed.

Of what it writes only the end is kept, so that a talkative command cannot fill our memory.
"""

import asyncio
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from app.runtime.watchdog import Watchdog

_CHUNK: Final = 65_536
_KEEP_BYTES: Final = 262_144
_PIPES_S: Final = 2.0
_OURS: Final = "FLEET_"
"""Variables of ours, tokens and database addresses among them, that no command inherits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, and where."""

    argv: Sequence[str]
    stdin: bytes = b""
    environment: Mapping[str, str]
    cwd: Path | None = None
    kill_after_s: float = 5.0
    """How long the group may take to end once it was asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: its exit code (negative: the signal), and the end of its output."""

    code: int
    stdout: str
    stderr: str


async def run_command(command: Command, watchdog: Watchdog | None = None) -> Ended:
    """Run a command to its end; cancelling this ends its whole process group first.

    Args:
        command: what to run.
        watchdog: ends the group if this process is killed meanwhile.

    Raises:
        OSError: it cannot be started.
    """
    # The pipes are ours and not asyncio's: its wait() would wait for whoever inherited them, too.
    with _Tail() as out, _Tail() as err, tempfile.TemporaryFile() as stdin:
        stdin.write(command.stdin)
        stdin.seek(0)
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=stdin,
            stdout=out.entrance,
            stderr=err.entrance,
            cwd=command.cwd,
            env={**inherited(), **command.environment},
            start_new_session=True,
        )
        with watchdog.watching(process.pid) if watchdog else nullcontext():
            await _to_its_end(process, command.kill_after_s, (out, err))
        return Ended(code=process.returncode or 0, stdout=out.text, stderr=err.text)


async def _to_its_end(
    process: asyncio.subprocess.Process, kill_after_s: float, tails: Sequence["_Tail"]
) -> None:
    reading = [asyncio.create_task(each.read()) for each in tails]
    try:
        await process.wait()
    finally:
        await asyncio.shield(_end_group(process, kill_after_s))
        # A process that left the group may hold the pipes open for ever.
        await asyncio.wait(reading, timeout=_PIPES_S)
        for each in reading:
            each.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


def inherited() -> dict[str, str]:
    """Copy our environment without what is ours alone."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


class _Tail:
    """A pipe that is read to its end, and the end of what was read."""

    def __init__(self) -> None:
        exit_, self.entrance = os.pipe()
        self._exit = os.fdopen(exit_, "rb")
        self._kept = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._close_entrance()
        self._exit.close()

    async def read(self) -> None:
        self._close_entrance()
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._exit
        )
        try:
            while chunk := await reader.read(_CHUNK):
                self._kept += chunk
                del self._kept[:-_KEEP_BYTES]
        finally:
            transport.close()

    @property
    def text(self) -> str:
        return self._kept.decode(errors="replace")

    def _close_entrance(self) -> None:
        if self.entrance >= 0:
            os.close(self.entrance)
            self.entrance = -1


async def _end_group(process: asyncio.subprocess.Process, kill_after_s: float) -> None:
    """Ask the group to end, unless its leader has, and kill what is left of it."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(kill_after_s):
                await process.wait()
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()


def _signal_group(leader: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
