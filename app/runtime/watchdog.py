"""What ends the commands of jobs when this process is killed, and cannot do it itself.

``kill -9`` and the out-of-memory killer leave no time to end anything. A job's command would work
on beside the one that the next holder of the job starts. So one small process, a dozen lines of
shell, holds the other end of a pipe. It is told the process group of each command, and the end of
the pipe, which only our death (or our leaving) brings about, tells it to end those that are left:
SIGTERM, a moment, SIGKILL.

Why not ``prctl(PR_SET_PDEATHSIG)``: it reaches the command and none of what that started (the agent
under ``agent.sh``), is dropped where a command changes its user, exists on Linux alone, and has to
be set between fork and exec, where Python may run nothing safely. The price of the pipe: whoever is
killed in the milliseconds between the start of a command and its being told leaves that one behind;
so does a command that leaves its group, or a watchdog that is killed at the same moment.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging import getLogger
from pathlib import Path
from typing import Final, Self

_LOG: Final = getLogger(__name__)
_POLLS_PER_S: Final = 10

_SCRIPT: Final = Path(__file__).with_name("watchdog.sh")


class Watchdog:
    """Ends process groups that are left when this process is gone; a context manager."""

    def __init__(self, *, kill_after_s: float = 5.0) -> None:
        """Prepare; ``kill_after_s`` is how long groups may take to end once they were asked to."""
        self._polls = round(kill_after_s * _POLLS_PER_S)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it, away from our terminal, whose Ctrl-C is not for it."""
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", str(_SCRIPT), str(self._polls)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            _LOG.warning("commands of jobs would outlive a kill -9 of this process: %s", error)
        return self

    def __exit__(self, *error: object) -> None:
        """Let it end: it has nothing to do if all groups were ended before."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()

    @contextmanager
    def watching(self, group: int) -> Iterator[None]:
        """Have a process group ended if we are gone before this is over."""
        self._say(f"+ {group}\n")
        try:
            yield
        finally:
            self._say(f"- {group}\n")

    def _say(self, line: str) -> None:
        if self._process is None or self._process.stdin is None:
            return
        # A watchdog that somebody killed cannot be told; the work goes on.
        with suppress(BrokenPipeError):
            self._process.stdin.write(line.encode())
