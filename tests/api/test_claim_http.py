"""Claims over real HTTP: nothing now, waiting, hanging up, repeating."""

import asyncio
import re

from app.main import stop_waiting
from tests.support.api import Fleet, body_of, problem_of


async def test_nothing_now_says_why_and_when_to_ask_again(served: Fleet) -> None:
    f1 = await served.factory("f 1/é".replace("/", "-"), capabilities=["gpu"])
    name = "f 1-é"
    for _ in range(3):
        await served.submit(required_capabilities=["docker"])
    response = await f1.post("/claim", json={"factory_id": name})
    assert response.status_code == 204
    assert response.content == b""
    assert response.headers["fleet-reasons"] == "missing_capability=3"
    assert 1 <= int(response.headers["retry-after"]) <= 60
    link = re.fullmatch(r'<(.*)>; rel="describedby"', response.headers["link"])
    assert link is not None
    explained = body_of(await f1.get(link[1]))
    assert explained["ranking"] == []
    assert explained["blocked"] == {"missing_capability": 3}


async def test_what_refuses_the_factory_is_a_204_too(served: Fleet) -> None:
    f1 = await served.factory("f1")
    await served.submit()
    paused = await served.ops.post("/factories/f1/pause", json={"reason": "look at it"})
    assert body_of(paused)["pause"]["by"] == "ops"
    response = await f1.post("/claim", json={"factory_id": "f1"})
    assert response.status_code == 204
    assert "paused=1" in response.headers["fleet-reasons"]
    assert (await served.ops.post("/factories/f1/resume")).status_code == 200
    assert (await f1.post("/claim", json={"factory_id": "f1"})).status_code == 200


async def test_an_unknown_factory_is_a_404_and_another_one_a_403(served: Fleet) -> None:
    await served.factory("f1")
    f2 = await served.factory("f2")
    assert (await served.ops.delete("/factories/f2")).status_code == 204
    problem_of(await f2.post("/claim", json={"factory_id": "f2"}), 404, "not-found")
    problem_of(await f2.post("/claim", json={"factory_id": "f1"}), 403, "forbidden")
    problem_of(await f2.put("/factories/f1", json={}), 403, "forbidden")
    problem_of(await f2.post("/factories/f1/heartbeat", json={}), 403, "forbidden")
    problem_of(await f2.get("/explain?factory_id=f1"), 403, "forbidden")
    problem_of(await served.ops.post("/claim", json={"factory_id": "f1"}), 403, "forbidden")


async def test_who_waits_gets_the_job_that_comes(served: Fleet) -> None:
    f1 = await served.factory("f1")
    waiting = asyncio.create_task(
        f1.post("/claim", json={"factory_id": "f1"}, headers={"Prefer": "respond-async, wait=30"})
    )
    await _somebody_waits(served)
    job = await served.submit()
    response = await waiting
    assert response.headers["preference-applied"] == "wait=30"
    (claim,) = body_of(response)["claims"]
    assert claim["job"]["id"] == job["id"]


async def test_who_waits_in_vain_is_answered_when_time_is_up(served: Fleet) -> None:
    f1 = await served.factory("f1")
    headers = {"Prefer": "wait=50"}
    body = {"factory_id": "f1", "wait_s": 1}
    response = await f1.post("/claim", json=body, headers=headers)
    assert response.status_code == 204
    assert "preference-applied" not in response.headers


async def test_who_hangs_up_leaves_the_desk(served: Fleet) -> None:
    f1 = await served.factory("f1")
    waiting = asyncio.create_task(f1.post("/claim", json={"factory_id": "f1", "wait_s": 60}))
    await _somebody_waits(served)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(10):
        while served.app.state.services.desk.waiting():
            await served.ops.get("/healthz")
    job = await served.submit()
    stored = body_of(await served.ops.get(f"/jobs/{job['id']}"))
    assert stored["state"] == "ready"


async def test_a_server_that_ends_sends_everybody_away(served: Fleet) -> None:
    f1 = await served.factory("f1")
    waiting = asyncio.create_task(f1.post("/claim", json={"factory_id": "f1", "wait_s": 60}))
    await _somebody_waits(served)
    stop_waiting(served.app)
    response = await waiting
    problem_of(response, 503, "unavailable")
    assert int(response.headers["retry-after"]) >= 1


async def test_a_repeated_claim_gets_the_same_lease(served: Fleet) -> None:
    f1 = await served.factory("f1", seat_limit=5)
    for _ in range(3):
        await served.submit()
    headers = {"Idempotency-Key": '"k-1"'}
    body = {"factory_id": "f1"}
    first, second = [
        body_of(await f1.post("/claim", json=body, headers=headers))["claims"] for _ in range(2)
    ]
    assert [each["job"]["id"] for each in first] == [each["job"]["id"] for each in second]
    assert [each["lease"]["fence"] for each in first] == [each["lease"]["fence"] for each in second]
    other = await f1.post("/claim", json=body, headers={"Idempotency-Key": "k-2"})
    assert body_of(other)["claims"][0]["job"]["id"] != first[0]["job"]["id"]
    job, fence = first[0]["job"]["id"], first[0]["lease"]["fence"]
    done = await f1.post(f"/jobs/{job}/complete", json={"fence": fence})
    assert done.status_code == 200
    spent = await f1.post("/claim", json=body, headers={"Idempotency-Key": "k-1"})
    problem_of(spent, 409, "claim-key-spent")


async def test_complete_and_claim_next_in_one_call(served: Fleet) -> None:
    f1 = await served.factory("f1")
    await served.submit(priority="high")
    second = await served.submit()
    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    report = {"fence": claim["lease"]["fence"], "result": None, "claim_next": 1}
    done = body_of(await f1.post(f"/jobs/{claim['job']['id']}/complete", json=report))
    (following,) = done["claims"]
    assert following["job"]["id"] == second["id"]
    again = body_of(await f1.post(f"/jobs/{claim['job']['id']}/complete", json=report))
    assert [each["lease"]["fence"] for each in again["claims"]] == [following["lease"]["fence"]]


async def test_several_leases_end_in_one_call_each_on_its_own(served: Fleet) -> None:
    f1 = await served.factory("f1", seat_limit=3)
    await served.factory("f2")
    jobs = [(await served.submit())["id"] for _ in range(3)]
    claims = body_of(await f1.post("/claim", json={"factory_id": "f1", "max_jobs": 2}))["claims"]
    theirs = body_of(await served.by("f2").post("/claim", json={"factory_id": "f2"}))["claims"][0]
    unknown = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
    reports = [
        {"job_id": claims[0]["job"]["id"], "fence": claims[0]["lease"]["fence"]},
        {"job_id": claims[1]["job"]["id"], "fence": 99},
        {"job_id": theirs["job"]["id"], "fence": theirs["lease"]["fence"]},
        {"job_id": unknown, "fence": 1},
    ]
    done = body_of(await f1.post("/leases/complete", json={"leases": reports, "claim_next": 1}))
    outcomes = [each["outcome"] for each in done["outcomes"]]
    assert outcomes == ["succeeded", "stale_fence", "not_yours", "not_found"]
    assert len(jobs) == 3
    stolen = {"fence": theirs["lease"]["fence"]}
    for verb, more in (
        ("renew", {}),
        ("complete", {}),
        ("fail", {"error": "x"}),
        ("release", {"reason": "x"}),
    ):
        path = f"/jobs/{theirs['job']['id']}/{verb}"
        problem_of(await f1.post(path, json=stolen | more), 403, "forbidden")
        stale = await f1.post(f"/jobs/{claims[1]['job']['id']}/{verb}", json={"fence": 99} | more)
        problem_of(stale, 409, "stale-fence")
        missing = await f1.post(f"/jobs/{unknown}/{verb}", json={"fence": 1} | more)
        problem_of(missing, 404, "not-found")


async def test_a_result_is_kept_as_it_was_reported(served: Fleet) -> None:
    f1 = await served.factory("f1")
    results: list[object] = [[1, [2, []]], [None, []], [], {}, {"a": [1]}, "text", 1.5, True, None]
    for result in results:
        job = await served.submit()
        (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
        report = {"fence": claim["lease"]["fence"], "result": result}
        done = await f1.post(f"/jobs/{job['id']}/complete", json=report)
        assert done.status_code == 200, result
        assert body_of(await served.ops.get(f"/jobs/{job['id']}"))["result"] == result


async def test_heartbeats_renew_and_tell(served: Fleet) -> None:
    f1 = await served.factory("f1", seat_limit=3)
    for _ in range(2):
        await served.submit()
    claims = body_of(await f1.post("/claim", json={"factory_id": "f1", "max_jobs": 2}))["claims"]
    held = [{"job_id": each["job"]["id"], "fence": each["lease"]["fence"]} for each in claims]
    unknown = {"job_id": "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11", "fence": 1}
    cancelled = await served.ops.post(f"/jobs/{held[1]['job_id']}/cancel")
    assert body_of(cancelled)["outcome"] == "cancel_requested"
    await served.ops.post("/factories/f1/drain", json={"reason": "disk"})
    beat = {"leases": [*held, unknown], "external_load": 2, "health": "degraded"}
    heard = body_of(await f1.post("/factories/f1/heartbeat", json=beat))
    assert [each["outcome"] for each in heard["leases"]] == ["renewed", "cancel_requested", "lost"]
    assert [each["expires_at"] is None for each in heard["leases"]] == [False, False, True]
    assert heard["drain"] is True
    assert heard["next_heartbeat_s"] == 20
    shown = body_of(await served.ops.get("/factories/f1"))
    assert (shown["reported_health"], shown["external_load"]) == ("degraded", 2)


async def _somebody_waits(served: Fleet) -> None:
    """Return when a claim is parked at the desk; each turn is a whole request and its answer."""
    async with asyncio.timeout(10):
        while not served.app.state.services.desk.waiting():
            await served.ops.get("/healthz")
