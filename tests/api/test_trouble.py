"""When something goes wrong inside: answers stay answers, and say nothing of the inside."""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import httpx
import pytest

from app.main import create_app
from app.runtime.settings import Settings
from tests.support.api import Fleet, body_of, fleet_in_process, problem_of, settings_for


async def test_a_fault_of_ours_is_logged_and_not_told(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    job = await fleet.submit()
    conn = await asyncpg.connect(fleet.database_url)
    await conn.execute("alter table job_event rename to elsewhere")
    await conn.close()
    caplog.set_level(logging.INFO, logger="app")
    response = await fleet.ops.get(f"/jobs/{job['id']}/events")
    problem_of(response, 500, "internal-error")
    assert "job_event" not in response.text
    assert "job_event" in caplog.text
    assert "GET /jobs/{job_id}/events 500" in [each.getMessage() for each in caplog.records]
    assert job["id"] not in "".join(each.getMessage() for each in caplog.records)


async def test_a_full_pool_is_our_overload(database_url: str) -> None:
    small = {"database_pool_size": 3, "database_pool_timeout_s": 0.2}
    async with fleet_in_process(database_url, **small) as fleet:
        await fleet.submit()
        db = fleet.app.state.services.db
        async with AsyncExitStack() as stack:
            for _ in range(db.limits.size):
                await stack.enter_async_context(db.connection())
            answers = await asyncio.gather(*(fleet.client.get("/jobs") for _ in range(20)))
            for response in answers:
                problem_of(response, 503, "unavailable")
            problem_of(await fleet.anonymous.get("/readyz"), 503, "unavailable")
            assert body_of(await fleet.anonymous.get("/healthz")) == {"ok": True}
        assert (await fleet.client.get("/jobs")).status_code == 200


async def test_a_database_without_our_tables_is_not_ready(empty_database_url: str) -> None:
    app = create_app(settings_for(empty_database_url))
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://fleet") as anybody,
    ):
        body = problem_of(await anybody.get("/readyz"), 503, "unavailable")
        assert body["ready"] is False


def test_without_a_database_nothing_is_served() -> None:
    with pytest.raises(ValueError, match="FLEET_DATABASE_URL"):
        create_app(Settings(database_url=None))


async def test_a_claim_whose_answer_is_lost_loses_no_job(served: Fleet) -> None:
    f1 = await served.factory("f1", seat_limit=100)
    rounds = 30
    jobs = {"jobs": [{"kind": "test"}] * rounds}
    await served.client.post("/jobs/batch", json=jobs)
    host, port = served.url.removeprefix("http://").split(":")
    body = b'{"factory_id": "f1"}'
    seen = set()
    for turn in range(rounds):
        _, writer = await asyncio.open_connection(host, int(port))
        head = (
            f"POST /claim HTTP/1.1\r\nHost: f\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: Bearer {served.tokens['f1']}\r\nIdempotency-Key: k{turn}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        again = await f1.post("/claim", content=body, headers={"Idempotency-Key": f"k{turn}"})
        (claim,) = body_of(again)["claims"]
        assert claim["lease"]["fence"] == 1
        seen.add(claim["job"]["id"])
    assert len(seen) == rounds


@pytest.mark.parametrize("path", ["/jobs", "/jobs/batch", "/claim"])
async def test_who_hangs_up_while_asking_is_no_fault(
    database_url: str, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    caplog.set_level(logging.INFO, logger="app")
    async with fleet_in_process(database_url) as fleet:
        arriving = [{"type": "http.request", "body": b"{", "more_body": True}]
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return arriving.pop() if arriving else {"type": "http.disconnect"}

        async def send(message: Any) -> None:  # noqa: ANN401 - whatever a server is sent
            sent.append(message)

        await fleet.factory("f1")
        secret = fleet.tokens["f1"] if path == "/claim" else _secret(fleet.client)
        headers = [
            (b"authorization", f"Bearer {secret}".encode()),
            (b"content-type", b"application/json"),
        ]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b""}
        await fleet.app(scope | {"headers": headers}, receive, send)
    assert sent == []
    assert f"POST {path} 499" in [each.getMessage() for each in caplog.records]
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


def _secret(client: httpx.AsyncClient) -> str:
    return client.headers["Authorization"].removeprefix("Bearer ")
