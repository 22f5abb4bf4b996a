"""The door: who may come in, and what is turned away before it is read."""

import asyncio
import logging
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from tests.support.api import Fleet, body_of, problem_of

MIB = 1024 * 1024


NO_TOKENS = (
    "",
    "Bearer",
    "Bearer ",
    "Bearer nonsense",
    "Bearer fleet_" + "A" * 22 + "_" + "B" * 43,
    "Basic dXNlcjpwYXNz",
    "Bearer " + "x" * 10_000,
)


async def test_without_a_valid_token_everything_is_a_401(fleet: Fleet) -> None:
    for path in ("/jobs", "/nowhere", "/openapi.json", "/metrics"):
        problem_of(await fleet.anonymous.get(path), 401, "unauthenticated")
        for authorization in NO_TOKENS:
            headers = {"Authorization": authorization}
            response = await fleet.anonymous.get(path, headers=headers)
            problem_of(response, 401, "unauthenticated")
            assert response.headers["www-authenticate"].startswith("Bearer")


async def test_a_part_of_a_token_opens_nothing(fleet: Fleet) -> None:
    token = fleet.tokens["ops"]
    for almost in (token[:-1], token + "x", token.upper(), token.swapcase()):
        response = await fleet.anonymous.get("/jobs", headers={"Authorization": f"Bearer {almost}"})
        problem_of(response, 401, "unauthenticated")
    scheme = {"Authorization": f"bearer  {token} "}
    assert (await fleet.anonymous.get("/jobs", headers=scheme)).status_code == 200


async def test_two_tokens_are_none(fleet: Fleet) -> None:
    both = [("Authorization", f"Bearer {fleet.tokens[each]}") for each in ("ops", "client")]
    problem_of(await fleet.anonymous.get("/jobs", headers=both), 401, "unauthenticated")


async def test_only_health_and_the_pages_of_problems_are_open(fleet: Fleet) -> None:
    assert body_of(await fleet.anonymous.get("/healthz")) == {"ok": True}
    assert body_of(await fleet.anonymous.get("/readyz")) == {"ready": True}
    assert (await fleet.anonymous.get("/problems/stale-fence")).status_code == 200
    problem_of(await fleet.anonymous.get("/problems/none-such"), 404, "not-found")


async def test_a_revoked_token_ends_at_once_and_an_expired_one_is_none(fleet: Fleet) -> None:
    made = body_of(await fleet.ops.post("/tokens", json={"role": "client", "name": "ci"}))
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert (await fleet.anonymous.get("/jobs", headers=headers)).status_code == 200
    assert (await fleet.ops.delete(f"/tokens/{made['id']}")).status_code == 204
    problem_of(await fleet.anonymous.get("/jobs", headers=headers), 401, "unauthenticated")
    past = {"role": "client", "expires_at": "2020-01-01T00:00:00Z"}
    body = problem_of(await fleet.ops.post("/tokens", json=past), 422, "invalid-request")
    assert [each["field"] for each in body["errors"]] == ["expires_at"]


async def test_a_token_in_the_address_is_refused_even_beside_a_valid_one(fleet: Fleet) -> None:
    token = fleet.tokens["ops"]
    named = ("token=x", "access_token=x", "a=1&TOKEN=x", "to%6ben=x", "a=1;token=x")
    for query in (*named, f"q={token}", f"kind={token}"):
        for client, path in ((fleet.ops, "/jobs"), (fleet.anonymous, "/healthz")):
            response = await client.get(f"{path}?{query}")
            problem_of(response, 400, "token-in-query")
            assert token not in response.text


async def test_an_address_that_cannot_be_read_is_named(served: Fleet) -> None:
    for address, field in (
        ("/factories/f%00", "path"),
        ("/factories/%ff", "path"),
        ("/jobs?kind=%00", "kind"),
        ("/jobs?kind=%ff", "kind"),
        ("/jobs?a%00b=1", "a\\u0000b"),
    ):
        body = problem_of(await served.ops.get(address), 422, "invalid-request")
        assert [each["field"] for each in body["errors"]] == [field]


async def test_unknown_paths_methods_and_parameters(fleet: Fleet) -> None:
    problem_of(await fleet.ops.get("/nowhere"), 404, "not-found")
    problem_of(await fleet.ops.get("/jobs/"), 404, "not-found")
    wrong = await fleet.ops.delete("/jobs")
    problem_of(wrong, 405, "method-not-allowed")
    assert wrong.headers["allow"] == "GET, POST"
    problem_of(await fleet.ops.request("BREW", "/jobs"), 405, "method-not-allowed")
    body = problem_of(await fleet.ops.get("/jobs?stat=dead"), 422, "invalid-request")
    assert [each["field"] for each in body["errors"]] == ["stat"]


async def test_a_body_that_says_it_is_too_long_is_not_read(served: Fleet) -> None:
    head = f"POST /jobs HTTP/1.1\r\nHost: f\r\nContent-Length: {50 * MIB}\r\n"
    told = await _raw(served, head + "\r\n")
    assert told.startswith(b"HTTP/1.1 401")
    told = await _raw(served, head + f"Authorization: Bearer {served.tokens['client']}\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 413")


async def test_a_chunked_body_is_refused_while_it_streams(served: Fleet) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(50):
            sent += MIB
            yield b" " * MIB

    tracemalloc.start()
    response = await served.client.post("/jobs", content=chunks())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    body = problem_of(response, 413, "payload-too-large")
    assert body["limit_bytes"] == MIB
    assert peak < 16 * MIB


async def test_a_chunked_body_without_a_token_is_not_read(served: Fleet) -> None:
    head = "POST /jobs HTTP/1.1\r\nHost: f\r\nTransfer-Encoding: chunked\r\n\r\n"
    told = await _raw(served, head)
    assert told.startswith(b"HTTP/1.1 401")


async def test_a_body_of_exactly_the_bound_is_read(fleet: Fleet) -> None:
    around = len('{"kind":"test","payload":{"a":""}}')
    body = '{"kind":"test","payload":{"a":"' + "x" * (MIB - around) + '"}}'
    assert len(body) == MIB
    response = await fleet.client.post("/jobs", content=body)
    assert response.status_code == 201
    response = await fleet.client.post("/jobs", content=body + " ")
    problem_of(response, 413, "payload-too-large")


async def test_no_token_is_written_anywhere(
    served: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for logger in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(logger).setLevel(logging.DEBUG)
    token = served.tokens["client"]
    wrong = "fleet_" + "A" * 22 + "_" + "B" * 43
    texts = []
    for each in (token, wrong):
        headers = {"X-Worker-Token": each}
        for response in (
            await served.client.get("/jobs", headers=headers),
            await served.client.get(f"/jobs?token={each}"),
            await served.client.get(f"/jobs?kind={each}"),
            await served.client.get(f"/{each}"),
            await served.client.get(f"/jobs/{each}"),
            await served.client.get(f"/factories/{each}"),
            await served.client.post("/jobs", content=f'{{"kind": {each}'),
            await served.client.post("/jobs", json={each: 1}),
            await served.client.post("/jobs", json={"kind": "a", "priority": each}),
            await served.client.patch(f"/jobs/{each}", json={each: each}),
            await served.anonymous.get("/jobs", headers={"Authorization": f"Bearer {each}x"}),
        ):
            texts += [response.text, str(response.headers)]
    texts.append((await served.ops.get("/metrics")).text)
    ours = ("app.", "uvicorn.error", "asyncio", "asyncpg")
    texts += [each.getMessage() for each in caplog.records if each.name.startswith(ours)]
    texts += [str(vars(each)) for each in caplog.records if each.name.startswith("app.")]
    for text in texts:
        assert token not in text
        assert wrong not in text


async def test_roles_are_asked_before_the_body(fleet: Fleet) -> None:
    await fleet.factory("f1")
    broken = "{broken"
    problem_of(await fleet.anonymous.post("/tokens", content=broken), 401, "unauthenticated")
    problem_of(await fleet.ops.post("/tokens", content=broken), 422, "invalid-request")
    for who in ("client", "cron", "f1"):
        response = await fleet.by(who).post("/tokens", content=broken)
        assert problem_of(response, 403, "forbidden")["roles"] == ["ops"]


async def _raw(served: Fleet, text: str) -> bytes:
    """Send the beginning of a request and read the beginning of its answer."""
    host, port = served.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(text.encode())
        await writer.drain()
        async with asyncio.timeout(10):
            return await reader.readline()
    finally:
        writer.close()
        await writer.wait_closed()
