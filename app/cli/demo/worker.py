"""The command that the demo's factories run for each job: ``python -m app.cli.demo.worker``.

It is an ordinary command of ``fleet factory run --exec``: the payload comes on standard input, the
kind of job in the environment, the clone is the folder it runs in, and the last line it prints is
the result. Results are kept as files too, where the job that sums them up finds them.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.cli.demo import tasks
from app.fleet import JsonObject
from app.runtime.job_environment import job_kind

TASKS: Final[Mapping[str, Callable[[Path], JsonObject]]] = {
    "demo.count_lines": tasks.count_lines,
    "demo.find_todos": tasks.find_todos,
    "demo.collect_tests": tasks.collect_tests,
    "demo.read_history": tasks.read_history,
    "demo.long_functions": tasks.long_functions,
}


def main() -> int:
    """Do the job that the environment names."""
    payload: JsonObject = json.load(sys.stdin)
    kind = job_kind()
    if "reports" not in payload:
        # A job that somebody tries out beside the demo: there is nothing to do but to say so.
        sys.stdout.write(json.dumps({"kind": kind, "heard": payload}) + "\n")
        return 0
    reports = Path(str(payload["reports"]))
    result = _work(kind, payload, reports)
    reports.mkdir(parents=True, exist_ok=True)
    (reports / f"{kind}.json").write_text(json.dumps(result))
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def _work(kind: str, payload: JsonObject, reports: Path) -> JsonObject:
    if kind in TASKS:
        return TASKS[kind](Path.cwd())
    needed = payload["needs"]
    names = [str(each) for each in needed] if isinstance(needed, list) else []
    return tasks.summarise({name: _report(reports, name) for name in names})


def _report(reports: Path, name: str) -> JsonObject:
    found: JsonObject = json.loads((reports / f"{name}.json").read_text())
    return found


if __name__ == "__main__":
    sys.exit(main())
