"""The day of a repo, by which its daily cap counts.

**The rule.** A day goes from one midnight to the next on the clocks of the repo's time zone, so it
has 23 or 25 hours when they change. A midnight that comes twice starts the day the first time; one
that is skipped starts it at the first moment of the new date. So every run is counted on one day,
and the nights when the clocks change skip or double nothing. Times of day appear nowhere else in
the service: a cooldown is a number of seconds, and what is due is due at an instant.
"""

from datetime import UTC, datetime, time, tzinfo


def day_start(now: datetime, zone: tzinfo) -> datetime:
    """Return when the present day of ``zone`` began; never later than ``now``."""
    midnight = datetime.combine(now.astimezone(zone).date(), time.min, tzinfo=zone)
    start = midnight.astimezone(UTC)
    if start <= now:
        return start
    # Midnight lies inside a gap that began before it: by the clocks after the gap it has been.
    return midnight.replace(fold=1).astimezone(UTC)
