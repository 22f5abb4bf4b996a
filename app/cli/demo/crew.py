"""The demo's factories: real processes, each in a clone of its own.

Their standard input stays open as long as this process lives; a factory whose input ends leaves in
order. So none of them survives, whatever happens to us.
"""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from app.cli.demo.plan import DemoFactory
from app.cli.errors import CliError
from app.fleet import JsonObject
from app.runtime.children import inherited

_LEAVE_S: Final = 15.0
_LINE_MAX: Final = 1_000_000
_WORKER: Final = shlex.join([sys.executable, "-P", "-m", "app.cli.demo.worker"])


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """A factory of the crew, and what it said last."""

    factory: DemoFactory
    process: asyncio.subprocess.Process
    last: str = ""


@dataclass(slots=True, kw_only=True)
class Crew:
    """All factories of the demo; what they report comes out of one queue."""

    members: list[Member] = field(default_factory=list)
    events: asyncio.Queue[tuple[Member, JsonObject]] = field(default_factory=asyncio.Queue)

    @property
    def waiting(self) -> bool:
        """Whether every factory waits for work."""
        return all(member.last == "waiting" for member in self.members)

    async def next_event(self) -> tuple[Member, JsonObject]:
        """Wait for what happens next at any of them.

        Raises:
            CliError: one of them ended by itself.
        """
        member, event = await self.events.get()
        member.last = str(event["event"])
        if member.last == "gone":
            message = f"the factory {member.factory.name} ended: {event['detail']}"
            raise CliError(message)
        return member, event


@asynccontextmanager
async def hired(
    factories: Sequence[DemoFactory], *, clones: Sequence[Path], data_dir: Path
) -> AsyncIterator[Crew]:
    """Start the factories; at the end of the block they leave in order, or are made to."""
    crew = Crew()
    readers: list[asyncio.Task[None]] = []
    try:
        for factory, clone in zip(factories, clones, strict=True):
            member = Member(factory=factory, process=await _start(factory, clone, data_dir))
            crew.members.append(member)
            readers.append(asyncio.create_task(_read(member, crew.events)))
        yield crew
    finally:
        await asyncio.gather(*(_dismiss(member.process) for member in crew.members))
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)


async def _start(factory: DemoFactory, clone: Path, data_dir: Path) -> asyncio.subprocess.Process:
    words = [
        *("--id", factory.name, "--engine", factory.engine, "--exec", _WORKER, "--cwd", str(clone)),
        *(word for each in factory.capabilities for word in ("--capability", each)),
        *("--cost-ceiling", factory.cost_ceiling, "--data-dir", str(data_dir)),
        *("--json", "--until-stdin-closes"),
    ]
    # -P: a folder named "app" where we happen to be must not be taken for this program.
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "app", "factory", "run", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_MAX,
        env=inherited(),
        start_new_session=True,
    )


async def _read(member: Member, events: asyncio.Queue[tuple[Member, JsonObject]]) -> None:
    out, err = member.process.stdout, member.process.stderr
    if out is None or err is None:
        return
    complaints = asyncio.create_task(err.read())
    while line := await out.readline():
        with suppress(ValueError):
            await events.put((member, json.loads(line)))
    said = (await complaints).decode(errors="replace").strip()
    await events.put((member, {"event": "gone", "detail": said[-500:] or "without a word"}))


async def _dismiss(process: asyncio.subprocess.Process) -> None:
    """Ask a factory to leave, which it does in order; kill it if it stays."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_LEAVE_S):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
