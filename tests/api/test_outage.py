"""The database goes away and comes back: 503 meanwhile, and no restart of ours."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import httpx
import pytest

from app.runtime.embedded import EmbeddedPostgres, embedded_postgres
from app.store.migrate import migrate
from tests.support.api import Fleet, body_of, fleet_on_port, problem_of


class Outlet:
    """A PostgreSQL that a test can stop and start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self.url = ""

    def start(self) -> None:
        server: AbstractContextManager[EmbeddedPostgres] = embedded_postgres(
            self._folder, durable=False, say=lambda _: None
        )
        self.url = self._stack.enter_context(server).url

    def stop(self) -> None:
        self._stack.close()


@pytest.fixture
def outlet() -> Iterator[Outlet]:
    folder = Path(tempfile.mkdtemp(prefix="fleet-test-"))
    outlet = Outlet(folder / "data")
    outlet.start()
    yield outlet
    outlet.stop()
    shutil.rmtree(folder)


@pytest.fixture
async def served(outlet: Outlet) -> AsyncIterator[Fleet]:
    await migrate(outlet.url)
    async with fleet_on_port(outlet.url, database_pool_timeout_s=1) as running:
        yield running


async def test_the_database_goes_away_and_comes_back(served: Fleet, outlet: Outlet) -> None:
    f1 = await served.factory("f1")
    job = await served.submit()
    waiting = asyncio.create_task(f1.post("/claim", json={"factory_id": "f1", "wait_s": 30}))
    assert body_of(await waiting)["claims"][0]["job"]["id"] == job["id"]

    outlet.stop()
    for response in (
        await served.client.get("/jobs"),
        await served.client.post("/jobs", json={"kind": "test"}),
        await served.ops.post("/tick"),
        await f1.post("/claim", json={"factory_id": "f1"}),
        await served.anonymous.get("/readyz"),
        await _with_an_unknown_token(served),
    ):
        problem_of(response, 503, "unavailable")
        assert int(response.headers["retry-after"]) >= 1
    assert body_of(await served.anonymous.get("/healthz")) == {"ok": True}

    outlet.start()
    async with asyncio.timeout(20):
        while (await served.anonymous.get("/readyz")).status_code != 200:
            pass
    assert (await served.client.get(f"/jobs/{job['id']}")).status_code == 200
    await served.submit()
    beat = {"leases": [{"job_id": job["id"], "fence": 1}]}
    heard = body_of(await f1.post("/factories/f1/heartbeat", json=beat))
    assert [each["outcome"] for each in heard["leases"]] == ["renewed"]


async def _with_an_unknown_token(served: Fleet) -> httpx.Response:
    token = "fleet_" + "A" * 22 + "_" + "B" * 43
    headers = {"Authorization": f"Bearer {token}"}
    return await served.anonymous.get("/jobs", headers=headers)
