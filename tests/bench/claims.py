"""The service's figures: claims and completions, one at a time, in one call, and in batches."""

from collections.abc import Callable, Generator, Sequence

from tests.bench.figures import Figure
from tests.bench.floors import CLASSES, CONNECTIONS
from tests.bench.http import Answer, Lease, Script, Voice, expected, leases_of
from tests.bench.load import Measured, Tally, Timing, drive
from tests.bench.stage import Fleet, Scale, Stage, run
from tests.bench.stock import Crew, Jobs, Stock, beyond, lock_classes, some_classes

BATCH = 50
BATCH_CONNECTIONS = 8
_BATCH_JOBS = 4
"""How many times more jobs batches get: they take them faster."""

_OK = 200
_NOTHING = 204
_WARM_UP_CLAIMS = 100
_LOCKS_HELD = 0.5


def one_at_a_time(stage: Stage) -> None:
    """Claim a job, complete it, and so on, 32 factories at once."""
    with stage.fleet(usual(stage.scale)) as fleet:
        measured = many(stage.scale, fleet, one_by_one)
    stage.add("one", measured.requests(f"claim, then complete, {CONNECTIONS} connections"))
    stage.add("one_claim", measured.only("  the claims of these", "claim"))
    stage.add("one_complete", measured.only("  the completions of these", "completion"))


def finish_and_take(stage: Stage) -> None:
    """Complete a job and claim the next in the same call, 32 factories at once."""
    with stage.fleet(usual(stage.scale)) as fleet:
        measured = many(stage.scale, fleet, _finishing)
    stage.add("next", measured.jobs(f"complete with claim_next, {CONNECTIONS} connections"))


def batches(stage: Stage) -> None:
    """Complete 50 jobs and claim the next 50 in the same call, 8 factories at once."""
    crew = Crew(size=BATCH_CONNECTIONS, seats=BATCH)
    stock = usual(stage.scale, crew=crew, times=_BATCH_JOBS)
    with stage.fleet(stock) as fleet:
        measured = many(stage.scale, fleet, _in_batches)
    name = f"batches of {BATCH} with claim_next, {BATCH_CONNECTIONS} connections"
    stage.add("batch", measured.jobs(name))


def lone(stage: Stage) -> None:
    """Claim with nobody else about; the completion in between is not timed."""
    stage.add("lone", alone(stage, usual(stage.scale, crew=Crew(size=1)), stage.scale.samples))


def depth(stage: Stage) -> None:
    """Claim alone from queues that differ in depth, classes, locks and what may be taken."""
    scale = stage.scale
    few = some_classes(CLASSES)
    shallow = scale.shallow + (_WARM_UP_CLAIMS + scale.deep_samples) // 2
    for key, name, jobs in (
        ("depth_shallow", f"{scale.shallow:,} ready", [Jobs(count=shallow, classes=few)]),
        ("depth_deep", f"{scale.deep:,} ready", [Jobs(count=scale.deep, classes=few)]),
        (
            "depth_classes",
            f"{scale.deep:,} ready in {10 * CLASSES} classes",
            [Jobs(count=scale.deep, classes=some_classes(10 * CLASSES))],
        ),
        (
            "depth_locks",
            f"{scale.deep:,} ready in {scale.locks:,} lock classes, half of them held",
            [
                Jobs(
                    count=scale.deep,
                    classes=lock_classes(scale.locks),
                    held=int(scale.locks * _LOCKS_HELD),
                )
            ],
        ),
        (
            "depth_ineligible",
            f"{scale.deep:,} ready, all but {scale.shallow:,} not eligible",
            [
                Jobs(count=scale.deep - scale.shallow, classes=beyond(few)),
                Jobs(count=shallow, classes=few),
            ],
        ),
    ):
        stock = Stock(jobs=jobs, crew=Crew(size=1))
        stage.add(key, alone(stage, stock, scale.deep_samples, f"a lone claim, {name}"))


def alone(
    stage: Stage, stock: Stock, samples: int, name: str = "a lone claim, 1 connection"
) -> Figure:
    """Time so many claims of one factory, after some that warm everything up."""
    with stage.fleet(stock) as fleet:

        def scripts(tally: Tally) -> Sequence[Script]:
            return [lone_claims(tally, fleet.voices[0], samples)]

        return run(drive(fleet.port, fleet.processes, Timing(), scripts)).only(name, "claim")


def many(scale: Scale, fleet: Fleet, script: Callable[[Tally, Voice], Script]) -> Measured:
    """Let each factory of a fleet follow a script, for as long as is measured."""
    timing = Timing(warm_up_s=scale.warm_up_s, measure_s=scale.measure_s)

    def scripts(tally: Tally) -> Sequence[Script]:
        return [script(tally, voice) for voice in fleet.voices]

    return run(drive(fleet.port, fleet.processes, timing, scripts))


def one_by_one(tally: Tally, voice: Voice) -> Script:
    """Claim, complete, until nothing is left."""
    claims, completions = tally.samples("claim"), tally.samples("completion")
    claim = voice.claim()
    while True:
        answer = expected((yield claim), _OK, _NOTHING)
        if answer.status == _NOTHING:
            tally.run_dry()
            return
        claims.append(answer.seconds)
        (lease,) = leases_of(answer)
        answer = expected((yield voice.complete(lease)), _OK)
        completions.append(answer.seconds)
        tally.jobs += 1


def _finishing(tally: Tally, voice: Voice) -> Script:
    samples = tally.samples("completion")
    leases = yield from _first(tally, voice, 1)
    while leases:
        answer = expected((yield voice.complete(leases[0], claim_next=1)), _OK)
        samples.append(answer.seconds)
        tally.jobs += 1
        leases = leases_of(answer) or (yield from _empty_handed(tally, voice, 1))


def _in_batches(tally: Tally, voice: Voice) -> Script:
    """Complete 50 and claim 50, until nothing is left."""
    samples = tally.samples("completion")
    leases = yield from _first(tally, voice, BATCH)
    while leases:
        answer = expected((yield voice.complete_all(leases, claim_next=BATCH)), _OK)
        samples.append(answer.seconds)
        tally.jobs += len(leases)
        leases = leases_of(answer) or (yield from _empty_handed(tally, voice, BATCH))


def _first(tally: Tally, voice: Voice, most: int) -> Generator[bytes, Answer, list[Lease]]:
    """Claim; who gets nothing says that the queue is dry."""
    answer = expected((yield voice.claim(max_jobs=most)), _OK, _NOTHING)
    if answer.status == _OK:
        return leases_of(answer)
    tally.run_dry()
    return []


def _empty_handed(tally: Tally, voice: Voice, most: int) -> Generator[bytes, Answer, list[Lease]]:
    """See whether there really was nothing; if there was, that is written down."""
    leases = yield from _first(tally, voice, most)
    if leases:
        tally.empty_handed += 1
    return leases


def lone_claims(tally: Tally, voice: Voice, samples: int) -> Script:
    """Time so many claims, after some that warm everything up."""
    claims = tally.samples("claim")
    claim = voice.claim()
    for number in range(_WARM_UP_CLAIMS + samples):
        answer = expected((yield claim), _OK)
        if number >= _WARM_UP_CLAIMS:
            claims.append(answer.seconds)
        (lease,) = leases_of(answer)
        expected((yield voice.complete(lease)), _OK)


def usual(scale: Scale, *, crew: Crew | None = None, times: int = 1) -> Stock:
    """Stock the queue of most measurements: 100,000 jobs in 40 classes, for 32 factories."""
    jobs = Jobs(count=scale.jobs * times, classes=some_classes(CLASSES))
    return Stock(jobs=[jobs], crew=crew or Crew(size=CONNECTIONS), repos=scale.repos)
