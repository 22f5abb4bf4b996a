"""The floors: what the machine does without us, measured just before what it does with us."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from app.store.session import Connection
from tests.bench.figures import Figure, Processes
from tests.bench.http import Script, Voice, expected
from tests.bench.load import Tally, Timing, drive
from tests.bench.pgbench import SCRIPTS, Swaps, pgbench
from tests.bench.stage import Scale, Stage, in_database, process, run
from tests.bench.stock import Crew, Jobs, Stock, settle, some_classes
from tests.support.environment import child_environment

CONNECTIONS = 32
CLASSES = 40

_OK = 200
_STATIC = (sys.executable, "-m", "tests.bench.static_server")
_NOOP = (sys.executable, "-m", "tests.bench.noop_server")
# As long as a real one, which its server does not look at.
_REQUEST = Voice("f00001", "fleet_" + "x" * 66).claim()


def client(stage: Stage) -> None:
    """Measure the client, against a server that costs next to nothing."""
    figure = _posts(stage.scale, _STATIC, _REQUEST, CONNECTIONS)
    stage.add("client", figure("the client alone, against a server of fixed bytes"))


def noop(stage: Stage) -> None:
    """Measure a POST that does nothing, with many connections and with one."""
    request = _REQUEST.replace(b"POST /claim", b"POST /noop", 1)
    figure = _posts(stage.scale, _NOOP, request, CONNECTIONS)
    stage.add("noop_32", figure(f"no-op FastAPI POST, {CONNECTIONS} connections"))
    figure = _posts(stage.scale, _NOOP, request, 1)
    stage.add("noop_1", figure("no-op FastAPI POST, 1 connection"))


def swaps(stage: Stage) -> None:
    """Measure compare-and-swaps by pgbench, on a bare table and on the table of jobs."""
    each = stage.scale.swaps
    for kind, table in (("bare", "a bare table"), ("real", "the job table")):
        claim, pair = f"{kind}_claim.sql", f"{kind}_pair.sql"
        for key, plan in {
            f"swap_1_{kind}": Swaps(
                name=f"pgbench: a swap on {table}, 1 client",
                script=claim, clients=1, each=each, timed=True,
            ),
            f"swap_32_{kind}": Swaps(
                name=f"pgbench: a swap on {table}, {CONNECTIONS} clients",
                script=claim, clients=CONNECTIONS, each=each,
            ),
            f"pair_32_{kind}": Swaps(
                name=f"pgbench: claim and complete on {table}, {CONNECTIONS} clients",
                script=pair, clients=CONNECTIONS, each=each, unit="pairs/s",
            ),
        }.items():  # fmt: skip
            jobs = Jobs(count=plan.clients * plan.each, classes=some_classes(CLASSES))
            with stage.database(Stock(jobs=[jobs], crew=Crew(size=1))) as url:
                if kind == "bare":
                    run(in_database(url, partial(_make_bare, rows=jobs.count)))
                stage.add(key, pgbench(url, plan))
                missed = run(in_database(url, _MISSED[kind]))
            assert not missed, f"{missed} swaps missed their rows"


async def _make_bare(conn: Connection, rows: int) -> None:
    await conn.execute((SCRIPTS / "bare_table.sql").read_text())
    await conn.execute((SCRIPTS / "bare_rows.sql").read_text(), rows)
    await settle(conn)


async def _missed_bare(conn: Connection) -> int:
    counted: int = await conn.fetchval("select count(*) from bare where version = 1")
    return counted


async def _missed_real(conn: Connection) -> int:
    counted: int = await conn.fetchval("select count(*) from job where version = 1")
    return counted


_MISSED = {"bare": _missed_bare, "real": _missed_real}


def _posts(
    scale: Scale, server: Sequence[str], request: bytes, connections: int
) -> Callable[[str], Figure]:
    timing = Timing(warm_up_s=scale.warm_up_s, measure_s=scale.measure_s / 2)

    def scripts(tally: Tally) -> list[Script]:
        return [_posting(tally, request) for _ in range(connections)]

    with process(server, child_environment()) as (port, pid):
        return run(drive(port, Processes(server=pid), timing, scripts)).requests


def _posting(tally: Tally, request: bytes) -> Script:
    samples = tally.samples("post")
    while True:
        samples.append(expected((yield request), _OK).seconds)
