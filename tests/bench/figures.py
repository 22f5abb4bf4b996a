"""Figures: what was measured, and how much of the machine each part took meanwhile."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something measured: mostly how often per second, and how long each took."""

    name: str
    value: float
    unit: str
    p50_ms: float | None = None
    p99_ms: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    """Of one core, by who took it: ``client``, ``server``, ``postgres``."""
    notes: tuple[str, ...] = ()

    @property
    def median_ms(self) -> float:
        """The median, where there must be one."""
        assert self.p50_ms is not None, self.name
        return self.p50_ms

    @property
    def late_ms(self) -> float:
        """The 99th percentile, where there must be one."""
        assert self.p99_ms is not None, self.name
        return self.p99_ms

    @property
    def server_us(self) -> float | None:
        """Microseconds of processor time the server spent on each; neighbours disturb it less."""
        if self.unit not in {"requests/s", "jobs/s"} or "server" not in self.shares:
            return None
        return self.shares["server"] / self.value * 1e6


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the smallest sample that at least this share of all does not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Seconds of processor time used so far, by who used them, at a moment."""

    at: float
    used: Mapping[str, float]

    def shares_until(self, later: "Reading") -> dict[str, float]:
        """Which share of one core each took between two readings."""
        elapsed = later.at - self.at
        return {who: (later.used[who] - used) / elapsed for who, used in self.used.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """The processes that take part in a measurement; this one is the client."""

    server: int
    postmaster: int | None = None

    def read(self) -> Reading:
        used = {"client": time.process_time(), "server": _used(psutil.Process(self.server))}
        if self.postmaster is not None:
            # Backends that ended in between are missed; those that do the work last.
            postmaster = psutil.Process(self.postmaster)
            used["postgres"] = sum(_used(each) for each in [postmaster, *postmaster.children()])
        return Reading(at=time.perf_counter(), used=used)

    @property
    def resident_mb(self) -> float:
        """Memory that the server holds."""
        resident: int = psutil.Process(self.server).memory_info().rss
        return resident / 1e6


def _used(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    seconds: float = times.user + times.system
    return seconds
