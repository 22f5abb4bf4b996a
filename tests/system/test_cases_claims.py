"""Claims that went wrong elsewhere, at the port: lost answers, herds, blocked heads, clones."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from app.coordinator.expire import sweep
from tests.support.api import Fleet, body_of, fleet_on_port, problem_of
from tests.support.crowds import crowd_at
from tests.support.raw import Line, request

ROUNDS = 100
HERD = 200


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Fleet]:
    async with fleet_on_port(database_url, database_pool_size=3) as running:
        yield running


@pytest.fixture
async def watch(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def submit(served: Fleet, count: int, **fields: Any) -> list[str]:  # noqa: ANN401
    jobs = {"jobs": [{"kind": "test", **fields}] * count}
    answer = await served.client.post("/jobs/batch", json=jobs)
    assert answer.status_code == 201, answer.text
    return [each["id"] for each in body_of(answer)["jobs"]]


@pytest.mark.parametrize("keyed", [True, False])
async def test_whoever_hangs_up_on_a_claim_loses_no_job(
    served: Fleet,
    watch: asyncpg.Connection,
    caplog: pytest.LogCaptureFixture,
    keyed: bool,
) -> None:
    """C05: with its key the same lease; without, the job is back after one lease at most."""
    f1 = await served.factory("f1", seat_limit=ROUNDS)
    await submit(served, ROUNDS)
    body = {"factory_id": "f1"}
    keys = [f"k{turn}" if keyed else None for turn in range(ROUNDS)]
    for turn, key in enumerate(keys):
        line = await Line.open(served.url)
        line.send(request("/claim", served.tokens["f1"], body, key=key))
        for _ in range(turn):  # a little later each time, counted in turns of the event loop
            await asyncio.sleep(0)
        await line.hang_up()
    if keyed:
        again = [
            await f1.post("/claim", json=body, headers={"Idempotency-Key": str(key)})
            for key in keys
        ]
        leases = {
            (claim["job"]["id"], claim["lease"]["fence"])
            for each in again
            for claim in body_of(each)["claims"]
        }
        assert len(leases) == ROUNDS
        assert {fence for _, fence in leases} == {1}
    await expire_all(served, watch)
    assert await watch.fetchval("select count(*) from job where state = 'ready'") == ROUNDS
    assert await watch.fetchval("select count(*) from job where attempts <> fence") == 0
    (claims,) = [body_of(await f1.post("/claim", json={**body, "max_jobs": ROUNDS}))["claims"]]
    assert len(claims) == ROUNDS
    assert "Traceback" not in caplog.text
    assert await watch.fetchval(LEFT_OPEN) == 0


async def test_of_two_hundred_who_wait_one_gets_the_job_and_nobody_else_asks(
    served: Fleet, watch: asyncpg.Connection
) -> None:
    """C23: no herd. What a wake-up costs does not grow with those who wait."""
    statements: list[str] = []
    desk = served.app.state.services.desk
    async with crowd_at(served, HERD) as crowd:
        await listen_in(served, statements)
        waiting = {name: asyncio.create_task(crowd.claim(name, wait_s=60)) for name in crowd.tokens}
        while len(desk.waiting()) < HERD:
            await served.anonymous.get("/healthz")
        await desk.idle.wait()
        statements.clear()
        (job,) = await submit(served, 1)
        done, rest = await asyncio.wait(
            waiting.values(), return_when=asyncio.FIRST_COMPLETED, timeout=30
        )
        (won,) = [each.result() for each in done]
        assert won.json["claims"][0]["job"]["id"] == job
        while desk.waiting() and not desk.idle.is_set():
            await served.anonymous.get("/healthz")
        assert len(desk.waiting()) == len(rest) == HERD - 1
        assert len(statements) < 40, statements
        for task in rest:
            task.cancel()
    assert await watch.fetchval("select count(*) from decision") == 1


async def test_a_claim_on_an_empty_queue_writes_nothing(
    served: Fleet, watch: asyncpg.Connection
) -> None:
    """C23: each is told when to ask again, and not all at the same time."""
    statements: list[str] = []
    async with crowd_at(served, HERD) as crowd:
        await served.app.state.services.pulses.flush(served.app.state.services.db)
        await listen_in(served, statements)
        before = await watch.fetchval(NEXT_WRITER)
        pauses = set()
        for _ in range(3):
            statements.clear()
            answers = await crowd.claims()
            assert {each.status for each in answers.values()} == {204}
            assert len(statements) < 2 * HERD
            pauses |= {int(each.headers["retry-after"]) for each in answers.values()}
        assert await watch.fetchval(NEXT_WRITER) == before
        assert len(pauses) > 2
        assert all(1 <= pause <= 60 for pause in pauses)


async def test_a_thousand_jobs_of_a_busy_clone_hide_nothing(served: Fleet) -> None:
    """C13: the window is not filled by what cannot run."""
    f1 = await served.factory("f1", seat_limit=2)
    busy = await submit(served, 1, lock="x", priority="critical")
    await f1.post("/claim", json={"factory_id": "f1"})
    hidden = await submit(served, 1000, lock="x", priority="critical")
    runnable = await submit(served, 10, lock="y", priority="low")
    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    assert claim["job"]["id"] == runnable[0]
    said = body_of(await served.ops.get(f"/explain/jobs/{hidden[0]}"))
    reasons = [each["reason"] for each in said["verdicts"][0]["reasons"]]
    assert "lock_held" in reasons
    assert [each["path"] for each in said["blockers"]] == [busy]


@pytest.mark.parametrize("blocked", [{"lock": "a"}, {"required_capabilities": ["gpu"]}])
async def test_a_blocked_head_stops_nobody_behind_it(
    served: Fleet, blocked: dict[str, Any]
) -> None:
    """C17: the next is handed out at once, and in its own clone the order is kept."""
    f1 = await served.factory("f1", seat_limit=5)
    f2 = await served.factory("f2")
    if "lock" in blocked:
        await submit(served, 1, **blocked)
        assert (await f2.post("/claim", json={"factory_id": "f2"})).status_code == 200
    first, second = [(await submit(served, 1, **blocked))[0] for _ in range(2)]
    behind = (await submit(served, 1, lock="b"))[0]
    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    assert claim["job"]["id"] == behind
    held = body_of(await served.client.get("/jobs?state=leased"))["items"]
    for each in held:
        if each["lock"] == "a":
            done = await f2.post(f"/jobs/{each['id']}/complete", json={"fence": 1})
            assert done.status_code == 200
    await f2.put("/factories/f2", json={"capabilities": ["gpu"]})
    (claim,) = body_of(await f2.post("/claim", json={"factory_id": "f2"}))["claims"]
    assert claim["job"]["id"] == first != second


async def test_a_clone_has_one_holder_whoever_claims_at_the_same_instant(
    served: Fleet, watch: asyncpg.Connection
) -> None:
    """C49: losers get a 204, never a refusal or a fault; twenty rounds."""
    async with crowd_at(served, 30) as crowd:
        await submit(served, 30, lock="clone")
        for turn in range(20):
            answers = await crowd.claims()
            won = {name: each for name, each in answers.items() if each.status == 200}
            assert sorted({each.status for each in answers.values()}) == [200, 204]
            assert await watch.fetchval("select count(*) from job where state = 'leased'") == 1
            ((name, answer),) = won.items()
            (claim,) = answer.json["claims"]
            path, fence = f"/jobs/{claim['job']['id']}", {"fence": claim["lease"]["fence"]}
            assert (await crowd.ask(name, f"{path}/complete", fence)).status == 200, turn


async def test_two_agents_are_never_in_one_clone(served: Fleet) -> None:
    """C71: explain names the holder, for the other job as for the factory that waits."""
    f1, f2 = await served.factory("f1", seat_limit=2), await served.factory("f2")
    first, second = await submit(served, 2, lock="clone")
    answers = await asyncio.gather(
        f1.post("/claim", json={"factory_id": "f1"}), f2.post("/claim", json={"factory_id": "f2"})
    )
    assert sorted(each.status_code for each in answers) == [200, 204]
    won = next(each for each in answers if each.status_code == 200)
    assert body_of(won)["claims"][0]["job"]["id"] == first
    assert (await f1.post("/claim", json={"factory_id": "f1"})).status_code == 204
    said = body_of(await served.ops.get(f"/explain/jobs/{second}"))
    assert [each["path"] for each in said["blockers"]] == [[first]]
    holder = "f1" if won is answers[0] else "f2"
    assert f"runs at {holder}" in said["blockers"][0]["sentence"]


async def test_a_factory_that_restarts_gives_its_jobs_back(served: Fleet) -> None:
    """C09: at once, without counting an attempt; it is late for them and is offered nothing."""
    f1 = await served.factory("f1", seat_limit=3)
    f2 = await served.factory("f2", seat_limit=3)
    for lock in ("a", "b", "c"):
        await submit(served, 1, lock=lock)
    leases = body_of(await f1.post("/claim", json={"factory_id": "f1", "max_jobs": 3}))["claims"]
    await served.ops.post("/factories/f1/drain", json={"reason": "restart"})
    for each in leases:
        body = {"fence": each["lease"]["fence"], "reason": "drain"}
        assert (await f1.post(f"/jobs/{each['job']['id']}/release", json=body)).status_code == 200
    again = body_of(await f2.post("/claim", json={"factory_id": "f2", "max_jobs": 3}))["claims"]
    assert {each["job"]["id"] for each in again} == {each["job"]["id"] for each in leases}
    assert {each["lease"]["fence"] for each in again} == {2}
    for each in leases:
        body = {"fence": each["lease"]["fence"]}
        problem_of(await f1.post(f"/jobs/{each['job']['id']}/renew", json=body), 409, "stale-fence")
        job = body_of(await served.client.get(f"/jobs/{each['job']['id']}"))
        assert job["attempts"] == 1
    beat = {
        "leases": [
            {"job_id": each["job"]["id"], "fence": each["lease"]["fence"]} for each in leases
        ]
    }
    heard = body_of(await f1.post("/factories/f1/heartbeat", json=beat))
    assert {each["outcome"] for each in heard["leases"]} == {"lost"}
    assert heard["drain"] is True
    await submit(served, 1)
    nothing = await f1.post("/claim", json={"factory_id": "f1"})
    assert nothing.status_code == 204
    assert "draining" in nothing.headers["fleet-reasons"]


async def expire_all(served: Fleet, watch: asyncpg.Connection) -> None:
    """Let a lease's length pass once nobody is being served, and the lease loop after it."""
    desk = served.app.state.services.desk
    while (await served.anonymous.get("/healthz")).is_success and desk.waiting():
        pass
    await desk.idle.wait()
    await watch.execute(
        "update job set lease_expires_at = lease_expires_at - interval '61 s',"
        " wake_at = wake_at - interval '61 s' where state = 'leased'"
    )
    while (await sweep(served.app.state.services.db)).busy:
        pass


async def listen_in(served: Fleet, statements: list[str]) -> None:
    """Write down every statement on the two connections that the service has."""
    db = served.app.state.services.db
    async with db.connection() as one, db.connection() as other:
        for each in (one, other):
            each.add_query_logger(lambda logged: statements.append(logged.query))


NEXT_WRITER = "select pg_snapshot_xmax(pg_current_snapshot())::text"
"""The number the next transaction gets that writes; those that only read get none."""

LEFT_OPEN = (
    "select count(*) from pg_stat_activity"
    " where datname = current_database() and state like 'idle in transaction%'"
)
