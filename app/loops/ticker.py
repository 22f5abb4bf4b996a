"""The own ticker of ``fleet up``: what cron does elsewhere, through the same door."""

from collections.abc import Callable

from app.loops.every import Every
from app.sdk import FleetClient


def ticker(cron: FleetClient, *, interval_s: float, chance: Callable[[], float]) -> Every:
    """Make the loop that calls ``POST /tick`` and logs what each part of it counted."""

    async def act() -> dict[str, int]:
        report = await cron.ticks.run()
        return {
            f"{name}.{what}": count
            for name, part in report.items()
            if isinstance(part, dict)
            for what, count in part.items()
            if isinstance(count, int)
        }

    return Every(name="tick", interval_s=interval_s, act=act, chance=chance)
