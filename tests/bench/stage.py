"""The stage of a measurement: a PostgreSQL, a database of its own, a server on it."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from app.runtime.embedded import EmbeddedPostgres, embedded_postgres
from app.store.session import Connection, Database, Limits
from tests.bench.figures import Figure, Processes
from tests.bench.http import Voice
from tests.bench.stock import Stock, client_token, fill, tokens
from tests.support.environment import child_environment
from tests.support.postgres import Databases

_T = TypeVar("_T")

_ROOT = Path(__file__).parents[2]
_STOP_S = 30.0
SERVE = (sys.executable, "-m", "app", "serve", "--port", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much, and how long."""

    warm_up_s: float = 2.0
    measure_s: float = 10.0
    jobs: int = 100_000
    deep: int = 1_000_000
    shallow: int = 1_000
    locks: int = 10_000
    waiting: int = 10_000
    waiting_s: float = 25.0
    samples: int = 2_000
    deep_samples: int = 400
    explains: int = 60
    wakes: int = 400
    submits: int = 100
    swaps: int = 3_000
    churn: int = 1_000_000
    churn_slice: int = 20_000
    pruned: int = 150_000
    repos: int = 0


QUICK = Scale(
    warm_up_s=0.2,
    measure_s=0.8,
    jobs=20_000,
    deep=6_000,
    locks=200,
    waiting=200,
    waiting_s=2.0,
    samples=100,
    deep_samples=60,
    explains=5,
    wakes=20,
    submits=4,
    swaps=200,
    churn=4_000,
    churn_slice=2_000,
    pruned=2_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A coordinator in a process of its own, and who speaks to it."""

    port: int
    processes: Processes
    database_url: str
    voices: Sequence[Voice]
    client_token: str


@dataclass(slots=True, kw_only=True)
class Stage:
    """What sections measure with, and where they leave their figures."""

    postgres: EmbeddedPostgres
    databases: Databases
    scale: Scale
    durable: bool
    say: Callable[[str], None]
    figures: dict[str, Figure] = field(default_factory=dict)

    def add(self, key: str, figure: Figure) -> None:
        """Keep a figure, and say it."""
        self.figures[key] = figure
        self.say(f"  {figure.name}: {figure.value:,.1f} {figure.unit}")

    @contextmanager
    def database(self, stock: Stock) -> Iterator[str]:
        """Make a database and fill it."""
        with self.databases.fresh() as url:
            run(self._filled(url, stock))
            yield url

    @contextmanager
    def fleet(self, stock: Stock, command: Sequence[str] = SERVE) -> Iterator[Fleet]:
        """Serve a database that was made for it."""
        with self.database(stock) as url:
            secrets, client = run(in_database(url, lambda conn: _all_tokens(conn, stock)))
            settings = child_environment(FLEET_DATABASE_URL=url, FLEET_LOG_LEVEL="warning")
            with process(command, settings) as (port, pid):
                yield Fleet(
                    port=port,
                    processes=Processes(server=pid, postmaster=self.postgres.pid),
                    database_url=url,
                    voices=[Voice(name, token) for name, token in secrets.items()],
                    client_token=client,
                )

    async def _filled(self, url: str, stock: Stock) -> None:
        await in_database(url, lambda conn: fill(conn, stock))


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a part that is asynchronous, on the loop that the server has, too."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@contextmanager
def postgres(
    *, durable: bool, options: Mapping[str, str]
) -> Iterator[tuple[EmbeddedPostgres, Databases]]:
    """Run a PostgreSQL with the settings of ``fleet up``, and these."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-bench-"))
    try:
        with embedded_postgres(
            folder / "data", durable=durable, options=options, say=lambda _: None
        ) as server:
            databases = Databases(admin_url=server.url)
            yield server, databases
            databases.drop_templates()
    finally:
        shutil.rmtree(folder)


@contextmanager
def process(command: Sequence[str], environment: dict[str, str]) -> Iterator[tuple[int, int]]:
    """Run a server that says where it serves; yields its port and its process id.

    Yields:
        The port and the process id.

    Raises:
        RuntimeError: it ended before it served.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=_ROOT
    ) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            if not said:
                message = f"{' '.join(command)} ended with {server.wait()}"
                raise RuntimeError(message)
            yield int(said.rstrip().rpartition(":")[2]), server.pid
        finally:
            server.terminate()
            try:
                server.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()


async def in_database(url: str, act: Callable[[Connection], Coroutine[Any, Any, _T]]) -> _T:
    """Do something with a database that has all the time it needs."""
    db = await Database.open(url, Limits(size=1, statement_timeout_s=3600))
    try:
        async with db.connection() as conn:
            return await act(conn)
    finally:
        await db.close()


async def _all_tokens(conn: Connection, stock: Stock) -> tuple[dict[str, str], str]:
    return await tokens(conn, stock.crew), await client_token(conn)
