"""Ticks over workflows through PgBouncer in transaction mode, with two connections behind it."""

import asyncio

from app.coordinator.ticking import BUSY
from tests.support.api import fleet_on_port
from tests.support.workflows import workshop


async def test_ten_concurrent_ticks_equal_one_there_too(database_url: str, pooled_url: str) -> None:
    """A tick keeps one of the two for its lock: the others must not keep the second."""
    async with fleet_on_port(database_url, pooled_url=pooled_url) as fleet:
        shop = await workshop(fleet)
        flow = await shop.workflow()
        reports = await asyncio.gather(*(shop.tick() for _ in range(10)))
        assert all(each["skipped"] in {None, BUSY} for each in reports)
        assert len(await shop.jobs()) == 1
        await shop.do({"pr_url": "a-branch"})
        await shop.phases()
        assert await shop.status(flow) == ["reviewing"]
