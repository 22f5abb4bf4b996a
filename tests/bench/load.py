"""Load: scripts, one per connection, for a time or until they end."""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from tests.bench.figures import Figure, Processes, percentile
from tests.bench.http import Answer, Exchange, Script

_CONNECT_AT_ONCE = 200
_GRACE_S = 5.0


async def _at_once() -> None:
    """Do not wait between the first requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long: what is answered during the warm-up does not count."""

    warm_up_s: float = 0.0
    measure_s: float = 600.0


@dataclass(slots=True, kw_only=True)
class Tally:
    """What scripts write down; emptied when the warm-up is over."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    jobs: int = 0
    dry: bool = False
    empty_handed: int = 0
    """How often a completion should have brought the next jobs, did not, and a claim then did."""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def samples(self, name: str) -> list[float]:
        """The list that a script adds its times to."""
        return self.seconds.setdefault(name, [])

    def run_dry(self) -> None:
        """Say that there is nothing left to do: the measurement ends here."""
        self.dry = True
        self.over.set()

    def restart(self) -> None:
        for each in self.seconds.values():
            each.clear()
        self.jobs = 0
        self.empty_handed = 0


class Load:
    """Scripts at work, each on a connection of its own."""

    def __init__(self, port: int, over: asyncio.Event) -> None:
        self._port = port
        self._over = over
        self._exchanges: list[Exchange] = []
        self._unfinished = 0
        self._ended = asyncio.Event()
        self._stopped = False
        self._error: Exception | None = None

    async def begin(
        self,
        scripts: Sequence[Script],
        between: Callable[[], Coroutine[Any, Any, None]] = _at_once,
    ) -> None:
        """Connect everybody and let everybody send, 200 at once; ``between`` sets the pace."""
        self._unfinished = len(scripts)
        for first in range(0, len(scripts), _CONNECT_AT_ONCE):
            chunk = scripts[first : first + _CONNECT_AT_ONCE]
            exchanges = await asyncio.gather(*map(self._connect, chunk))
            self._exchanges += exchanges
            for exchange, script in zip(exchanges, chunk, strict=True):
                exchange.send(next(script))
            await between()

    async def stop(self, *, grace_s: float = 0.0) -> None:
        """Ask nothing more, await what is under way for so long, and hang up.

        Raises:
            Exception: what went wrong in a script or on a connection.
        """
        self._stopped = True
        if self._error is None:
            await set_within(self._ended, grace_s)
        for each in self._exchanges:
            each.close()
        if self._error is not None:
            raise self._error

    async def _connect(self, script: Script) -> Exchange:
        def answered(answer: Answer) -> None:
            if self._stopped:
                self._finished()
                return
            try:
                exchange.send(script.send(answer))
            except StopIteration:
                exchange.close()
                self._finished()
            except Exception as error:  # noqa: BLE001 - told to whoever measures
                self._failed(error)

        exchange = Exchange(answered, self._failed)
        await asyncio.get_running_loop().create_connection(
            lambda: exchange, "127.0.0.1", self._port
        )
        return exchange

    def _finished(self) -> None:
        self._unfinished -= 1
        if not self._unfinished:
            self._over.set()
            self._ended.set()

    def _failed(self, error: Exception) -> None:
        self._error = self._error or error
        self._over.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a load came to."""

    tally: Tally
    elapsed_s: float
    shares: dict[str, float]

    def requests(self, name: str, *notes: str) -> Figure:
        """Count requests."""
        everything = [each for samples in self.tally.seconds.values() for each in samples]
        return self._figure(name, len(everything), "requests/s", everything, notes)

    def jobs(self, name: str, *notes: str) -> Figure:
        """Count jobs."""
        everything = [each for samples in self.tally.seconds.values() for each in samples]
        return self._figure(name, self.tally.jobs, "jobs/s", everything, notes)

    def only(self, name: str, which: str, *notes: str) -> Figure:
        """Count the requests of one kind."""
        samples = self.tally.seconds[which]
        return self._figure(name, len(samples), f"{which}s/s", samples, notes)

    def _figure(
        self, name: str, count: int, unit: str, samples: Sequence[float], notes: tuple[str, ...]
    ) -> Figure:
        assert samples, f"nothing was answered: {name}"
        if self.tally.dry:
            notes = (*notes, f"the queue ran dry after {self.elapsed_s:.2f} s")
        if self.tally.empty_handed:
            missed = f"claim_next brought nothing {self.tally.empty_handed} times, a claim then did"
            notes = (*notes, missed)
        return Figure(
            name=name,
            value=count / self.elapsed_s,
            unit=unit,
            p50_ms=percentile(samples, 0.50) * 1e3,
            p99_ms=percentile(samples, 0.99) * 1e3,
            shares=self.shares,
            notes=notes,
        )


async def drive(
    port: int,
    processes: Processes,
    timing: Timing,
    scripts: Callable[[Tally], Sequence[Script]],
) -> Measured:
    """Put a load on a server and measure; ends early when the scripts do, or run dry."""
    tally = Tally()
    load = Load(port, tally.over)
    gc.collect()
    gc.disable()
    try:
        await load.begin(scripts(tally))
        if timing.warm_up_s and await set_within(tally.over, timing.warm_up_s):
            message = "nothing is left to measure after the warm-up: give it more jobs"
            raise RuntimeError(message)
        tally.restart()
        before = processes.read()
        begun = perf_counter()
        await set_within(tally.over, timing.measure_s)
        # A window in which nothing was answered tells nothing: it is made longer.
        while not (tally.over.is_set() or all(tally.seconds.values())):
            await set_within(tally.over, timing.measure_s)
        elapsed_s = perf_counter() - begun
        after = processes.read()
    finally:
        gc.enable()
        await load.stop(grace_s=_GRACE_S)
    return Measured(tally=tally, elapsed_s=elapsed_s, shares=before.shares_until(after))


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, but not longer; tells whether it came."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
