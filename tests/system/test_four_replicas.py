"""Four processes, 64 factories that all want the same job first, thousands of them: few races.

Every process matches its own crowd against the same heads, so that all would commit the same jobs.
A *commit* is a statement that names picks of one crowd, and all it leases has one time; one that
leases nothing has lost at least one pick, and what was lost on the way to a lease is in its
decision. No answer is empty, nobody waits in a ring, and there are fewer commits than leases, as
processes that race take turns.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from app.coordinator.tokens import mint
from app.fleet import FactoryId, Role
from app.store.session import Database
from tests.support.factories import register
from tests.support.jobs import make_spec, put_all
from tests.support.raw import Line, lines, request
from tests.support.replicas import replicas

pytestmark = pytest.mark.no_cover  # the same calls by the hundred, which others measure

REPLICAS, FACTORIES, TURNS = 4, 64, 12
JOBS, BATCH = 3_000, 1_000
COMMITS_MAX = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A factory, and the line on which it calls one of the replicas."""

    name: str
    token: str
    line: Line

    async def ask(self, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - what was answered
        answer = await self.line.ask(request(path, self.token, body))
        assert answer.status == 200, (answer.status, answer.body)
        return orjson.loads(answer.body)

    async def work(self) -> list[str]:
        """Claim one job after the other, and complete each; tells which."""
        done = []
        for _ in range(TURNS):
            (claim,) = (await self.ask("/claim", {"factory_id": self.name}))["claims"]
            job_id, fence = claim["job"]["id"], claim["lease"]["fence"]
            await self.ask(f"/jobs/{job_id}/complete", {"fence": fence})
            done.append(job_id)
        return done


async def test_four_replicas_hardly_ever_want_the_same_job(db: Database, database_url: str) -> None:
    names = [FactoryId(f"f{number:02}") for number in range(FACTORIES)]
    async with db.transaction() as conn:
        for name in names:
            await register(conn, name)
        tokens = [(await mint(conn, role=Role.FACTORY, factory_id=name)).secret for name in names]
    for _ in range(JOBS // BATCH):
        await put_all(db, *[make_spec()] * BATCH)
    async with replicas(REPLICAS, database_url) as urls:
        done = await _all_at_work(urls, list(zip(names, tokens, strict=True)))
    assert len(done) == len(set(done)) == FACTORIES * TURNS
    async with db.connection() as conn:
        leases, leasing, lost = await conn.fetchrow(
            "select count(*), count(distinct at),"
            " coalesce(sum(jsonb_array_length(record -> 'lost')), 0) from decision"
        )
        deadlocks = await conn.fetchval(
            "select deadlocks from pg_stat_database where datname = current_database()"
        )
    assert leases == FACTORIES * TURNS
    assert deadlocks == 0
    assert (leasing + lost) / leases <= COMMITS_MAX, f"{lost} lost for {leases} in {leasing}"


async def _all_at_work(urls: list[str], voices: list[tuple[FactoryId, str]]) -> list[str]:
    """Let all factories work at once, each at one of the replicas in turn."""
    async with AsyncExitStack() as stack:
        crowds = [
            await stack.enter_async_context(lines(url, FACTORIES // REPLICAS)) for url in urls
        ]
        workers = [
            Worker(name=name, token=token, line=crowds[number % REPLICAS][number // REPLICAS])
            for number, (name, token) in enumerate(voices)
        ]
        async with asyncio.timeout(60):
            done = await asyncio.gather(*(worker.work() for worker in workers))
    return [job_id for each in done for job_id in each]
