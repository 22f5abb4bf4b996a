"""Calls that went wrong elsewhere, at the port: late holders, twins, odd numbers and odd text."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.support.api import Fleet, body_of, fleet_on_port, problem_of
from tests.support.raw import Line, request

NUL = "a\0b"
TWINS = 20


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Fleet]:
    async with fleet_on_port(database_url) as running:
        yield running


async def claim_one(served: Fleet, name: str) -> tuple[str, int]:
    answer = await served.by(name).post("/claim", json={"factory_id": name})
    (claim,) = body_of(answer)["claims"]
    return f"/jobs/{claim['job']['id']}", claim["lease"]["fence"]


async def lapse(served: Fleet) -> None:
    """Let every lease end, and the lease loop see it."""
    conn = await asyncpg.connect(served.database_url)
    await conn.execute("update job set lease_expires_at = now(), wake_at = now()")
    await conn.close()
    assert (await served.cron.post("/tick/leases")).is_success


async def test_a_late_holder_changes_nothing(served: Fleet) -> None:
    """C01: whatever it calls; and until the job went elsewhere, it may still finish."""
    f1, f2 = await served.factory("f1"), await served.factory("f2")
    await served.submit()
    path, first = await claim_one(served, "f1")
    await lapse(served)
    same, second = await claim_one(served, "f2")
    assert (same, second) == (path, first + 1)
    stored = body_of(await served.ops.get(path))
    for call, more in (
        ("renew", {}),
        ("complete", {}),
        ("fail", {"error": "x"}),
        ("release", {"reason": "x"}),
    ):
        late = await f1.post(f"{path}/{call}", json={"fence": first, **more})
        problem_of(late, 409, "stale-fence")
    assert body_of(await served.ops.get(path)) == stored
    assert (await f2.post(f"{path}/complete", json={"fence": second})).status_code == 200
    problem_of(await f1.post(f"{path}/complete", json={"fence": first}), 409, "stale-fence")
    events = body_of(await served.ops.get(f"{path}/events"))["items"]
    assert [each["event"] for each in events].count("complete") == 1
    await served.submit()
    path, fence = await claim_one(served, "f1")
    await lapse(served)
    for call in ("renew", "complete"):
        assert (await f1.post(f"{path}/{call}", json={"fence": fence})).status_code == 200


@pytest.mark.parametrize("named", ["key", "dedupe"])
async def test_twins_make_one_job_and_none_of_them_a_fault(served: Fleet, named: str) -> None:
    """C47: a replay for each loser, before and after the job is done; another body is refused."""
    await served.factory("f1")
    headers = {"Idempotency-Key": "k"} if named == "key" else {}
    body: dict[str, Any] = {"kind": "test"} | ({} if named == "key" else {"dedupe_key": "k"})

    async def send(**more: object) -> Any:  # noqa: ANN401 - a response
        return await served.client.post("/jobs", json={**body, **more}, headers=headers)

    answers = await asyncio.gather(*(send() for _ in range(TWINS)))
    assert {each.status_code for each in answers} <= {200, 201}
    assert len({body_of(each)["id"] for each in answers}) == 1
    path, fence = await claim_one(served, "f1")
    assert (await served.by("f1").post(f"{path}/complete", json={"fence": fence})).is_success
    again = await send()
    assert again.status_code in {200, 201}
    assert path.endswith(body_of(again)["id"])
    assert len(body_of(await served.ops.get("/jobs"))["items"]) == 1
    if named == "key":
        problem_of(await send(priority="high"), 409, "idempotency-key-reused")


@pytest.mark.parametrize("pause", [1e18, 10**18, -5, 1.5, "soon"])
async def test_a_pause_that_makes_no_sense_is_refused(served: Fleet, pause: object) -> None:
    """C35: and a job of two thousand attempts waits no longer than the cap, never in the past."""
    f1 = await served.factory("f1")
    await served.submit()
    path, fence = await claim_one(served, "f1")
    body = {"fence": fence, "error": "x"}
    refused = await f1.post(f"{path}/fail", json={**body, "retry_after_s": pause})
    assert problem_of(refused, 422, "invalid-request")["errors"][0]["field"] == "retry_after_s"
    conn = await asyncpg.connect(served.database_url)
    await conn.execute("update job set attempts = 2000, attempts_max = 100000")
    assert (await f1.post(f"{path}/fail", json=body)).status_code == 200
    waits = await conn.fetchval("select run_after - now() from job")
    await conn.close()
    assert 0 < waits.total_seconds() <= 24 * 3600


async def test_a_nul_never_blocks_a_completion(served: Fleet) -> None:
    """C39: refused by the name of its field wherever it stands; without it, the call goes on."""
    f1 = await served.factory("f1")
    await served.submit()
    path, fence = await claim_one(served, "f1")
    for who, method, where, body in (
        ("client", "POST", "/jobs", {"kind": "test", "payload": {NUL: 1}}),
        ("client", "POST", "/jobs", {"kind": "test", "repo": NUL}),
        ("client", "POST", "/jobs", {"kind": "test", "required_capabilities": [NUL]}),
        ("f1", "PUT", "/factories/f1", {"labels": {"a": NUL}}),
        ("f1", "PUT", "/factories/f1", {"capabilities": [NUL]}),
        ("f1", "POST", f"{path}/complete", {"fence": fence, "result": {"a": [NUL]}}),
        ("f1", "POST", f"{path}/fail", {"fence": fence, "error": NUL}),
        ("f1", "POST", f"{path}/release", {"fence": fence, "reason": NUL}),
        ("ops", "POST", f"{path}/cancel", {"reason": NUL}),
        ("ops", "GET", "/jobs?repo=a%00b", None),
        ("ops", "GET", "/jobs/a%00b", None),
    ):
        refused = await served.by(who).request(method, where, json=body)
        assert problem_of(refused, 422, "invalid-request")["errors"]
    done = await f1.post(f"{path}/complete", json={"fence": fence, "result": {"a": ["ab"]}})
    assert done.status_code == 200


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("client", 422)])
async def test_a_body_of_nothing_but_brackets(
    served: Fleet, token: str | None, status: int
) -> None:
    """C37: deep nesting is a refusal, and without a token it is not even read."""
    line = await Line.open(served.url)
    answer = await line.ask(
        request("/jobs", served.tokens[token] if token else None, b"[" * 20_000)
    )
    await line.hang_up()
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_token_that_is_nearly_right_is_as_wrong_as_any(served: Fleet) -> None:
    """C59: a prefix, another end, a space, two at once: nothing of it is told apart."""
    token = served.tokens["client"]
    swap = {"A": "B"}
    answers = []
    for wrong in (
        *(token[:-1], token + "A", token[:-1] + swap.get(token[-1], "A")),
        *(token[:29] + swap.get(token[29], "A") + token[30:], token.lower(), token.upper()),
        *(f"{token},{token}", f"{token} {token}", f'"{token}"'),
    ):
        line = await Line.open(served.url)
        answers.append(await line.ask(request("/jobs", wrong, b"", method="GET")))
        await line.hang_up()
    assert {each.status for each in answers} == {401}
    assert len({each.json["type"] for each in answers}) == 1
