"""What ``fleet top`` shows, read from the coordinator with a few calls."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from prometheus_client.parser import text_string_to_metric_families

from app.sdk import FleetClient
from app.wire.decisions import DecisionSummary
from app.wire.factories import FactoryReply
from app.wire.jobs import JobReply

PAGE: Final = 500
DEAD_SHOWN: Final = 5

_MINUTE: Final = timedelta(minutes=1)
_PENDING: Final = "fleet_jobs_pending"
_LOOKED_UP_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that runs, and since when, if that is known yet."""

    job: JobReply
    since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The fleet at one moment; ``more`` names the lists that are longer than what was read."""

    at: datetime
    factories: Sequence[FactoryReply]
    running: Sequence[Running]
    pending: dict[str, int]
    claims_per_minute: int
    dead: Sequence[JobReply]
    more: frozenset[str]


@dataclass(slots=True)
class Watch:
    """Reads frame after frame; remembers when running jobs were claimed."""

    fleet: FleetClient
    _claimed: dict[tuple[UUID, int], datetime] = field(default_factory=dict)

    async def frame(self, now: datetime) -> Frame:
        """Read everything once."""
        factories, leased, dead, decided, metrics = await asyncio.gather(
            self.fleet.factories.page(limit=PAGE),
            self.fleet.jobs.page(state="leased", limit=PAGE),
            self.fleet.jobs.page(state="dead", limit=PAGE),
            self.fleet.explain.decisions(since=now - _MINUTE, limit=PAGE),
            self.fleet.metrics(),
        )
        await self._look_up(leased.items, decided.items)
        cursors = {
            "factories": factories.next_cursor,
            "running": leased.next_cursor,
            "dead": dead.next_cursor,
        }
        return Frame(
            at=now,
            factories=factories.items,
            running=[
                Running(job=each, since=self._claimed.get((each.id, each.fence)))
                for each in leased.items
            ],
            pending=pending_of(metrics),
            claims_per_minute=rate_of(decided.items, now, whole=decided.next_cursor is None),
            dead=dead.items,
            more=frozenset(name for name, cursor in cursors.items() if cursor is not None),
        )

    async def _look_up(self, jobs: Sequence[JobReply], decided: Sequence[DecisionSummary]) -> None:
        """Find out when jobs were claimed, a few at a time; forget those that do not run."""
        known = self._claimed | {(each.job_id, each.fence): each.at for each in decided}
        running = [(each.id, each.fence) for each in jobs]
        missing = [each for each in running if each not in known][:_LOOKED_UP_AT_ONCE]
        pages = await asyncio.gather(
            *(self.fleet.explain.decisions(job_id=job_id, limit=1) for job_id, _ in missing)
        )
        known |= {(each.job_id, each.fence): each.at for page in pages for each in page.items}
        self._claimed = {each: known[each] for each in running if each in known}


def pending_of(metrics: str) -> dict[str, int]:
    """Take from the metrics how many jobs wait, by what is in the way first."""
    return {
        sample.labels["reason"]: int(sample.value)
        for family in text_string_to_metric_families(metrics)
        if family.name == _PENDING
        for sample in family.samples
        if sample.value
    }


def rate_of(decided: Sequence[DecisionSummary], now: datetime, *, whole: bool) -> int:
    """Count the claims of the last minute; of a page that is full, go by the time it spans."""
    if whole or not decided:
        return len(decided)
    spans_s = (now - min(each.at for each in decided)).total_seconds()
    return round(len(decided) * _MINUTE.total_seconds() / max(spans_s, 0.1))
