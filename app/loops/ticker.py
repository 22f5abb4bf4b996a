"""The own ticker of ``fleet up``: what cron does elsewhere, through the same door."""

from collections.abc import Callable, Iterator

from app.fleet import Json
from app.loops.every import Every
from app.sdk import FleetClient

_TELLING = frozenset({"started", "merged", "errors", "dispatched"})
"""Members of a report, however deep, that are worth a line in the log."""

_STANDING = frozenset({"free_slots"})
"""Numbers that say how things stand, not what was done."""


def ticker(cron: FleetClient, *, interval_s: float, chance: Callable[[], float]) -> Every:
    """Make the loop that calls ``POST /tick`` and logs what each part of it counted."""

    async def act() -> dict[str, int]:
        report = await cron.ticks.run()
        counts: dict[str, int] = {}
        for name, part in report.items():
            for what, count in _counted(part):
                counts[f"{name}.{what}"] = counts.get(f"{name}.{what}", 0) + count
        return counts

    return Every(name="tick", interval_s=interval_s, act=act, chance=chance)


def _counted(part: Json, name: str = "") -> Iterator[tuple[str, int]]:
    """Find the numbers of a report, and count what was done: lists as they are long, words as one.

    ``name`` is the member of the report that ``part`` is.
    """
    if isinstance(part, dict):
        for member, value in part.items():
            if not isinstance(value, int):
                yield from _counted(value, member)
            elif member not in _STANDING:
                yield member, value
    elif name in _TELLING and part is not None:
        yield name, len(part) if isinstance(part, list) else 1
    elif isinstance(part, list):
        for each in part:
            yield from _counted(each)
