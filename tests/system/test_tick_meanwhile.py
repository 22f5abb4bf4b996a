"""What people do to workflows while a tick is at work counts, and harms nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.support.api import Fleet, fleet_in_process
from tests.support.workflows import PR, Body, Workshop, reasons, workshop


@pytest.fixture
async def fleet(database_url: str) -> AsyncIterator[Fleet]:
    async with fleet_in_process(database_url) as running:
        yield running


@asynccontextmanager
async def stopped_at(shop: Workshop, workflow_id: str) -> AsyncIterator["asyncio.Task[Body]"]:
    """Let a tick run as far as this workflow's row, which we keep until the block ends."""
    holder = await asyncpg.connect(shop.fleet.database_url)
    watcher = await asyncpg.connect(shop.fleet.database_url)
    try:
        row = holder.transaction()
        await row.start()
        await holder.execute("select from workflow where id = $1 for update", workflow_id)
        ticking = asyncio.create_task(shop.tick())
        async with asyncio.timeout(60):
            # Each question is a turn for the others: it goes to the database and back.
            while not await watcher.fetchval(
                "select exists (select from pg_stat_activity where wait_event_type = 'Lock'"
                " and query like '%update workflow%' and pid <> pg_backend_pid())"
            ):
                pass
        yield ticking
        await row.rollback()
        await ticking
    finally:
        await holder.close()
        await watcher.close()


async def test_one_paused_meanwhile_is_decided_anew(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    other = await shop.project("other")
    first = await shop.workflow("first")
    second = await shop.workflow("second", project_id=other)
    async with stopped_at(shop, first) as ticking:
        await shop.order(second, "pause", {"reason": "wait"})
    phases = (await ticking)["phases"]
    assert phases["active"]["started"] == [first]
    assert reasons(phases) == {second: "paused"}


async def test_one_renamed_meanwhile_starts_under_its_new_name(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    other = await shop.project("other")
    first = await shop.workflow("first")
    second = await shop.workflow("second", project_id=other)
    async with stopped_at(shop, first) as ticking:
        changed = await fleet.ops.patch(
            f"/workflows/{second}", json={"prompt": "Anew."}, headers={"If-Match": '"1"'}
        )
        assert changed.status_code == 200
    assert (await ticking)["phases"]["active"]["started"] == [first, second]
    assert (await shop.jobs())[-1]["payload"]["prompt"] == "Anew."


async def test_one_removed_meanwhile_is_left_out(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    other = await shop.project("other")
    first = await shop.workflow("first")
    second = await shop.workflow("second", project_id=other)
    async with stopped_at(shop, first) as ticking:
        assert (await fleet.ops.delete(f"/workflows/{second}")).status_code == 204
    report = await ticking
    assert report["errors"] == []
    assert report["phases"]["active"]["started"] == [first]
    assert len(await shop.jobs()) == 1


async def test_a_merged_one_and_a_due_uat_paused_meanwhile_do_not_start(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    done = await shop.workflow("done", status="done", pr_url=PR, tracks_after_merge=True)
    merged = await shop.workflow("merged", status="merged")
    await shop.order(done, "merged")
    async with stopped_at(shop, done) as ticking:
        await shop.order(merged, "pause", {"reason": "wait"})
    assert (await ticking)["phases"]["post_merge"]["started"] == done
    await shop.order(merged, "cancel")
    await shop.do()

    first = await shop.workflow("uat 1", status="uat_testing")
    second = await shop.workflow("uat 2", status="uat_testing")
    async with stopped_at(shop, first) as ticking:
        await shop.order(second, "pause", {"reason": "wait"})
    uat = (await ticking)["phases"]["uat"]
    assert (uat["due"], uat["started"]) == ([first, second], [first])
