"""Explanations against what really happens: random fleets over the real API.

1. What ``/explain`` ranks first for a factory is what its next claim gets, and nobody is a 204.
2. Every counterfactual that is offered, applied for real, really flips the outcome; waiting too.
3. Every decision that the run recorded replays identically.
"""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import asyncpg
import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.strategies import CAPABILITIES, ENGINES, LOCKS, REPOS
from tests.support.api import Fleet, body_of, fleet_in_process
from tests.support.postgres import Databases

pytestmark = pytest.mark.no_cover  # the same calls by the hundred, which others measure

FACTORIES = ("f1", "f2", "f3")
TABLES = (
    "job, job_class, job_lock, job_event, decision, job_dependency, account, factory, claim_key"
)


def some(names: tuple[str, ...], most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=most, unique=True)


factory_bodies = st.fixed_dictionaries(
    {
        "capabilities": some(CAPABILITIES),
        "engines": some(ENGINES, 1),
        "warm_repos": some(REPOS),
        "cost_ceiling": st.sampled_from(("low", "medium", "high")),
        "seat_limit": st.sampled_from((0, 1, 2, 3)),
        "health": st.sampled_from(("ok", "ok", "degraded", "down")),
    }
)
job_bodies = st.fixed_dictionaries(
    {
        "kind": st.just("test"),
        "repo": st.sampled_from((None, *REPOS)),
        "required_capabilities": some((*CAPABILITIES, "engine:claude"), 1),
        "prefers_engine": st.sampled_from((None, *ENGINES)),
        "cost_class": st.sampled_from(("low", "low", "medium", "high")),
        "priority": st.sampled_from(("critical", "high", "normal", "low")),
        "lock": st.sampled_from((None, None, None, *LOCKS)),
        "run_after": st.sampled_from((None, None, None, "2999-01-01T00:00:00Z")),
        "depends_on": st.lists(st.sampled_from(("0", "1")), max_size=1),
    }
)
hours = st.sampled_from((0, 0, 1, 5, 7, 13, 25, 50))


class World:
    """One coordinator for all examples; each begins with empty tables."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.runner = asyncio.Runner()
        self.context = fleet_in_process(url)
        self.fleet: Fleet = self.runner.run(self.context.__aenter__())
        self.conn = self.runner.run(asyncpg.connect(url))

    def close(self) -> None:
        self.runner.run(self.conn.close())
        self.runner.run(self.context.__aexit__(None, None, None))
        self.runner.close()

    async def fill(self, data: st.DataObject) -> list[str]:
        """Make a random fleet with a random queue of random ages; returns the ids of the jobs."""
        await self.conn.execute(f"truncate {TABLES} cascade")
        for name in FACTORIES:
            body = data.draw(factory_bodies)
            if name not in self.fleet.tokens:
                await self.fleet.factory(name)
            await self.fleet.by(name).put(f"/factories/{name}", json=body)
        bodies = data.draw(st.lists(job_bodies, min_size=3, max_size=9))
        jobs = [
            {**body, "ref": str(place), "depends_on": body["depends_on"] if place > 1 else []}
            for place, body in enumerate(bodies)
        ]
        answer = await self.fleet.client.post("/jobs/batch", json={"jobs": jobs})
        assert answer.status_code == 201, answer.text
        ids = [each["id"] for each in body_of(answer)["jobs"]]
        for job_id in ids:
            await self.conn.execute(
                "update job set created_at = created_at - make_interval(hours => $2) where id = $1",
                job_id,
                data.draw(hours),
            )
        if data.draw(st.booleans()):
            await self._order(data)
        if data.draw(st.booleans()):
            hold = {"reason": "look"}
            await self.fleet.ops.post(f"/jobs/{data.draw(st.sampled_from(ids))}/hold", json=hold)
        return ids

    async def _order(self, data: st.DataObject) -> None:
        verb = data.draw(st.sampled_from(("drain", "pause")))
        until = data.draw(st.sampled_from((None, "2998-01-01T00:00:00Z")))
        path = f"/factories/{data.draw(st.sampled_from(FACTORIES))}/{verb}"
        answer = await self.fleet.ops.post(path, json={"reason": "disk", "until": until})
        assert answer.status_code == 200, answer.text

    async def claim(self, name: str) -> dict[str, Any] | None:
        answer = await self.fleet.by(name).post("/claim", json={"factory_id": name})
        if answer.status_code == 204:
            return None
        (won,) = body_of(answer)["claims"]
        assert isinstance(won, dict)
        return won

    async def ask(self, path: str) -> dict[str, Any]:
        answer = await self.fleet.ops.get(path)
        assert answer.status_code == 200, answer.text
        return body_of(answer)

    async def make(self, call: dict[str, Any]) -> None:
        """Make a call that an explanation offered, at the version the job then has."""
        headers = {}
        if call["method"] == "PATCH":
            headers["If-Match"] = (await self.fleet.ops.get(call["path"])).headers["etag"]
        sent: httpx.Response = await self.fleet.ops.request(
            call["method"], call["path"], json=call["body"] or None, headers=headers
        )
        assert sent.status_code in {200, 201}, (call, sent.text)


@pytest.fixture(scope="module")
def world(databases: Databases) -> Iterator[World]:
    with databases.fresh() as url:
        made = World(url)
        yield made
        made.close()


searching = settings(
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(searching, max_examples=200)
@given(data=st.data())
def test_the_top_of_explain_is_what_the_next_claim_gets(world: World, data: st.DataObject) -> None:
    async def run() -> None:
        await world.fill(data)
        for _ in range(3):
            name = data.draw(st.sampled_from(FACTORIES))
            said = await world.ask(f"/explain?factory_id={name}")
            won = await world.claim(name)
            if not said["ranking"]:
                assert won is None
                continue
            first = said["ranking"][0]
            assert won is not None
            assert won["job"]["id"] == first["job_id"]
            assert won["score"]["total"] == first["score"]["total"]
        for each in (await world.ask("/explain/decisions"))["items"]:
            shown = await world.ask(f"/explain/decisions/{each['id']}")
            assert shown["replay"] == {"identical": True, "differences": []}

    world.runner.run(run())


@settings(searching, max_examples=40)
@given(data=st.data())
def test_every_counterfactual_applied_for_real_flips_the_outcome(
    world: World, data: st.DataObject
) -> None:
    async def run() -> None:
        ids = await world.fill(data)
        if data.draw(st.booleans()):
            await world.claim(data.draw(st.sampled_from(FACTORIES)))
        name, job_id = data.draw(st.sampled_from(FACTORIES)), data.draw(st.sampled_from(ids))
        pair = (await world.ask(f"/explain/jobs/{job_id}?factory_id={name}"))["pair"]
        if pair["would_take"]:
            won = await world.claim(name)
            assert won is not None
            assert won["job"]["id"] == job_id
            return
        if not pair["flips"]:
            return
        flip = data.draw(st.sampled_from(pair["flips"]))
        for call in flip["calls"]:
            await world.make(call)
        won = await world.claim(name)
        assert won is not None, flip
        assert won["job"]["id"] == job_id, flip

    world.runner.run(run())


@settings(searching, max_examples=40)
@given(data=st.data())
def test_waiting_for_real_flips_the_outcome_too(world: World, data: st.DataObject) -> None:
    async def run() -> None:
        ids = await world.fill(data)
        for name in FACTORIES:
            await world.fleet.ops.post(f"/factories/{name}/resume")
        name = data.draw(st.sampled_from(FACTORIES))
        for job_id in ids:
            said = await world.ask(f"/explain/jobs/{job_id}?factory_id={name}")
            if said["state"] != "ready" or said["pair"]["wait"] is None:
                continue
            at, now = (datetime.fromisoformat(x) for x in (said["pair"]["wait"]["at"], said["now"]))
            await world.conn.execute(
                "update job set created_at = created_at - $1::interval", at - now
            )
            won = await world.claim(name)
            assert won is not None
            assert won["job"]["id"] == job_id
            return

    world.runner.run(run())
