"""Cheap rows: figures of a table that a million jobs went through, beside those of a fresh one.

Jobs are submitted, claimed and completed in batches over HTTP, and forgotten as the lease loop
forgets them, only sooner, until a table has had its hour's worth of churn. Then a second server, on
a database that is like the first was at its beginning, is measured in turn with it: so a neighbour
who disturbs one disturbs the other, too.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import orjson

from app.coordinator import forget
from app.store.session import Connection, Database, Limits
from tests.bench.claims import lone_claims, one_by_one
from tests.bench.figures import Figure, percentile
from tests.bench.floors import CLASSES, CONNECTIONS
from tests.bench.http import Caller, Script, Voice, expected, leases_of, post
from tests.bench.load import Measured, Tally, Timing, drive
from tests.bench.stage import Fleet, Scale, Stage, in_database, run
from tests.bench.stock import Crew, Jobs, Stock, settle, some_classes, submissions

_BATCH = 1_000
_SEATS = 50
_FACTORIES = 8
_OK = 200
_CREATED = 201
_NOTHING = 204
_ROUNDS = 5
_KEPT = timedelta(seconds=5)
_NOW_AND_THEN_S = 1.0
_SIZES = """
select
    c.relname as name,
    pg_relation_size(c.oid) as bytes,
    s.n_tup_upd as updates,
    s.n_tup_hot_upd as hot,
    s.n_dead_tup as dead,
    s.autovacuum_count as vacuums
from pg_class c
left join pg_stat_user_tables s on s.relid = c.oid
where c.relnamespace = 'public'::regnamespace and c.relname ~ '^(ix_|uq_)?(job|decision)'
    and pg_relation_size(c.oid) > 4e6
order by 2 desc
limit 16
"""
_FINISH = """
with done as (
    update job
    set state = 'succeeded', version = 3, fence = 1, holder = 'f00000', claimed_at = now(),
        finished_at = now() - interval '1 hour', attempts = 1
    where state = 'ready' and id in (
        select id from job where state = 'ready' order by created_at limit $1
    )
    returning id, holder
),
told as (
    insert into job_event (job_id, event, factory_id, fence, outcome, claimed_at)
    select id, 'complete', holder, 1, 'succeeded', now() from done
)
insert into decision (id, factory_id, job_id, fence, total, record)
select gen_random_uuid(), holder, id, 1, 1, '{}' from done
"""


def churn(stage: Stage) -> None:
    """Let many jobs go through a table; then measure it in turn with one that is fresh."""
    scale = stage.scale
    stock = Stock(crew=Crew(size=_FACTORIES, seats=_SEATS))
    with stage.fleet(stock) as old:
        through = run(_wear(old, scale.churn, stage.say))
        run(in_database(old.database_url, lambda conn: _say_sizes(conn, stage.say)))
        with stage.fleet(stock) as young:
            rounds = [run(_turn(each, scale)) for _ in range(_ROUNDS) for each in (young, old)]
    for key, name, of in (
        ("churn_young", "a fresh table", rounds[0::2]),
        ("churn_old", f"a table that {through:,} jobs went through", rounds[1::2]),
    ):
        batches = sorted((batch for batch, _ in of), key=lambda each: each.value)
        claims = sorted((claim for _, claim in of), key=lambda each: each.median_ms)
        # The middle of several rounds: one may have met a checkpoint, or a neighbour.
        stage.add(key, _named(batches[len(batches) // 2], f"batches of {_SEATS}, {name}"))
        stage.add(f"{key}_lone", _named(claims[len(claims) // 2], f"  a lone claim, {name}"))


def retention(stage: Stage) -> None:
    """Claim and complete one at a time, with and without a hundred thousand jobs being pruned."""
    scale = stage.scale
    windows = 2 * _ROUNDS
    jobs = Jobs(count=scale.pruned + scale.jobs * 2, classes=some_classes(CLASSES))
    # A window that ends leaves each factory with a job in hand: the next one needs other seats.
    crew = Crew(size=CONNECTIONS, seats=_SEATS)
    with stage.fleet(Stock(jobs=[jobs], crew=crew)) as fleet:
        run(in_database(fleet.database_url, lambda conn: _finish(conn, scale.pruned)))
        quiet, busy, pruned = run(_windows(fleet, scale.measure_s / windows))
    stage.add("retention_quiet", _pooled(f"one at a time, {CONNECTIONS} connections", quiet))
    note = f"{pruned:,} jobs were pruned meanwhile"
    stage.add("retention_busy", _pooled("  the same, with old jobs being pruned", busy, note))


async def _windows(fleet: Fleet, window_s: float) -> tuple[list[Measured], list[Measured], int]:
    """Measure in turn without and with pruning, on the same table."""
    timing = Timing(warm_up_s=window_s / 4, measure_s=window_s)

    def scripts(tally: Tally) -> Sequence[Script]:
        return [one_by_one(tally, voice) for voice in fleet.voices]

    quiet, busy, pruned = [], [], [0]
    for _ in range(_ROUNDS):
        quiet.append(await drive(fleet.port, fleet.processes, timing, scripts))
        async with _forgetting(fleet, timedelta(minutes=30), pruned):
            busy.append(await drive(fleet.port, fleet.processes, timing, scripts))
    return quiet, busy, pruned[0]


async def _wear(fleet: Fleet, count: int, say: Callable[[str], None]) -> int:
    """Let so many jobs go from submission to oblivion."""
    each = min(count, 50_000)
    pruned = [0]
    async with _forgetting(fleet, _KEPT, pruned):
        for turn in range(-(-count // each)):
            done = await _batches(fleet, each, Timing())
            figure = done.jobs("")
            spent = {who: share / figure.value * 1e6 for who, share in figure.shares.items()}
            cost = f"{spent['server']:.0f} µs of the server and {spent['postgres']:.0f} of postgres"
            say(f"    after {turn * each:,}: {figure.value:,.0f} jobs/s, each {cost}")
    say(f"    {pruned[0]:,} of them pruned")
    return -(-count // each) * each


async def _turn(fleet: Fleet, scale: Scale) -> tuple[Figure, Figure]:
    """Measure once: batches, and then claims with nobody else about."""
    async with _forgetting(fleet, _KEPT, [0]):
        batches = (await _batches(fleet, scale.churn_slice, Timing())).jobs("batches")

        def scripts(tally: Tally) -> Sequence[Script]:
            return [lone_claims(tally, fleet.voices[0], scale.deep_samples)]

        await _submit(fleet, scale.deep_samples + 2 * _BATCH)
        alone = await drive(fleet.port, fleet.processes, Timing(), scripts)
        await _batches(fleet, 0, Timing())
    return batches, alone.only("a lone claim", "claim")


async def _batches(fleet: Fleet, count: int, timing: Timing) -> Measured:
    """Submit so many jobs, and then let all factories take and complete them, and any others."""
    await _submit(fleet, count)

    def scripts(tally: Tally) -> Sequence[Script]:
        return [_working(tally, voice) for voice in fleet.voices]

    return await drive(fleet.port, fleet.processes, timing, scripts)


def _working(tally: Tally, voice: Voice) -> Script:
    """Complete 50 and claim 50, until nothing is left; nobody goes with jobs in hand."""
    samples = tally.samples("completion")
    answer = expected((yield voice.claim(max_jobs=_SEATS)), _OK, _NOTHING)
    while answer.status == _OK and (leases := leases_of(answer)):
        answer = expected((yield voice.complete_all(leases, claim_next=_SEATS)), _OK)
        samples.append(answer.seconds)
        tally.jobs += len(leases)
        if not leases_of(answer):
            answer = expected((yield voice.claim(max_jobs=_SEATS)), _OK, _NOTHING)


async def _submit(fleet: Fleet, count: int) -> None:
    caller = await Caller.connect(fleet.port)
    for at in range(0, count, _BATCH):
        jobs = submissions(min(_BATCH, count - at), CLASSES)
        await caller.call(
            post("/jobs/batch", fleet.client_token, orjson.dumps({"jobs": jobs})), expect=_CREATED
        )
    caller.close()


@asynccontextmanager
async def _forgetting(fleet: Fleet, kept: timedelta, pruned: list[int]) -> AsyncIterator[None]:
    """Forget as the lease loop does, as often; only what is kept for a shorter time."""
    db = await Database.open(fleet.database_url, Limits(size=1))
    over = asyncio.Event()

    async def loop() -> None:
        while not over.is_set():
            pruned[0] += await forget.forget(db, kept)
            with suppress(TimeoutError):
                async with asyncio.timeout(_NOW_AND_THEN_S):
                    await over.wait()

    task = asyncio.create_task(loop())
    try:
        yield
    finally:
        over.set()
        await task
        await db.close()


async def _finish(conn: Connection, count: int) -> None:
    await conn.execute(_FINISH, count)
    await settle(conn)


async def _say_sizes(conn: Connection, say: Callable[[str], None]) -> None:
    await conn.execute("select pg_stat_force_next_flush()")
    for row in await conn.fetch(_SIZES):
        line = f"    {row['name']}: {row['bytes'] / 1e6:,.0f} MB"
        if row["updates"] is not None:
            share = row["hot"] / max(1, row["updates"])
            line += f", {share:.0%} of updates in place, {row['dead']:,} dead,"
            line += f" vacuumed {row['vacuums']} times"
        say(line)


def _pooled(name: str, windows: Sequence[Measured], *notes: str) -> Figure:
    """Put the claims of several windows together."""
    samples = [each for one in windows for each in one.tally.seconds["claim"]]
    elapsed_s = sum(one.elapsed_s for one in windows)
    return Figure(
        name=name,
        value=len(samples) / elapsed_s,
        unit="claims/s",
        p50_ms=percentile(samples, 0.50) * 1e3,
        p99_ms=percentile(samples, 0.99) * 1e3,
        notes=notes,
    )


def _named(figure: Figure, name: str) -> Figure:
    return Figure(
        name=name,
        value=figure.value,
        unit=figure.unit,
        p50_ms=figure.p50_ms,
        p99_ms=figure.p99_ms,
        shares=figure.shares,
        notes=figure.notes,
    )
