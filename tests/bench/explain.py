"""The service's figures for explanations: how long they take, and what they cost who claims."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle

import orjson

from app.coordinator.tokens import mint
from app.fleet import Role
from app.store.session import Connection
from tests.bench.claims import one_by_one
from tests.bench.figures import Figure, percentile
from tests.bench.floors import CLASSES, CONNECTIONS
from tests.bench.http import Caller, Script, expected, get, post
from tests.bench.load import Measured, Tally, Timing, drive, set_within
from tests.bench.stage import Fleet, Scale, Stage, in_database, run
from tests.bench.stock import Crew, Jobs, Stock, job_id, lock_classes, some_classes

REPOS = 200
_OK = 200
_WARM_UP = 3
_LOCKS_HELD = 0.5
_CREW = Crew(size=CONNECTIONS, seats=8)
"""A measurement ends in the middle: each leaves a lease behind at every factory."""
_WARM = """
update factory_pulse
set last_seen_at = now(),
    warm_repos = array(
        select 'acme/repo-' || (substr(factory_id, 2)::int * 31 + place * 7) % $1
        from generate_series(1, 16) as place
        where $1 > 0
    )
where factory_id <> 'holder'
"""
"""Every factory has other warm repos, so that no two of them are alike; of so many, if any."""

Ask = Callable[[int], bytes]


def explain_deep(stage: Stage) -> None:
    """Ask each question of a deep queue, where every factory has other warm repos."""
    scale = stage.scale
    jobs = Jobs(count=scale.deep, classes=some_classes(CLASSES))
    with stage.fleet(Stock(jobs=[jobs], crew=_CREW, repos=REPOS)) as fleet:
        questions = run(in_database(fleet.database_url, lambda conn: _open(conn, scale, REPOS)))
        for key, figure in _each(fleet, scale, questions, f"{scale.deep:,} ready"):
            stage.add(f"explain_{key}", figure)


def explain_beside(stage: Stage) -> None:
    """Claim from a deep queue with, and without, one client that goes on asking, whatever comes.

    Measured without, with, with, without: what drifts meanwhile is shared by both. Nothing is warm,
    so that claims are at their fastest, and have the most to lose.
    """
    scale = stage.scale
    jobs = Jobs(count=scale.deep, classes=some_classes(CLASSES))
    with stage.fleet(Stock(jobs=[jobs], crew=_CREW)) as fleet:
        questions = run(in_database(fleet.database_url, lambda conn: _open(conn, scale, 0)))
        without: list[Measured] = []
        asking: list[Measured] = []
        for measured in (without, asking, asking, without):
            measured.append(_claims(fleet, scale, questions if measured is asking else None))
    stage.add("explain_without", _together("claims, nobody asks", without, "claim"))
    stage.add("explain_asking", _together("claims, one asks without a pause", asking, "claim"))
    stage.add(
        "explain_asked", _together("  what that one is told meanwhile", asking, "explanation")
    )


def explain_locks(stage: Stage) -> None:
    """Ask each question of a queue where every clone has a lock: as many classes as clones."""
    scale = stage.scale
    held = int(scale.locks * _LOCKS_HELD)
    jobs = Jobs(count=scale.deep, classes=lock_classes(scale.locks), held=held, own_repos=True)
    with stage.fleet(Stock(jobs=[jobs], crew=_CREW)) as fleet:
        questions = run(
            in_database(fleet.database_url, lambda conn: _open(conn, scale, scale.locks))
        )
        where = f"{scale.deep:,} ready in {scale.locks:,} lock classes"
        for key, figure in _each(fleet, scale, questions, where):
            stage.add(f"explain_locks_{key}", figure)


async def _open(conn: Connection, scale: Scale, repos: int) -> Mapping[str, Ask]:
    """Make everybody awake and warm; returns the questions, the n-th of each kind by n."""
    await conn.execute(_WARM, repos)
    async with conn.transaction():
        token = (await mint(conn, role=Role.OPS)).secret

    def factory(number: int) -> str:
        return f"f{number % CONNECTIONS:05}"

    def job(number: int) -> str:
        # In the younger half, spread over the classes: nobody claims these meanwhile.
        return job_id(scale.deep // 2 + number * 37 % (scale.deep // 2))

    other = orjson.dumps({"weights": {"affinity": 0}})
    return {
        "factory": lambda number: get(f"/explain?factory_id={factory(number)}", token),
        "job": lambda number: get(f"/explain/jobs/{job(number)}", token),
        "pair": lambda number: get(
            f"/explain/jobs/{job(number)}?factory_id={factory(number)}", token
        ),
        "what_if": lambda _: post("/explain/what-if", token, other),
    }


def _each(
    fleet: Fleet, scale: Scale, questions: Mapping[str, Ask], where: str
) -> Iterator[tuple[str, Figure]]:
    for key, ask in questions.items():
        seconds = run(_some(fleet, ask, scale.explains))
        yield (
            key,
            Figure(
                name=f"explain {key.replace('_', ' ')}, {where}",
                value=1 / percentile(seconds, 0.5),
                unit="explanations/s",
                p50_ms=percentile(seconds, 0.50) * 1e3,
                p99_ms=percentile(seconds, 0.99) * 1e3,
            ),
        )


async def _some(fleet: Fleet, ask: Ask, samples: int) -> list[float]:
    """Ask now and then, as people do: after each answer nothing for as long as it took."""
    caller = await Caller.connect(fleet.port)
    never = asyncio.Event()
    seconds: list[float] = []
    for number in range(_WARM_UP + samples):
        seconds.append((await caller.call(ask(number), expect=_OK)).seconds)
        await set_within(never, 1.5 * seconds[-1])
    caller.close()
    return seconds[_WARM_UP:]


def _claims(fleet: Fleet, scale: Scale, questions: Mapping[str, Ask] | None) -> Measured:
    timing = Timing(warm_up_s=scale.warm_up_s, measure_s=scale.measure_s)

    def scripts(tally: Tally) -> Sequence[Script]:
        asking = [] if questions is None else [_endless(tally, questions)]
        return [*(one_by_one(tally, voice) for voice in fleet.voices), *asking]

    return run(drive(fleet.port, fleet.processes, timing, scripts))


def _endless(tally: Tally, questions: Mapping[str, Ask]) -> Script:
    times = tally.samples("explanation")
    for number, ask in enumerate(cycle(questions.values())):
        times.append(expected((yield ask(number)), _OK).seconds)


def _together(name: str, measured: Sequence[Measured], which: str) -> Figure:
    """Put several measurements into one figure."""
    seconds = {which: [each for one in measured for each in one.tally.seconds[which]]}
    whole = Measured(
        tally=Tally(seconds=seconds, dry=any(one.tally.dry for one in measured)),
        elapsed_s=sum(one.elapsed_s for one in measured),
        shares={
            who: sum(one.shares[who] * one.elapsed_s for one in measured)
            / sum(one.elapsed_s for one in measured)
            for who in measured[0].shares
        },
    )
    return whole.only(name, which)
