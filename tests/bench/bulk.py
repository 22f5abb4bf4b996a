"""The service's figures for bulk submission, and COPY of the very rows that it made."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from time import perf_counter

import orjson

from app.store.session import Connection
from tests.bench.figures import Figure
from tests.bench.floors import CLASSES
from tests.bench.http import Script, expected, post
from tests.bench.load import Tally, Timing, drive
from tests.bench.stage import Fleet, Stage, in_database, run
from tests.bench.stock import Crew, Stock, settle, submissions

BATCH = 1_000
_CREATED = 201
_WARM_UP_BATCHES = 4
_SIDE_BY_SIDE = 4
_COPIED = ("job_class", "job")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows of a table, as COPY gives and takes them."""

    table: str
    data: bytes


def bulk(stage: Stage) -> None:
    """Submit jobs 1,000 at a time; then copy the rows that came of it into an empty database."""
    count = stage.scale.submits
    with stage.fleet(Stock(crew=Crew(size=1))) as fleet:
        stage.add("bulk", _submit(fleet, count, connections=1))
        rows = run(in_database(fleet.database_url, _read))
    with stage.fleet(Stock(crew=Crew(size=1))) as fleet:
        stage.add("bulk_wide", _submit(fleet, count, connections=_SIDE_BY_SIDE))
    with stage.database(Stock(crew=Crew(size=1))) as url:
        seconds, jobs = run(in_database(url, lambda conn: _copy(conn, rows)))
    stage.add(
        "copy",
        Figure(name=f"COPY of {jobs:,} of these rows at once", value=jobs / seconds, unit="jobs/s"),
    )


def _submit(fleet: Fleet, count: int, *, connections: int) -> Figure:
    jobs = submissions((count + _WARM_UP_BATCHES) * BATCH, CLASSES)
    requests = [
        post("/jobs/batch", fleet.client_token, orjson.dumps({"jobs": jobs[at : at + BATCH]}))
        for at in range(0, len(jobs), BATCH)
    ]

    def scripts(some: Sequence[bytes]) -> Callable[[Tally], Sequence[Script]]:
        return lambda tally: [
            _submitting(tally, some[first::connections]) for first in range(connections)
        ]

    async def measured() -> Figure:
        warm_up, counted = requests[:_WARM_UP_BATCHES], requests[_WARM_UP_BATCHES:]
        await drive(fleet.port, fleet.processes, Timing(), scripts(warm_up))
        done = await drive(fleet.port, fleet.processes, Timing(), scripts(counted))
        side = "1 connection" if connections == 1 else f"{connections} connections"
        return done.jobs(f"bulk submit, {BATCH:,} a request, {side}")

    return run(measured())


def _submitting(tally: Tally, requests: Sequence[bytes]) -> Script:
    samples = tally.samples("submission")
    for request in requests:
        samples.append(expected((yield request), _CREATED).seconds)
        tally.jobs += BATCH


async def _read(conn: Connection) -> list[Rows]:
    rows = []
    for table in _COPIED:
        into = BytesIO()
        await conn.copy_from_table(table, output=into, format="binary")
        rows.append(Rows(table=table, data=into.getvalue()))
    return rows


async def _copy(conn: Connection, rows: Sequence[Rows]) -> tuple[float, int]:
    """Copy the tables in, and time the last; returns the seconds and how many rows it has."""
    *before, last = rows
    for each in before:
        await conn.copy_to_table(each.table, source=BytesIO(each.data), format="binary")
    await settle(conn)
    begun = perf_counter()
    done = await conn.copy_to_table(last.table, source=BytesIO(last.data), format="binary")
    seconds = perf_counter() - begun
    return seconds, int(done.split()[-1])
