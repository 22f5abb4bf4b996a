"""``fleet`` as a person at a terminal sees it: words in, what it prints and how it ends out."""

import asyncio
import io
import json
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import pytest

from app.__main__ import main
from tests.support.environment import child_environment, unmeasured_environment

PROGRAM = (sys.executable, "-P", "-m", "app")

_ONE_AT_A_TIME = threading.Lock()
_OURS = ("FLEET_URL", "FLEET_TOKEN", "FLEET_DATA_DIR", "FLEET_DATABASE_URL", "FLEET_LOG_LEVEL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was printed
        """Read what it printed as JSON."""
        return json.loads(self.out)


async def fleet(*words: object, stdin: str = "", **environment: str) -> Done:
    """Run a command in a thread of this process, which saves the start of another."""
    return await asyncio.to_thread(_call, [str(word) for word in words], stdin, environment)


async def fleet_process(
    *words: object, cwd: object = None, measured: bool = True, **environment: str
) -> Done:
    """Run a command as a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *(str(word) for word in words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=(child_environment if measured else unmeasured_environment)(**environment),
        cwd=None if cwd is None else str(cwd),
    )
    out, err = await process.communicate()
    return _without_traceback(process.returncode or 0, out.decode(), err.decode())


def _call(words: list[str], stdin: str, environment: dict[str, str]) -> Done:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        _ONE_AT_A_TIME,
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in _OURS:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["fleet", *words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
    return _without_traceback(code, out.getvalue(), err.getvalue())


def _without_traceback(code: int, out: str, err: str) -> Done:
    assert "Traceback" not in out + err
    return Done(code=code, out=out, err=err)
