"""The report: every figure, every target, for people and as JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from tests.bench.figures import Figure
from tests.bench.targets import Verdict, verdicts

_COLUMNS = "{:<72}{:>11} {:<18}{:>9}{:>9}{:>11}  {}"
_HTTP = ("noop_32", "noop_1", "one", "next", "batch", "lone", "bulk", "bulk_wide")


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Where and how it was measured; load averages of a minute, before and after."""

    cores: int
    python: str
    postgres: str
    durable: bool
    quick: bool
    load_before: float
    load_after: float


def lines(circumstances: Circumstances, figures: Mapping[str, Figure]) -> Iterator[str]:
    """Write the report for people."""
    yield ""
    yield from _where(circumstances)
    yield ""
    yield _COLUMNS.format("figure", "value", "", "p50 ms", "p99 ms", "server µs", "share of a core")
    for figure in figures.values():
        yield _figure(figure)
        yield from (f"    {note}" for note in figure.notes)
    yield ""
    yield from _client(figures)
    yield f"{'target':<78}{'bound':>8}{'value':>10}"
    yield from map(_verdict, verdicts(figures))


def write_json(path: Path, circumstances: Circumstances, figures: Mapping[str, Figure]) -> None:
    """Write the report for programs."""
    content = {
        "circumstances": asdict(circumstances),
        "figures": {
            key: {**asdict(figure), "server_us": figure.server_us}
            for key, figure in figures.items()
        },
        "targets": [asdict(each) for each in verdicts(figures)],
    }
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def _where(circumstances: Circumstances) -> Iterator[str]:
    safe = "safe at a power cut" if circumstances.durable else "fsync off"
    yield (
        f"{circumstances.cores} cores, Python {circumstances.python},"
        f" {circumstances.postgres} ({safe})"
    )
    yield (
        f"load average {circumstances.load_before:.2f} before, {circumstances.load_after:.2f} after"
    )
    if circumstances.quick:
        yield "QUICK: it was seen that everything runs; the figures mean nothing."


def _figure(figure: Figure) -> str:
    p50 = "" if figure.p50_ms is None else f"{figure.p50_ms:.3f}"
    p99 = "" if figure.p99_ms is None else f"{figure.p99_ms:.3f}"
    cost = "" if figure.server_us is None else f"{figure.server_us:,.0f}"
    shares = ", ".join(f"{who} {share:.0%}" for who, share in figure.shares.items())
    value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3f}"
    return _COLUMNS.format(figure.name, value, figure.unit, p50, p99, cost, shares).rstrip()


def _client(figures: Mapping[str, Figure]) -> Iterator[str]:
    """Say how we know that the client did not set the pace."""
    served = [figures[key] for key in _HTTP if key in figures]
    if not served:
        return
    busiest = max(served, key=lambda figure: figure.shares["client"])
    yield (
        f"The client took {busiest.shares['client']:.0%} of a core at most"
        f" ({busiest.name.strip()})."
    )
    counted = [figure for figure in served if figure.unit == "requests/s"]
    if counted and "client" in figures:
        fastest = max(counted, key=lambda figure: figure.value)
        times = figures["client"].value / fastest.value
        yield (
            f"Against fixed bytes it does {times:.1f} times as many requests/s as the fastest"
            f" here ({fastest.name.strip()})."
        )
    yield ""


def _verdict(verdict: Verdict) -> str:
    met = "met" if verdict.met else "NOT MET"
    beside = f"  ({verdict.detail})" if verdict.detail else ""
    return f"{verdict.what:<78}{verdict.target:>8}{verdict.value:>10.2f}  {met}{beside}"
