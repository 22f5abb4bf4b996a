"""What the database does to a service: connections killed, rows and locks held for long."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from app.coordinator.desk import SLOW_POLL_S
from app.coordinator.ticking import BUSY
from tests.support.api import Fleet, body_of, fleet_on_port
from tests.support.crowds import crowd_at

ROUNDS, TICKS = 20, 20
CROWD = 50
TICK_LOCKS = (0x7469636B, 0x6C65617365)


@pytest.fixture
async def outside(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def test_killed_connections_are_made_anew(
    database_url: str, outside: asyncpg.Connection
) -> None:
    """C25: the job goes out within the slow poll, ear or no ear; at most one 503 each."""
    async with fleet_on_port(database_url, database_pool_size=4) as served:
        f1 = await served.factory("f1", seat_limit=ROUNDS)
        desk = served.app.state.services.desk
        killed = refused = 0
        for _ in range(ROUNDS):
            waiting = asyncio.create_task(claim_in_the_end(f1, wait_s=50))
            while not desk.waiting():
                await served.anonymous.get("/healthz")
            await desk.idle.wait()
            killed += await outside.fetchval(KILL_ALL)
            async with asyncio.timeout(SLOW_POLL_S * 1.25):
                job, refused_jobs = await submit_in_the_end(served)
                claim, refused_claims = await waiting
            assert claim["job"]["id"] == job
            refused += refused_jobs + refused_claims
        assert refused <= killed
        async with asyncio.timeout(5):
            while not (await served.anonymous.get("/readyz")).is_success:
                pass


async def test_a_row_that_somebody_sits_on_stops_nobody_for_long(
    database_url: str, outside: asyncpg.Connection
) -> None:
    """C53: two connections, fifty claims; every call is answered while the row is held."""
    bounds = {"database_pool_timeout_s": 1, "database_statement_timeout_s": 1}
    async with (
        fleet_on_port(database_url, database_pool_size=3, **bounds) as served,
        crowd_at(served, CROWD) as crowd,
    ):
        jobs = {"jobs": [{"kind": "test"}] * CROWD}
        assert (await served.client.post("/jobs/batch", json=jobs)).is_success
        async with outside.transaction():
            await outside.execute("select from factory_seat where factory_id = 'f7' for update")
            async with asyncio.timeout(30):
                ticked, explained, alive, claims = await asyncio.gather(
                    served.cron.post("/tick/leases"),
                    served.ops.get("/explain?factory_id=f7"),
                    served.anonymous.get("/healthz"),
                    crowd.claims(),
                )
        assert alive.status_code == 200
        assert {ticked.status_code, explained.status_code} <= {200, 503}
        assert {each.status for each in claims.values()} <= {200, 503}
        async with asyncio.timeout(30):
            for name in [name for name, each in claims.items() if each.status == 503]:
                while (await crowd.claim(name)).status != 200:
                    pass
        assert await outside.fetchval("select count(*) from job where fence = 1") == CROWD


async def test_nobody_waits_for_the_lock_of_a_tick(
    database_url: str, outside: asyncpg.Connection
) -> None:
    """C31: a second tick answers at once, and no waiting backend keeps rows from vacuum."""
    watch = await asyncpg.connect(database_url)
    async with fleet_on_port(database_url) as served, outside.transaction():
        for key in TICK_LOCKS:
            await outside.fetchval("select pg_advisory_xact_lock($1)", key)
        for _ in range(TICKS):
            ticked = await served.cron.post("/tick")
            assert ticked.status_code == 200
            assert BUSY in ticked.text
            assert await watch.fetchval(WAITING_FOR_A_LOCK) == 0
    await watch.close()


async def submit_in_the_end(served: Fleet) -> tuple[str, int]:
    """Submit a job as clients do, again after a 503; returns its id, and how often that was."""
    for refused in range(10):
        answer = await served.client.post("/jobs", json={"kind": "test"})
        if answer.status_code == 201:
            return body_of(answer)["id"], refused
        assert answer.status_code == 503, answer.text
    raise AssertionError


async def claim_in_the_end(factory: httpx.AsyncClient, wait_s: int) -> tuple[dict[str, Any], int]:
    """Claim as factories do, again after a 503; returns the claim, and how often that was."""
    for refused in range(10):
        answer = await factory.post("/claim", json={"factory_id": "f1", "wait_s": wait_s})
        if answer.status_code == 200:
            (claim,) = body_of(answer)["claims"]
            return claim, refused
        assert answer.status_code == 503, answer.text
    raise AssertionError


KILL_ALL = (
    "select count(pg_terminate_backend(pid)) from pg_stat_activity"
    " where datname = current_database() and application_name like 'fleet%'"
)
WAITING_FOR_A_LOCK = (
    "select count(*) from pg_stat_activity"
    " where datname = current_database() and wait_event_type = 'Lock'"
)
