"""Two processes, 32 factories, 5,000 jobs with dependencies and locks: the promises, kept.

Every job is done exactly once, no lock is held twice, no seat limit is passed, no answer is empty
while eligible work is free, and the histories agree with each other.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg
import pytest

from tests.support.api import token_of
from tests.support.raw import Answer, Line, lines, request
from tests.support.replicas import replicas
from tests.support.tokens import tokens_of

pytestmark = pytest.mark.no_cover  # the same calls by the hundred, which others measure

JOBS, BATCH, FACTORIES, LOCKS = 5_000, 1_000, 32, 40


@dataclass
class Watch:
    """What the test saw while the fleet worked."""

    conn: asyncpg.Connection
    completed: list[str] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, query: str, *arguments: Any) -> Any:  # noqa: ANN401 - one value
        async with self.asking:
            return await self.conn.fetchval(query, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """A caller with a line of its own; plain HTTP, as the calls are what is to be the load."""

    line: Line
    token: str

    async def ask(self, path: str, body: object, *, method: str = "POST") -> Answer:
        answer = await self.line.ask(request(path, self.token, body, method=method))
        assert answer.status in {200, 201, 204}, (path, answer.status, answer.body)
        return answer


async def test_two_replicas_keep_every_promise(database_url: str) -> None:
    conn = await asyncpg.connect(database_url)
    watch = Watch(conn=conn)
    ops = (await tokens_of(database_url))["client"]
    async with replicas(2, database_url, FLEET_LEASE_LOOP_INTERVAL_S="0.2") as urls:
        await submit_all(urls[0], ops)
        watching = asyncio.create_task(sample(watch))
        async with asyncio.timeout(240):
            await asyncio.gather(
                *(
                    work(urls[number % 2], database_url, f"f{number}", watch)
                    for number in range(FACTORIES)
                )
            )
        watch.done.set()
        assert await watching > 0
    await check_histories(watch)
    await conn.close()


async def submit_all(url: str, token: str) -> None:
    async with lines(url, 1) as (line,):
        api = Api(line=line, token=token)
        for first in range(0, JOBS, BATCH):
            jobs = [job(number) for number in range(first, first + BATCH)]
            answer = await api.ask("/jobs/batch", {"jobs": jobs})
            assert answer.status == 201


def job(number: int) -> dict[str, Any]:
    """A third waits for the one before, a quarter shares one of a few locks."""
    within = number % BATCH
    return {
        "kind": "test",
        "ref": f"r{number}",
        "depends_on": [f"r{number - 1}"] if within % 3 == 2 else [],
        "lock": f"clone-{number % LOCKS}" if number % 4 == 0 else None,
        "priority": ("low", "normal", "high")[number % 3],
        "repo": f"repo-{number % 7}",
        "max_attempts": 10,
    }


async def work(url: str, database_url: str, name: str, watch: Watch) -> None:
    """Claim, and end each lease: most well, some badly, some by giving it back."""
    token = await token_of(database_url, name)
    seats = 1 + int(name[1:]) % 3
    async with lines(url, 1) as (line,):
        api = Api(line=line, token=token)
        await api.ask(f"/factories/{name}", {"seat_limit": seats}, method="PUT")
        turn = 0
        while len(watch.completed) < JOBS:
            asked_at = await watch.ask("select clock_timestamp()")
            wanted = {"factory_id": name, "max_jobs": seats}
            answer = await api.ask("/claim", wanted)
            if answer.status == 204:
                await no_false_nothing(watch, asked_at)
                answer = await api.ask("/claim", {**wanted, "wait_s": 1})
            if answer.status == 204:
                continue
            for claim in answer.json["claims"]:
                turn += 1
                await end(api, claim, turn, watch)


async def end(api: Api, claim: dict[str, Any], turn: int, watch: Watch) -> None:
    path, fence = f"/jobs/{claim['job']['id']}", claim["lease"]["fence"]
    if turn % 17 == 0:
        await api.ask(f"{path}/fail", {"fence": fence, "error": "no luck", "retry_after_s": 0})
    elif turn % 23 == 0:
        await api.ask(f"{path}/release", {"fence": fence, "reason": "drain"})
    else:
        answer = await api.ask(f"{path}/complete", {"fence": fence})
        assert answer.json["job"]["state"] == "succeeded"
        watch.completed.append(claim["job"]["id"])


async def no_false_nothing(watch: Watch, asked_at: datetime) -> None:
    """No job without a lock may lie ready now that lay there, untouched, before the question."""
    free = await watch.ask(
        "select count(*) from job j join job_class c on c.id = j.class_id"
        " where j.state = 'ready' and c.lock is null and c.excluded = '{}'"
        " and j.updated_at < $1::timestamptz - interval '2 seconds'",
        asked_at,
    )
    assert free == 0


async def sample(watch: Watch) -> int:
    """Look at the whole again and again, each time in one snapshot."""
    samples = 0
    while not watch.done.is_set():
        assert await watch.ask(TWICE_HELD) == 0
        assert await watch.ask(SEATS_WRONG) == 0
        samples += 1
    return samples


async def check_histories(watch: Watch) -> None:
    assert len(watch.completed) == len(set(watch.completed)) == JOBS
    assert await watch.ask("select count(*) from job where state = 'succeeded'") == JOBS
    assert await watch.ask("select count(*) from job_event where outcome = 'succeeded'") == JOBS
    assert await watch.ask("select sum(fence) from job") == await watch.ask(
        "select count(*) from decision"
    )
    assert await watch.ask(FENCES_WITH_GAPS) == 0
    assert await watch.ask(BEFORE_ITS_PARENT) == 0
    assert await watch.ask("select count(*) from job_lock where holder_job is not null") == 0
    assert await watch.ask("select sum(used) from factory_seat") == 0


TWICE_HELD = """
    select count(*) from (
        select 1 from job j join job_class c on c.id = j.class_id
        where j.state = 'leased' and c.lock is not null group by c.lock having count(*) > 1
    ) twice
"""
SEATS_WRONG = """
    select count(*)
    from factory_seat s
    where s.used > s.seat_limit
        or s.used <> (select count(*) from job j where j.holder = s.factory_id and j.seated)
"""
FENCES_WITH_GAPS = """
    select count(*) from (
        select 1 from job j join decision d on d.job_id = j.id
        group by j.id having count(*) <> j.fence or count(distinct d.fence) <> j.fence
    ) gaps
"""
BEFORE_ITS_PARENT = """
    select count(*)
    from job_dependency p
    join job parent on parent.id = p.parent_id
    join decision d on d.job_id = p.job_id
    where d.at < parent.finished_at
"""
