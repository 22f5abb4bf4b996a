"""``fleet factory run``: a factory that runs a command per job.

The command gets the payload as JSON on its standard input, ``FLEET_JOB_ID FLEET_JOB_KIND
FLEET_JOB_ATTEMPT FLEET_REPO FLEET_FENCE FLEET_FACTORY_ID`` in its environment (and no token), and
the payload's ``cwd`` as its folder. Exit code 0 is success, and the last line of its output the
result, if that is JSON; 75 (a temporary failure) gives the job back; anything else is a failed
attempt with the end of its standard error.
"""

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Final

import typer

from app.cli.connection import Connection, DataDir
from app.cli.errors import CliError
from app.cli.factory_flags import (
    Account,
    Capability,
    Ceiling,
    Cwd,
    Engine,
    Exec,
    FactoryId,
    Grace,
    Label,
    LeaseS,
    ReportAsJson,
    Seats,
    UntilStdinCloses,
    WaitS,
    WarmRepo,
)
from app.cli.factory_report import Reporter
from app.cli.factory_token import check_token_source, factory_token
from app.fleet import CostClass, Json
from app.masking import mask
from app.runtime.children import Command, Ended, run_command
from app.runtime.watchdog import Watchdog
from app.sdk import FactoryLoop, FleetClient, GiveBack, JobFailed, LoopOptions
from app.wire.claims import ClaimReply
from app.wire.factories import FactoryPut

factory = typer.Typer(no_args_is_help=True, help="Be a factory, or give orders about one.")

_GIVE_BACK: Final = os.EX_TEMPFAIL
_TAIL: Final = 4_000


@factory.command()
def run(  # noqa: PLR0913 - a flag is an argument
    *,
    factory_id: FactoryId,
    command: Exec,
    capability: Capability = None,
    engine: Engine = None,
    warm_repo: WarmRepo = None,
    cost_ceiling: Ceiling = CostClass.HIGH,
    seats: Seats = 1,
    account: Account = None,
    label: Label = None,
    cwd: Cwd = None,
    lease_s: LeaseS = 60,
    wait_s: WaitS = 50,
    grace: Grace = 0.0,
    until_stdin_closes: UntilStdinCloses = False,
    as_json: ReportAsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Register, claim, run a command per job, heartbeat, report; until SIGTERM or Ctrl-C.

    Told to stop, it claims nothing more, ends the jobs it runs (after --grace) and gives them back.
    """
    argv = _argv(command)
    settings = FactoryPut(
        capabilities=capability or [],
        engines=engine or [],
        warm_repos=warm_repo or [],
        cost_ceiling=cost_ceiling,
        seat_limit=seats,
        account=account,
        labels=_labels(label),
    )
    reporter = Reporter(as_json=as_json)
    options = LoopOptions(lease_s=lease_s, wait_s=wait_s, grace_s=grace, tell=reporter.tell)
    connection = Connection(data_dir)
    check_token_source(connection, factory_id)
    with Watchdog() as watchdog:
        runner = JobRunner(factory_id=factory_id, argv=argv, cwd=cwd, watchdog=watchdog)
        asyncio.run(
            _serve(connection, runner, settings, options, until_stdin_closes=until_stdin_closes)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRunner:
    """Runs the command of a factory for one job after the other."""

    factory_id: str
    argv: Sequence[str]
    watchdog: Watchdog
    cwd: Path | None = None

    async def __call__(self, claim: ClaimReply) -> Json:
        """Run the command for a claimed job; returns the job's result.

        Raises:
            JobFailed: it ended with an error, or could not be started.
            GiveBack: it said that now is not the time.
        """
        job = claim.job
        command = Command(
            argv=self.argv,
            stdin=json.dumps(job.payload).encode(),
            environment=self._environment(claim),
            cwd=self._folder(job.payload.get("cwd")),
        )
        try:
            ended = await run_command(command, self.watchdog)
        except OSError as error:
            message = f"{self.argv[0]} cannot be started: {error.strerror}"
            raise JobFailed(message) from error
        if ended.code == 0:
            return result_of(ended.stdout)
        said = _said(ended)
        if ended.code == _GIVE_BACK:
            raise GiveBack(said)
        raise JobFailed(said)

    def _environment(self, claim: ClaimReply) -> dict[str, str]:
        job = claim.job
        return {
            "FLEET_JOB_ID": str(job.id),
            "FLEET_JOB_KIND": job.kind,
            "FLEET_JOB_ATTEMPT": str(job.attempts),
            "FLEET_REPO": job.repo or "",
            "FLEET_FENCE": str(claim.lease.fence),
            "FLEET_FACTORY_ID": self.factory_id,
        }

    def _folder(self, named: object) -> Path | None:
        if named is None:
            return self.cwd
        folder = Path(str(named)).expanduser()
        if not folder.is_dir():
            message = f"{folder} is not a folder on {self.factory_id}"
            raise JobFailed(message)
        return folder


def result_of(stdout: str) -> Json:
    """Read a result: JSON on the last line, else the end of what was written."""
    lines = stdout.rstrip().rsplit("\n", 1)
    try:
        found: Json = json.loads(lines[-1], parse_constant=_no_constant, parse_float=_finite)
    except ValueError:
        # Masked before it is cut, for half a secret is not recognised.
        return {"stdout_tail": mask(stdout)[-_TAIL:]} if stdout else {}
    return found


async def _serve(
    connection: Connection,
    runner: JobRunner,
    settings: FactoryPut,
    options: LoopOptions,
    *,
    until_stdin_closes: bool,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    working: FactoryLoop | None = None

    def told() -> None:
        if stop.is_set() and working is not None:
            working.hurry()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)
    if until_stdin_closes:
        await _watch_stdin(stop)
    token = await factory_token(connection, runner.factory_id, stop)
    if token is None:
        return
    async with FleetClient(connection.url, token) as fleet:
        working = FactoryLoop(fleet, runner.factory_id, settings, runner, options)
        async with working:
            await working.run(stop)


async def _watch_stdin(stop: asyncio.Event) -> None:
    """Set ``stop`` when standard input ends: whoever held its other end is gone."""

    class Watch(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            del exc
            stop.set()

        def eof_received(self) -> bool:
            return False

    await asyncio.get_running_loop().connect_read_pipe(Watch, sys.stdin)


def _argv(command: str) -> list[str]:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        message = f"--exec: {error}"
        raise CliError(message) from None
    if not argv:
        message = "--exec names no command"
        raise CliError(message)
    if shutil.which(argv[0]) is None:
        # Known now, it need not cost every job an attempt.
        message = f"--exec: there is no command {argv[0]!r}"
        raise CliError(message)
    return argv


def _labels(given: list[str] | None) -> dict[str, str]:
    labels = {}
    for each in given or []:
        name, sign, value = each.partition("=")
        if not (name and sign):
            message = f"--label must be name=value, not {each!r}"
            raise CliError(message)
        labels[name] = value
    return labels


def _said(ended: Ended) -> str:
    """Say how it ended, with the last of what it complained about."""
    how = f"killed by signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
    words = mask(ended.stderr.strip() or ended.stdout.strip())[-_TAIL:]
    return f"{how}: {words}" if words else how


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        message = f"{text} is out of range"
        raise ValueError(message)
    return number


def _no_constant(name: str) -> Json:
    message = f"{name} is not JSON"
    raise ValueError(message)
