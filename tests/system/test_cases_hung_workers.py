"""Workers that hang, and workers that vanish: nothing is held for ever, tick or no tick."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.support.api import Fleet, body_of, fleet_on_port

LOOP_S = 0.05


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Fleet]:
    """A process as it serves: with its lease loop, and without cron."""
    async with fleet_on_port(database_url, lease_loop_interval_s=LOOP_S) as running:
        yield running


@pytest.fixture
async def outside(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def claim(served: Fleet, name: str, wait_s: int = 0) -> dict[str, Any]:
    body = {"factory_id": name, "wait_s": wait_s}
    (claim,) = body_of(await served.by(name).post("/claim", json=body))["claims"]
    assert isinstance(claim, dict)
    return claim


async def test_heartbeats_keep_no_job_beyond_its_time_to_run(
    served: Fleet, outside: asyncpg.Connection
) -> None:
    """C07: a thread renews while the work is stuck; the attempt fails, and says of what."""
    f1 = await served.factory("f1")
    await served.factory("f2")
    job = await served.submit(timeout_s=60)
    held = await claim(served, "f1")
    beat = {"leases": [{"job_id": job["id"], "fence": held["lease"]["fence"]}]}
    outcomes = []
    async with asyncio.timeout(30):
        while "lost" not in outcomes:
            answer = body_of(await f1.post("/factories/f1/heartbeat", json=beat))
            outcomes += [each["outcome"] for each in answer["leases"]]
            # Each beat comes ten seconds later for this job, whose lease it renews.
            await outside.execute(TEN_SECONDS_PASS, job["id"])
    assert outcomes[:5] == ["renewed"] * 5
    assert len(outcomes) <= 8
    while (now := body_of(await served.ops.get(f"/jobs/{job['id']}")))["state"] == "leased":
        pass
    assert (now["state"], now["attempts"]) == ("scheduled", 1)
    events = body_of(await served.ops.get(f"/jobs/{job['id']}/events"))["items"]
    assert [each["outcome"] for each in events if each["event"] == "time_out"] == ["timed_out"]
    nothing = await f1.post("/claim", json={"factory_id": "f1"})
    assert "no_seat" not in nothing.headers["fleet-reasons"]


async def test_an_ended_lease_goes_on_to_who_waits_without_any_tick(
    served: Fleet, outside: asyncpg.Connection
) -> None:
    """C07: every serving process looks for ended leases by itself."""
    await served.factory("f1")
    await served.factory("f2")
    job = await served.submit(lock="clone")
    first = await claim(served, "f1")
    waiting = asyncio.create_task(claim(served, "f2", wait_s=50))
    while not served.app.state.services.desk.waiting():
        await served.anonymous.get("/healthz")
    await outside.execute("update job set lease_expires_at = now(), wake_at = now()")
    async with asyncio.timeout(5):
        second = await waiting
    assert second["job"]["id"] == job["id"]
    assert second["lease"]["fence"] == first["lease"]["fence"] + 1


TEN_SECONDS_PASS = """
    update job
    set claimed_at = claimed_at - interval '10 s',
        lease_expires_at = lease_expires_at - interval '10 s',
        wake_at = wake_at - interval '10 s'
    where id = $1
"""
