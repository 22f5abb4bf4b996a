"""A replica whose clock is wrong: leases are written and judged by the database's clock alone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import asyncpg
import httpx
import pytest

from tests.support.api import Fleet, body_of, fleet_on_port, problem_of
from tests.support.installed import faketime
from tests.support.replicas import replica

MINUTE = timedelta(minutes=1)


@asynccontextmanager
async def two_replicas(database_url: str, off_by: str) -> AsyncIterator[tuple[Fleet, str]]:
    """One whose clock is right, in this process, and the URL of one whose clock is not."""
    wrong = {"LD_PRELOAD": str(faketime()), "FAKETIME": off_by, "DONT_FAKE_MONOTONIC": "1"}
    async with fleet_on_port(database_url) as right, replica(database_url, **wrong) as url:
        yield right, url


@pytest.mark.parametrize("off_by", ["+10m", "-10m"])
async def test_a_wrong_clock_neither_steals_a_lease_nor_stretches_one(
    database_url: str, off_by: str
) -> None:
    """C11: ten minutes ahead, ten minutes behind."""
    conn = await asyncpg.connect(database_url)
    async with two_replicas(database_url, off_by) as (right, wrong):
        f1, f2 = await right.factory("f1"), await right.factory("f2", seat_limit=9)
        assert abs(await its_clock(right.anonymous, wrong) - await now_of(conn)) > 5 * MINUTE
        job = await right.submit()
        (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
        swept = await right.cron.post(f"{wrong}/tick/leases")
        assert body_of(swept)["expired"] == 0
        assert (await f2.post(f"{wrong}/claim", json={"factory_id": "f2"})).status_code == 204
        fence = {"fence": claim["lease"]["fence"]}
        kept = await f1.post(f"{wrong}/jobs/{job['id']}/renew", json=fence)
        assert_a_minute_from(body_of(kept)["expires_at"], await now_of(conn))
        stored = await conn.fetchval("select lease_expires_at from job where id = $1", job["id"])
        assert_a_minute_from(stored, await now_of(conn))
        await what_waits_is_judged_the_same_way(right, wrong, conn)
        await conn.execute(
            "update job set lease_expires_at = now() - interval '1 s', wake_at = now()"
            " where id = $1",
            job["id"],
        )
        await right.cron.post(f"{wrong}/tick/leases")
        again = await f2.post(f"{wrong}/claim", json={"factory_id": "f2"})
        (taken,) = body_of(again)["claims"]
        assert_a_minute_from(taken["lease"]["expires_at"], await now_of(conn))
        late = await f1.post(f"{wrong}/jobs/{job['id']}/complete", json=fence)
        problem_of(late, 409, "stale-fence")
    await conn.close()


async def what_waits_is_judged_the_same_way(
    right: Fleet, wrong: str, conn: asyncpg.Connection
) -> None:
    """A job of later, and the pause after a failure."""
    soon = (await now_of(conn) + 5 * MINUTE).isoformat()
    later = await right.client.post(f"{wrong}/jobs", json={"kind": "test", "run_after": soon})
    assert body_of(later)["state"] == "scheduled"
    await right.cron.post(f"{wrong}/tick/leases")
    f2 = right.by("f2")
    assert (await f2.post(f"{wrong}/claim", json={"factory_id": "f2"})).status_code == 204
    failing = await right.submit()
    (claim,) = body_of(await f2.post("/claim", json={"factory_id": "f2"}))["claims"]
    body = {"fence": claim["lease"]["fence"], "error": "x", "retry_after_s": 60}
    failed = await f2.post(f"{wrong}/jobs/{failing['id']}/fail", json=body)
    assert failed.status_code == 200, failed.text
    after = await conn.fetchval("select run_after from job where id = $1", failing["id"])
    assert_a_minute_from(after, await now_of(conn))


async def its_clock(anybody: httpx.AsyncClient, url: str) -> datetime:
    """Read a server's clock off its answers."""
    answer = await anybody.get(f"{url}/healthz")
    return parsedate_to_datetime(answer.headers["date"])


async def now_of(conn: asyncpg.Connection) -> datetime:
    found: datetime = await conn.fetchval("select clock_timestamp()")
    return found


def assert_a_minute_from(stored: Any, now: datetime) -> None:  # noqa: ANN401 - a time, or its text
    at = stored if isinstance(stored, datetime) else datetime.fromisoformat(stored)
    assert now + timedelta(seconds=30) < at <= now + timedelta(seconds=61)
