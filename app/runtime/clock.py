"""The clock of the process.

The clock of the *system* is PostgreSQL's: leases, ages and deadlines compare times that one
database made. What remains for this module is small: stamps people read, and the length of a wait.
"""

import time
from datetime import UTC, datetime


def now_utc() -> datetime:
    """Tell the wall time, aware and in UTC; for log lines and the command line only."""
    return datetime.now(UTC)


def monotonic_s() -> float:
    """Tell seconds since some fixed point; only differences mean anything, and never go back."""
    return time.monotonic()
