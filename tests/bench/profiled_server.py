"""``fleet serve`` under cProfile, but for its imports: ``python -m tests.bench.profiled_server F``.

Its profile is written to the file ``F`` when it is told to stop.
"""

import cProfile
import sys

from app.launch.replica import serve
from app.runtime.logs import set_up_logs
from app.runtime.settings import Settings

if __name__ == "__main__":
    settings = Settings(port=0)
    set_up_logs(level=settings.log_level, as_json=settings.log_json)
    profiler = cProfile.Profile()
    try:
        profiler.runcall(serve, settings)
    finally:
        profiler.dump_stats(sys.argv[1])
