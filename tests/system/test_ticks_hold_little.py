"""What ticks and dry runs hold: one connection at a time, and none while GitHub thinks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg
import httpx
import pytest

from app.coordinator.turnstile import EXPLANATIONS_AT_ONCE, QUEUE_MAX, REHEARSALS_AT_ONCE
from tests.support.api import Fleet, body_of, fleet_in_process, problem_of
from tests.support.github import Server, github_server, pull
from tests.support.workflows import Workshop, workshop

SMALLEST = {"database_pool_size": 3, "database_pool_timeout_s": 1.0}
"""Two connections for whatever is asked, one for claims; who needs another waits a second."""

DRY = {"dry_run": "true"}
REHEARSALS: list["Call"] = [
    ("GET", "/explain/workflows", {}),
    ("POST", "/tick", DRY),
    ("POST", "/tick/workflows", DRY),
    ("POST", "/tick/repos", DRY),
]
IN_TRANSACTION = (
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and pid <> pg_backend_pid() and xact_start is not null"
)
CONNECTED = (
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and pid <> pg_backend_pid()"
)
WAITING = (
    "select count(*) from pg_stat_activity where datname = current_database()"
    " and wait_event_type = 'Lock'"
)
Watcher: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Call: TypeAlias = tuple[str, str, dict[str, str]]


@pytest.fixture
async def watcher(database_url: str) -> AsyncIterator[Watcher]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


@asynccontextmanager
async def github_thinks(database_url: str) -> AsyncIterator[tuple[Workshop, Server, str]]:
    """A fleet with a workflow and a repo that GitHub is asked about, which keeps its answers back.

    Yields the workflow's id, too.
    """
    async with (
        github_server() as server,
        fleet_in_process(
            database_url, github_token="secret", github_api_url=server.url, **SMALLEST
        ) as fleet,
    ):
        server.pulls = [pull(7)]
        shop = await workshop(fleet)
        flow = await shop.workflow(
            status="reviewing", pr_url=f"{server.url}/acme/shop/pull/7", tracks_after_merge=True
        )
        body = {"github": "acme/shop", "pr_watching_enabled": True}
        assert (await fleet.ops.put("/repos/shop", json=body)).status_code == 201
        server.open.clear()
        yield shop, server, flow


@asynccontextmanager
async def asked(fleet: Fleet, *calls: Call) -> AsyncIterator[list["asyncio.Task[httpx.Response]"]]:
    """Calls of ops under way; those that are not answered by the end are given up."""
    tasks = [
        asyncio.create_task(fleet.ops.request(method, path, params=params))
        for method, path, params in calls
    ]
    try:
        async with asyncio.timeout(60):
            yield tasks
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_tick_works_in_the_smallest_pool_while_a_request_keeps_a_connection(
    database_url: str, watcher: Watcher
) -> None:
    async with fleet_in_process(database_url, **SMALLEST) as fleet:
        shop = await workshop(fleet)
        flow = await shop.workflow()
        other = await shop.project("other")
        async with watcher.transaction():
            await watcher.execute("select from project where id = $1 for update", other)
            slow = asyncio.create_task(
                fleet.ops.patch(
                    f"/projects/{other}", json={"name": "b"}, headers={"If-Match": '"1"'}
                )
            )
            await until_it_says(watcher, WAITING, 1)
            ticked = await fleet.cron.post("/tick")
        assert ticked.status_code == 200, ticked.text
        report = body_of(ticked)
        assert report["workflows"]["phases"]["active"]["started"] == [flow]
        assert report["repos"]["skipped"] is None
        assert (await slow).status_code == 200


@pytest.mark.parametrize("call", REHEARSALS)
async def test_a_dry_run_holds_no_connection_and_no_row_while_github_thinks(
    database_url: str, watcher: Watcher, call: Call
) -> None:
    async with (
        github_thinks(database_url) as (shop, server, flow),
        asked(shop.fleet, *[call] * 7) as answers,
    ):
        await server.arrived.wait()
        await until_it_says(watcher, IN_TRANSACTION, 0)
        await asyncio.gather(*(shop.read(flow) for _ in range(20)))
        await shop.order(flow, "pause", {"reason": "wait"})
        ticking = asyncio.create_task(shop.tick())
        server.open.set()
        assert (await ticking)["skipped"] is None
        for each in asyncio.as_completed(answers):
            assert (await each).status_code == 200


@pytest.mark.parametrize("path", ["/tick/workflows", "/tick/repos"])
async def test_a_tick_holds_its_lock_and_nothing_else_while_github_thinks(
    database_url: str, watcher: Watcher, path: str
) -> None:
    async with (
        github_thinks(database_url) as (shop, server, flow),
        asked(shop.fleet, ("POST", path, {})) as (answer,),
    ):
        await server.arrived.wait()
        await until_it_says(watcher, IN_TRANSACTION, 1)
        await shop.order(flow, "pause", {"reason": "wait"})
        paused = await shop.fleet.ops.post("/repos/shop/pause", json={"reason": "wait"})
        assert paused.status_code == 200
        others = await asyncio.gather(*(shop.tick() for _ in range(20)))
        assert others == [{"skipped": "another tick is running"}] * 20
        assert await watcher.fetchval(CONNECTED) <= SMALLEST["database_pool_size"] + 2
        server.open.set()
        assert body_of(await answer)["skipped"] is None


@pytest.mark.parametrize("call", REHEARSALS)
async def test_dry_runs_queue_and_leave_explanations_alone(database_url: str, call: Call) -> None:
    few = REHEARSALS_AT_ONCE + QUEUE_MAX
    async with (
        github_thinks(database_url) as (shop, server, _),
        asked(shop.fleet, *[call] * (few + 2)) as answers,
    ):
        await server.arrived.wait()
        await until_refused(answers, 2)
        explained = await shop.fleet.ops.get("/explain", params={"factory_id": "f1"})
        assert explained.status_code == 200


async def test_explanations_of_repos_queue_with_the_others(
    database_url: str, watcher: Watcher
) -> None:
    few = EXPLANATIONS_AT_ONCE + QUEUE_MAX
    async with fleet_in_process(database_url) as fleet:
        assert (await fleet.ops.put("/repos/shop", json={})).status_code == 201
        async with watcher.transaction():
            await watcher.execute("select from repo where id = 'shop' for update")
            call: Call = ("GET", "/explain/repos/shop", {})
            async with asked(fleet, *[call] * (few + 2)) as answers:
                await until_refused(answers, 2)


async def renamed(fleet: Fleet, project: str) -> httpx.Response:
    return await fleet.ops.patch(
        f"/projects/{project}", json={"name": "b"}, headers={"If-Match": '"1"'}
    )


async def until_refused(answers: list["asyncio.Task[httpx.Response]"], count: int) -> None:
    """Wait until some are answered, which must be because the queue was full."""
    for _, each in zip(range(count), asyncio.as_completed(answers), strict=False):
        said = problem_of(await each, 503, "unavailable")["detail"]
        assert said == "Too many explanations or dry runs are being asked for at once."


async def until_it_says(watcher: Watcher, question: str, expected: int) -> None:
    """Ask until the answer is as it has to become: pulses and passes of loops come and go."""
    async with asyncio.timeout(60):
        # Each question is a turn for the others: it goes to the database and back.
        while await watcher.fetchval(question) != expected:
            pass
