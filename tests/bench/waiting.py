"""The service's figures for factories that wait: how soon they wake, what they cost till then."""

import asyncio
import re
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from time import perf_counter

import orjson

from app.store import session
from app.store.sql import sql
from tests.bench.figures import Figure, percentile
from tests.bench.floors import CLASSES, CONNECTIONS
from tests.bench.http import Caller, Script, Voice, expected, leases_of, post
from tests.bench.load import Load, Tally, set_within
from tests.bench.stage import Fleet, Stage, in_database, postgres, run
from tests.bench.stock import Crew, Stock, submissions

_OK = 200
_CREATED = 201
_NOTHING = 204
_WAIT_S = 60
_BACK_AT_THE_DESK_S = 0.02
_QUIET_SHARE = 0.1
_QUIET_AFTER_S = 40
_STATEMENTS = Path(session.__file__).parent / "statements"
_CONSTANT = re.compile(r"'[^']*'|\$\d+|\b\d+\b|\b(?:true|false|null)\b")
_SIGNATURE_LENGTH = 200
_CLAIMING = ("claim_*", "class_*", "factory_read", "backlog_*")
"""Statements that a claim runs which finds nothing, or something."""


def wake_up(stage: Stage) -> None:
    """Let 32 factories wait, submit a job, and see how soon one of them has it."""
    with stage.fleet(Stock(crew=Crew(size=CONNECTIONS))) as fleet:
        seconds = run(_wake_ups(fleet, stage.scale.wakes))
    stage.add(
        "wake",
        Figure(
            name=f"submit sent to claim answered, {CONNECTIONS} waiting",
            value=1 / percentile(seconds, 0.5),
            unit="wake-ups/s",
            p50_ms=percentile(seconds, 0.50) * 1e3,
            p99_ms=percentile(seconds, 0.99) * 1e3,
        ),
    )


async def _wake_ups(fleet: Fleet, count: int) -> list[float]:
    answered: asyncio.Queue[float] = asyncio.Queue()
    failed = asyncio.Event()
    load = Load(fleet.port, failed)
    submitter = await Caller.connect(fleet.port)
    seconds = []
    try:
        await load.begin([_woken(voice, answered) for voice in fleet.voices])
        for body in submissions(count, CLASSES):
            # Whoever had the last job is waiting again by now.
            if await set_within(failed, _BACK_AT_THE_DESK_S):
                break
            request = post("/jobs", fleet.client_token, orjson.dumps(body))
            sent_at = perf_counter()
            await submitter.call(request, expect=_CREATED)
            async with asyncio.timeout(_WAIT_S):
                seconds.append(await answered.get() - sent_at)
    finally:
        submitter.close()
        await load.stop()
    return seconds


def _woken(voice: Voice, answered: asyncio.Queue[float]) -> Script:
    while True:
        answer = expected((yield voice.claim(wait_s=_WAIT_S)), _OK, _NOTHING)
        if answer.status == _OK:
            answered.put_nowait(perf_counter())
            (lease,) = leases_of(answer)
            expected((yield voice.complete(lease)), _OK)


def waiting(stage: Stage) -> None:
    """Let 10,000 factories wait while nothing is ready, and see what the server does."""
    counting = {
        "shared_preload_libraries": "pg_stat_statements",
        "pg_stat_statements.track_utility": "off",
    }
    with postgres(durable=stage.durable, options=counting) as (server, databases):
        own = replace(stage, postgres=server, databases=databases)
        with own.fleet(Stock(crew=Crew(size=stage.scale.waiting))) as fleet:
            run(_wait(own, fleet, server.url))


async def _wait(stage: Stage, fleet: Fleet, admin_url: str) -> None:
    await in_database(admin_url, lambda conn: conn.execute("create extension pg_stat_statements"))
    probe = await Caller.connect(fleet.port)
    tally = Tally()
    load = Load(fleet.port, tally.over)
    waits, probing = fleet.voices[1:], fleet.voices[0].claim()

    async def keep_pace() -> None:
        await probe.call(probing, expect=_NOTHING)

    try:
        await keep_pace()
        resting_mb = fleet.processes.resident_mb
        begun = perf_counter()
        await load.begin([_parked(voice, tally) for voice in waits], keep_pace)
        await _until_quiet(fleet)
        again = len(tally.samples("wait"))
        before, calls_before = fleet.processes.read(), await _calls(admin_url, fleet)
        left_s = max(1.0, begun + _WAIT_S - perf_counter() - 2)
        await set_within(tally.over, min(stage.scale.waiting_s, left_s))
        after, calls_after = fleet.processes.read(), await _calls(admin_url, fleet)
        waiting_mb = fleet.processes.resident_mb - resting_mb
        again = len(tally.samples("wait")) - again
    finally:
        probe.close()
        await load.stop()
    elapsed_s = after.at - before.at
    rates = {
        name: (calls - calls_before.get(name, 0)) / elapsed_s for name, calls in calls_after.items()
    }
    who = f"{len(waits):,} waiting, nothing ready"
    busy = sorted(((rate, name) for name, rate in rates.items() if rate), reverse=True)
    stage.add(
        "waiting_statements",
        Figure(
            name=who,
            value=sum(rate for name, rate in rates.items() if _is_claiming(name)),
            unit="claim statements/s",
            shares=before.shares_until(after),
            notes=(
                f"over {elapsed_s:.1f} s, in which {again} of them asked again",
                f"{sum(rates.values()):.2f} statements/s in all",
                *(f"{rate:.2f}/s {name}" for rate, name in busy),
            ),
        ),
    )
    share = before.shares_until(after)["server"]
    stage.add("waiting_cpu", Figure(name=f"  {who}: the server", value=share, unit="of a core"))
    stage.add(
        "waiting_memory",
        Figure(name=f"  {who}: memory, more than at rest", value=waiting_mb, unit="MB"),
    )


def _parked(voice: Voice, tally: Tally) -> Script:
    while True:
        answer = yield voice.claim(wait_s=_WAIT_S)
        tally.samples("wait").append(expected(answer, _NOTHING).seconds)


async def _until_quiet(fleet: Fleet) -> None:
    """Wait until everybody has been served once: the server then has nothing to do."""
    never = asyncio.Event()
    async with asyncio.timeout(_QUIET_AFTER_S):
        while True:
            before = fleet.processes.read()
            await set_within(never, 1.0)
            if before.shares_until(fleet.processes.read())["server"] < _QUIET_SHARE:
                return


async def _calls(admin_url: str, fleet: Fleet) -> dict[str, int]:
    """How often each statement has run in the fleet's database, by the name of its file."""
    database: str = await in_database(
        fleet.database_url, lambda conn: conn.fetchval("select current_database()")
    )
    rows = await in_database(
        admin_url,
        lambda conn: conn.fetch(
            "select s.query, s.calls from pg_stat_statements s"
            " join pg_database d on d.oid = s.dbid where d.datname = $1",
            database,
        ),
    )
    names = {_signature(sql(path.stem)): path.stem for path in _STATEMENTS.glob("*.sql")}
    calls: dict[str, int] = {}
    for query, count in rows:
        name = names.get(_signature(query), " ".join(query.split())[:60])
        calls[name] = calls.get(name, 0) + count
    return calls


def _signature(query: str) -> str:
    """Reduce a statement to what PostgreSQL keeps of it: no comment, no constant."""
    code = " ".join(line for line in query.splitlines() if not line.startswith("--"))
    return " ".join(_CONSTANT.sub("?", code).split())[:_SIGNATURE_LENGTH]


def _is_claiming(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _CLAIMING)
