"""GitHub at its limits, and answers that are none: silence, for as long as it was asked for."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.forge.github import GitHub
from app.forge.github_api import KEPT_MAX, SILENCE_MAX, AppKey, KeptPages
from app.forge.port import ForgeSilent
from tests.support.github import START, Server, eyes_on, github_server, issue, pull


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with github_server() as running:
        yield running


@pytest.fixture
async def github(server: Server) -> AsyncIterator[GitHub]:
    async with eyes_on(server) as eyes:
        yield eyes


async def test_what_is_unchanged_costs_nothing_of_the_limit(server: Server, github: GitHub) -> None:
    reset = str(int((START + timedelta(hours=1)).timestamp()))
    limit = {
        "x-ratelimit-limit": "5000",
        "x-ratelimit-remaining": "2",
        "x-ratelimit-reset": reset,
        "etag": '"e"',
    }

    def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == '"e"':
            return Response(status_code=304, headers=limit)
        return JSONResponse([pull(1)], 200, limit)

    server.refuse = answer
    for _ in range(6):
        assert len(await github.open_pulls("acme/shop")) == 1


@pytest.mark.parametrize("wait", ["100000000", "9" * 15])
async def test_no_wait_is_for_ever(server: Server, github: GitHub, wait: str) -> None:
    server.refuse = lambda _: JSONResponse({"message": "no"}, 429, {"retry-after": wait})
    with pytest.raises(ForgeSilent):
        await github.issue("acme/shop", 1)
    server.later(hours=SILENCE_MAX // timedelta(hours=1), minutes=1)
    server.refuse = lambda _: None
    server.issues = [issue(1)]
    assert await github.issue("acme/shop", 1) is not None


@pytest.mark.parametrize("key", ["no key", r"-----BEGIN RSA PRIVATE KEY-----\nMIIB"])
async def test_a_key_that_is_none_is_silence(server: Server, key: str) -> None:
    way_in = AppKey(app_id="1", private_key=key, installation_id="2")
    async with GitHub(base_url=server.url, way_in=way_in, label="x", now=server.clock) as app:
        with pytest.raises(ForgeSilent):
            await app.open_pulls("acme/shop")


async def test_an_issue_that_was_transferred_is_over_here(server: Server, github: GitHub) -> None:
    def moved(request: Request) -> Response | None:
        if request.url.path == "/repos/acme/shop/issues/7":
            return Response(None, 301, {"location": f"{server.url}/repos/acme/other/issues/42"})
        if request.url.path == "/repos/acme/other/issues/42":
            return JSONResponse(issue(42))
        return None

    server.refuse = moved
    found = await github.issue("acme/shop", 7)
    assert found is not None
    assert (found.number, found.open) == (7, False)


def test_the_pages_that_are_used_are_kept() -> None:
    kept = KeptPages()
    kept["list"] = ('"a"', None, [], None)
    for number in range(KEPT_MAX):
        assert kept["list"]
        kept[f"one/{number}"] = ('"b"', None, {}, None)
    assert "list" in kept
