"""The whole path of a job over real HTTP: submit, explain, claim, renew, complete, look back."""

from tests.support.api import Fleet, body_of


async def walk(served: Fleet) -> None:
    """Walk it once, and look at every answer."""
    f1 = await served.factory("f1", capabilities=["docker"], engines=["claude"])
    job = await served.submit(
        required_capabilities=["docker"], payload={"prompt": "fix it"}, labels={"team": "web"}
    )
    assert job["state"] == "ready"
    assert job["warnings"] == []

    explained = body_of(await served.ops.get("/explain", params={"factory_id": "f1"}))
    assert [each["job_id"] for each in explained["ranking"]] == [job["id"]]

    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    assert claim["job"]["id"] == job["id"]
    assert claim["job"]["payload"] == {"prompt": "fix it"}
    assert claim["score"]["total"] == sum(claim["score"]["breakdown"].values())
    assert claim["score"]["total"] == explained["ranking"][0]["score"]["total"]
    assert claim["lease"]["next_heartbeat_s"] == 20
    fence = claim["lease"]["fence"]

    kept = body_of(await f1.post(f"/jobs/{job['id']}/renew", json={"fence": fence}))
    assert kept["outcome"] == "renewed"

    done = await f1.post(f"/jobs/{job['id']}/complete", json={"fence": fence, "result": {"a": 1}})
    assert body_of(done)["job"] == {
        "id": job["id"],
        "state": "succeeded",
        "version": body_of(done)["job"]["version"],
    }
    again = await f1.post(f"/jobs/{job['id']}/complete", json={"fence": fence, "result": {"a": 1}})
    assert body_of(again)["job"] == body_of(done)["job"]
    assert body_of(again)["replayed"] is True

    stored = await served.client.get(f"/jobs/{job['id']}")
    assert body_of(stored)["result"] == {"a": 1}
    assert stored.headers["etag"] == f'"{body_of(stored)["version"]}"'
    events = body_of(await served.ops.get(f"/jobs/{job['id']}/events"))["items"]
    assert [each["event"] for each in events][:2] == ["submit", "claimed"]

    decision = await served.ops.get(f"/explain/decisions/{claim['decision_id']}")
    assert body_of(decision)["job_id"] == job["id"]
    assert body_of(decision)["record"]["rank"] == 1
