"""The two gates on coverage, read from the data that the test run left behind.

A file that lies directly in app/ decides and does nothing else, so every branch of it can be
tested with plain values: 100 %. Elsewhere there is a floor, which real tests reach without mocks.
"""

import io
import sys
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).parents[1]
IMPURE = {"__init__.py", "__main__.py", "main.py"}
PURE_PERCENT = 100.0
FLOOR_PERCENT = 85.0


def main() -> int:
    """Print what is not covered and tell by the exit code whether both gates are passed."""
    coverage = Coverage(config_file=str(ROOT / "pyproject.toml"))
    coverage.load()
    pure = sorted(
        str(path.relative_to(ROOT))
        for path in (ROOT / "app").glob("*.py")
        if path.name not in IMPURE
    )
    rest = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "app").rglob("*.py"))]
    gates = [
        ("pure files, branches included", PURE_PERCENT, pure),
        ("everything else", FLOOR_PERCENT, [each for each in rest if each not in pure]),
    ]
    failed = 0
    for name, wanted, files in gates:
        report = io.StringIO()
        percent = coverage.report(file=report, include=files)
        passed = percent >= wanted
        failed += not passed
        print(report.getvalue())
        verdict = "passed" if passed else "FAILED"
        print(f"coverage of {name}: {percent:.2f} %, wanted {wanted:.0f} %: {verdict}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
