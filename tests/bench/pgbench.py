"""The floors for the database: the bare compare-and-swap, by pgbench and by nothing else.

Two tables are swapped in. The *bare* one has the columns that a swap needs, and no index but its
key: the least that a compare-and-swap can cost, and the floor that targets are held to. The *real*
one is ``job`` as the service has it, whose indexes every claim and every completion must change.
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.runtime.binaries import binaries_dir
from tests.bench.figures import Figure, percentile

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Swaps:
    """What each of so many clients does so many times, each time with another row."""

    name: str
    script: str
    clients: int
    each: int
    unit: str = "swaps/s"
    timed: bool = False
    """Whether single swaps are timed, too; that costs pgbench a little."""


def pgbench(url: str, swaps: Swaps) -> Figure:
    """Run pgbench and read what it says."""
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        flags = [
            "--no-vacuum", "--protocol=prepared", f"--file={SCRIPTS / swaps.script}",
            f"--client={swaps.clients}", f"--jobs={min(2, swaps.clients)}",
            f"--transactions={swaps.each}", "--define=i=0", f"--define=each={swaps.each}",
        ]  # fmt: skip
        if swaps.timed:
            flags += ["--log", f"--log-prefix={folder}/log"]
        done = subprocess.run(
            [binaries_dir() / "pgbench", *flags, url],
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found = re.search(r"^tps = ([0-9.]+)", done.stdout, re.MULTILINE)
        assert found is not None, done.stdout
        times_ms = [
            int(line.split()[2]) / 1e3
            for log in Path(folder).glob("log.*")
            for line in log.read_text().splitlines()
        ]
    return Figure(
        name=swaps.name,
        value=float(found[1]),
        unit=swaps.unit,
        p50_ms=percentile(times_ms, 0.50) if times_ms else None,
        p99_ms=percentile(times_ms, 0.99) if times_ms else None,
    )
