"""Sixty random jobs claimed over HTTP, held against a naive second statement of the rules.

What is compared: who gets which job in which order, every term of the score, the fence, and that
nobody but the holder may touch the lease.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app.fleet import (
    Context,
    CostClass,
    Factory,
    FactoryId,
    Health,
    Job,
    JobClass,
    JobId,
    JobState,
    Priority,
)
from app.runtime.clock import now_utc
from app.scheduler import DEFAULT_WEIGHTS
from tests.core import oracle
from tests.strategies import CAPABILITIES, ENGINES, LOCKS, REPOS
from tests.support.api import Fleet, body_of, fleet_on_port, problem_of
from tests.support.postgres import Databases

pytestmark = pytest.mark.no_cover  # the same calls by the hundred, which others measure

JOBS = 60
BAD = {"failed"}


@dataclass
class Model:
    """What the naive observer believes of the fleet."""

    jobs: dict[JobId, Job] = field(default_factory=dict)
    factories: dict[FactoryId, Factory] = field(default_factory=dict)
    fences: dict[JobId, int] = field(default_factory=dict)
    outcomes: dict[FactoryId, list[str]] = field(default_factory=dict)
    held: dict[JobId, FactoryId] = field(default_factory=dict)

    def best(self, factory_id: FactoryId, now: datetime) -> Job | None:
        """The job that this factory should get, by looking at every pair."""
        factory = self.seen(factory_id)
        ctx = Context(now=now)
        locks = {self.jobs[job_id].job_class.lock for job_id in self.held}
        best: Job | None = None
        for job in self.jobs.values():
            if oracle.reasons(job, factory, ctx) or (job.job_class.lock or "") in locks:
                continue
            if best is None or self._beats(job, best, factory, ctx):
                best = job
        return best

    def seen(self, factory_id: FactoryId) -> Factory:
        """The factory with its load and the health that its last ten outcomes show."""
        recent = self.outcomes.get(factory_id, [])[-10:]
        bad = sum(outcome in BAD for outcome in recent)
        degraded = len(recent) >= 4 and bad * 2 >= len(recent)
        return replace(
            self.factories[factory_id],
            seats_used=sum(holder == factory_id for holder in self.held.values()),
            health=Health.DEGRADED if degraded else Health.OK,
        )

    def settle(self, job_id: JobId, outcome: str) -> None:
        factory_id = self.held.pop(job_id)
        self.outcomes.setdefault(factory_id, []).append(outcome)
        job = self.jobs[job_id]
        if outcome == "succeeded":
            del self.jobs[job_id]
            factory = self.factories[factory_id]
            warm = factory.warm_repos | ({job.repo} if job.repo else set())
            self.factories[factory_id] = replace(factory, warm_repos=frozenset(warm))
            return
        excluded = job.job_class.excluded | {factory_id}
        others = [one for one in self.factories.values() if one.id not in excluded]
        stands = any(job.job_class.required <= oracle.offers(one) for one in others)
        job_class = replace(job.job_class, excluded=excluded if stands else frozenset())
        self.jobs[job_id] = replace(job, state=JobState.READY, job_class=job_class)

    @staticmethod
    def _beats(one: Job, other: Job, factory: Factory, ctx: Context) -> bool:
        mine = oracle.score(one, factory, ctx, DEFAULT_WEIGHTS)
        theirs = oracle.score(other, factory, ctx, DEFAULT_WEIGHTS)
        return oracle.comes_first(one, other) if mine == theirs else mine > theirs


def some(names: tuple[str, ...], *, most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=most, unique=True)


bodies = st.fixed_dictionaries(
    {
        "kind": st.just("test"),
        "repo": st.sampled_from((None, *REPOS)),
        "required_capabilities": some(CAPABILITIES, most=1),
        "prefers_engine": st.sampled_from((None, *ENGINES)),
        "cost_class": st.sampled_from(("low", "low", "medium", "high")),
        "priority": st.sampled_from(list(Priority)),
        "lock": st.sampled_from((None, None, None, *LOCKS)),
        "max_attempts": st.just(50),
    }
)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@settings(
    max_examples=3,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data())
def test_sixty_jobs_go_where_a_naive_reading_of_the_rules_sends_them(
    runner: asyncio.Runner, databases: Databases, data: st.DataObject
) -> None:
    async def work(url: str) -> None:
        async with fleet_on_port(url) as fleet:
            model = await prepare(fleet, data)
            await age_them(fleet, model, data)
            await claim_all(fleet, model, data)

    with databases.fresh() as url:
        runner.run(work(url))


async def prepare(fleet: Fleet, data: st.DataObject) -> Model:
    model = Model()
    for name in ("f1", "f2"):
        ceiling = data.draw(st.sampled_from(["low", "medium", "high"]))
        capabilities = data.draw(some(CAPABILITIES))
        engines = data.draw(some(ENGINES, most=1))
        await fleet.factory(
            name,
            capabilities=capabilities,
            engines=engines,
            cost_ceiling=ceiling,
            seat_limit=JOBS,
        )
        model.factories[FactoryId(name)] = Factory(
            id=FactoryId(name),
            capabilities=frozenset(capabilities),
            engines=frozenset(engines),
            cost_ceiling=CostClass(ceiling),
            seat_limit=JOBS,
        )
    jobs = data.draw(st.lists(bodies, min_size=JOBS, max_size=JOBS))
    answer = await fleet.client.post("/jobs/batch", json={"jobs": jobs})
    assert answer.status_code == 201, answer.text
    for each in body_of(answer)["jobs"]:
        job = job_from(each)
        model.jobs[job.id] = job
    return model


async def age_them(fleet: Fleet, model: Model, data: st.DataObject) -> None:
    """Move creation times back, some to the same moment, so that age counts and ties happen."""
    conn = await asyncpg.connect(fleet.database_url)
    try:
        for job in list(model.jobs.values()):
            hours = data.draw(st.sampled_from([0, 0, 3, 7, 25, 50]))
            created_at = now_utc() - timedelta(hours=hours)
            created_at = created_at.replace(minute=0, second=0, microsecond=0)
            await conn.execute("update job set created_at = $2 where id = $1", job.id, created_at)
            model.jobs[job.id] = replace(job, created_at=created_at)
    finally:
        await conn.close()


async def claim_all(fleet: Fleet, model: Model, data: st.DataObject) -> None:
    turns = st.sampled_from(["f1", "f2"])
    claims = 0
    while claims < JOBS:
        name = data.draw(turns)
        answer = await fleet.by(name).post("/claim", json={"factory_id": name})
        if answer.status_code == 204:
            assert model.best(FactoryId(name), now_utc()) is None
            if not model.held:
                return
            await settle_one(fleet, model, data)
            continue
        (claim,) = body_of(answer)["claims"]
        claims += 1
        await check_claim(fleet, model, FactoryId(name), claim)
        if data.draw(st.booleans()):
            await settle_one(fleet, model, data)


async def check_claim(
    fleet: Fleet, model: Model, factory_id: FactoryId, claim: dict[str, Any]
) -> None:
    decision = body_of(await fleet.ops.get(f"/explain/decisions/{claim['decision_id']}"))
    now = datetime.fromisoformat(decision["record"]["now"])
    expected = model.best(factory_id, now)
    assert expected is not None
    assert claim["job"]["id"] == str(expected.id)
    factory, ctx = model.seen(factory_id), Context(now=now)
    percents = oracle.percents(expected, factory, ctx)
    signs = dict.fromkeys(percents, 1) | {"starvation_penalty": -1}
    weights = dict(zip(percents, (2, 2, 1, 6, 3, 6), strict=True))
    assert claim["score"]["breakdown"] == {
        term: signs[term] * weights[term] * percent for term, percent in percents.items()
    }
    assert claim["score"]["total"] == oracle.score(expected, factory, ctx, DEFAULT_WEIGHTS)
    fence = model.fences.get(expected.id, 0) + 1
    assert claim["lease"]["fence"] == fence
    model.fences[expected.id] = fence
    model.held[expected.id] = factory_id
    model.jobs[expected.id] = replace(expected, state=JobState.LEASED)


async def settle_one(fleet: Fleet, model: Model, data: st.DataObject) -> None:
    job_id = data.draw(st.sampled_from(sorted(model.held)))
    holder, fence = model.held[job_id], model.fences[job_id]
    other = "f2" if holder == "f1" else "f1"
    complete = f"/jobs/{job_id}/complete"
    refused = await fleet.by(other).post(complete, json={"fence": fence})
    problem_of(refused, 403, "forbidden")
    problem_of(await fleet.client.post(complete, json={"fence": fence}), 403, "forbidden")
    stale = await fleet.by(holder).post(complete, json={"fence": fence + 1})
    problem_of(stale, 409, "stale-fence")
    if data.draw(st.sampled_from([True, True, False])):
        answer = await fleet.by(holder).post(complete, json={"fence": fence})
        assert body_of(answer)["job"]["state"] == "succeeded"
        model.settle(job_id, "succeeded")
        return
    answer = await fleet.by(holder).post(
        f"/jobs/{job_id}/fail", json={"fence": fence, "error": "no luck", "retry_after_s": 0}
    )
    assert answer.status_code == 200, answer.text
    assert (await fleet.cron.post("/tick/leases")).status_code == 200
    model.settle(job_id, "failed")


def job_from(body: dict[str, Any]) -> Job:
    """Read what the API says of a new job."""
    return Job(
        id=JobId(UUID(body["id"])),
        job_class=JobClass(
            required=frozenset(body["required_capabilities"]),
            prefers_engine=body["prefers_engine"],
            cost_class=CostClass(body["cost_class"]),
            priority=Priority(body["priority"]),
            lock=body["lock"],
        ),
        created_at=datetime.fromisoformat(body["created_at"]),
        repo=body["repo"],
        state=JobState(body["state"]),
    )
