"""Where the server's time goes while it serves claims: cProfile around the whole process."""

import pstats
import sys
import tempfile
from io import StringIO
from pathlib import Path

from tests.bench.claims import many, one_by_one, usual
from tests.bench.stage import Stage

_FUNCTIONS = 45


def profile(stage: Stage) -> str:
    """Serve claims and completions under the profiler; returns its functions by own time.

    The profiler makes calls dearer than they are, small ones most of all: it is good for a ranking,
    not for a figure.
    """
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        found = Path(folder) / "profile"
        command = [sys.executable, "-m", "tests.bench.profiled_server", str(found)]
        with stage.fleet(usual(stage.scale), command) as fleet:
            measured = many(stage.scale, fleet, one_by_one)
        rate = measured.requests("profiled").value
        text = StringIO()
        pstats.Stats(str(found), stream=text).sort_stats("tottime").print_stats(_FUNCTIONS)
    return f"{rate:,.0f} requests/s under the profiler\n{text.getvalue()}"
