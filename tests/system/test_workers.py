"""``fleet serve --workers``: one port, several processes, none of them left behind."""

import asyncio
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass

import httpx
import psutil

from app.runtime.listening import bound, listen
from tests.support.api import body_of, token_of
from tests.support.command import PROGRAM, fleet_process
from tests.support.environment import child_environment, unmeasured_environment
from tests.support.started import alive
from tests.support.tokens import tokens_of

WORKERS = 2
_PATIENCE_S = 60


@dataclass(slots=True, kw_only=True)
class Team:
    """Workers, and who looks after them."""

    process: Process
    url: str
    database_url: str

    def workers(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    async def complains(self, words: str) -> None:
        """Wait for a line of its log that holds these words."""
        assert self.process.stderr is not None
        async with asyncio.timeout(_PATIENCE_S):
            while line := (await self.process.stderr.readline()).decode():
                if words in line:
                    return
        message = f"it ended before it said {words!r}"
        raise AssertionError(message)

    async def ended(self) -> int:
        async with asyncio.timeout(_PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def team_on(database_url: str, *, measured: bool = False) -> AsyncIterator[Team]:
    process = await asyncio.create_subprocess_exec(
        *(*PROGRAM, "serve", "--port", "0", "--workers", str(WORKERS)),
        stdout=PIPE,
        stderr=PIPE,
        env=(child_environment if measured else unmeasured_environment)(
            FLEET_DATABASE_URL=database_url, FLEET_LOG_LEVEL="error"
        ),
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(_PATIENCE_S):
            said = (await process.stdout.readline()).decode()
        assert f", by {WORKERS} workers" in said
        url = said.partition("serves at ")[2].partition(",")[0]
        yield Team(process=process, url=url, database_url=database_url)
    finally:
        family = []
        with suppress(psutil.NoSuchProcess):
            family = psutil.Process(process.pid).children()
        if process.returncode is None:
            process.kill()
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        await process.wait()


async def test_workers_share_a_port_and_a_queue(database_url: str) -> None:
    tokens = await tokens_of(database_url)
    async with team_on(database_url, measured=True) as team, asyncio.TaskGroup() as group:
        workers = team.workers()
        assert len(workers) == WORKERS
        async with client(team.url, tokens["client"]) as submitter:
            jobs = [{"kind": "test"} for _ in range(60)]
            assert (await submitter.post("/jobs/batch", json={"jobs": jobs})).status_code == 201
        crowd = [group.create_task(work_off(team, f"f{number}")) for number in range(12)]
        done = [job for each in crowd for job in await each]
        assert len(done) == len(set(done)) == 60
        team.process.send_signal(signal.SIGTERM)
        assert await team.ended() == 0
        assert not alive(workers)


async def test_connections_are_spread_over_all_workers(database_url: str) -> None:
    async with team_on(database_url) as team, AsyncExitStack() as stack:
        async with asyncio.timeout(_PATIENCE_S):
            while not all(_connected(each) for each in team.workers()):
                one = await stack.enter_async_context(client(team.url, "nobody"))
                assert (await one.get("/healthz")).status_code == 200


async def test_who_waits_is_answered_when_all_stop(database_url: str) -> None:
    token = await token_of(database_url, "f1")
    async with team_on(database_url) as team, client(team.url, token) as f1:
        await f1.put("/factories/f1", json={})
        body = {"factory_id": "f1", "wait_s": 50}
        waiting = asyncio.create_task(f1.post("/claim", json=body))
        async with asyncio.timeout(_PATIENCE_S):
            while not await _somebody_waits(team.url, token):
                pass
        team.process.send_signal(signal.SIGTERM)
        assert (await waiting).status_code == 503
        assert await team.ended() == 0


async def test_a_worker_that_falls_is_replaced(database_url: str) -> None:
    token = await token_of(database_url, "f1")
    async with team_on(database_url) as team:
        first, *_ = workers = team.workers()
        first.kill()
        async with asyncio.timeout(_PATIENCE_S):
            while len(now := [each for each in team.workers() if each.is_running()]) < WORKERS or (
                first in now
            ):
                async with client(team.url, token) as f1:
                    await f1.get("/healthz")
        for _ in range(20):
            async with client(team.url, token) as f1:
                assert (await f1.get("/healthz")).status_code == 200
        team.process.send_signal(signal.SIGINT)
        assert await team.ended() == 0
        assert not alive([*workers, *now])


async def test_a_worker_that_cannot_be_replaced_yet_stops_nobody(database_url: str) -> None:
    async with team_on(database_url) as team:
        first, second = team.workers()
        looking_after = psutil.Process(team.process.pid)
        _, most = before = looking_after.rlimit(psutil.RLIMIT_NOFILE)
        looking_after.rlimit(psutil.RLIMIT_NOFILE, (3, most))  # it can open nothing more
        first.kill()
        for _ in range(2):
            await team.complains("no worker could be started")
        assert alive(team.workers()) == [second]

        looking_after.rlimit(psutil.RLIMIT_NOFILE, before)

        async with asyncio.timeout(_PATIENCE_S):
            while len(now := alive(team.workers())) < WORKERS:
                assert await _healthy(team)
        for _ in range(20):  # who reaches the new one waits for it
            assert await _healthy(team)
        team.process.send_signal(signal.SIGTERM)
        assert await team.ended() == 0
        assert not alive(now)


async def _healthy(team: Team) -> bool:
    async with client(team.url, "nobody") as one:
        return (await one.get("/healthz")).status_code == 200


async def test_workers_do_not_outlive_who_looks_after_them(database_url: str) -> None:
    async with team_on(database_url) as team:
        workers = team.workers()
        team.process.kill()
        await team.ended()
        gone, left = await asyncio.to_thread(psutil.wait_procs, workers, timeout=_PATIENCE_S)
        assert (len(gone), left) == (WORKERS, [])


async def test_a_port_in_use_is_said(database_url: str) -> None:
    with bound("127.0.0.1", 0) as taken:
        listen(taken)
        port = str(taken.getsockname()[1])
        refused = await fleet_process(
            "serve", "--port", port, "--workers", "2", FLEET_DATABASE_URL=database_url
        )
        assert refused.code == 1
        assert f"port {port} of 127.0.0.1 is in use" in refused.err


def _connected(worker: psutil.Process) -> bool:
    return any(
        each.status == psutil.CONN_ESTABLISHED and each.laddr.port == _port(worker)
        for each in worker.net_connections()
    )


def _port(worker: psutil.Process) -> int:
    """The port it listens on; its connections to the database are on another."""
    (listening,) = (each for each in worker.net_connections() if each.status == psutil.CONN_LISTEN)
    port: int = listening.laddr.port
    return port


async def _somebody_waits(url: str, token: str) -> bool:
    """Each worker answers for itself, and a new connection may reach any of them."""
    async with client(url, token) as other:
        return "fleet_claims_waiting 1.0" in (await other.get("/metrics")).text


async def work_off(team: Team, name: str) -> list[str]:
    """Do jobs until there are none."""
    done: list[str] = []
    async with client(team.url, await token_of(team.database_url, name)) as factory:
        assert (await factory.put(f"/factories/{name}", json={})).status_code == 201
        while True:
            answer = await factory.post("/claim", json={"factory_id": name})
            if answer.status_code == 204:
                return done
            (claim,) = body_of(answer)["claims"]
            report = {"fence": claim["lease"]["fence"]}
            job_id = claim["job"]["id"]
            assert (await factory.post(f"/jobs/{job_id}/complete", json=report)).status_code == 200
            done.append(job_id)


def client(url: str, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=_PATIENCE_S,
    )
