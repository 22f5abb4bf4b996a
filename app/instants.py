"""Times that others name: taken in UTC, and only where every part of the service can hold them.

A time of the first or the last year that can be written may lie outside of both in another zone, so
it is the year in UTC that counts. The last one is left free: what is added to a time that was taken
(a wait, a lease, a day) must still be a time.
"""

from datetime import UTC, datetime
from typing import Final

YEARS: Final = range(1970, 9999)


def taken(named: datetime) -> datetime | None:
    """Return a time in UTC; None if it lies outside of :data:`YEARS`, or names no zone."""
    if named.tzinfo is None:
        return None
    try:
        instant = named.astimezone(UTC)
    except OverflowError:
        return None
    return instant if instant.year in YEARS else None
