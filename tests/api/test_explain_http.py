"""Why, and why not, over HTTP."""

from typing import Any

from tests.support.api import Fleet, body_of


async def explained(fleet: Fleet, path: str) -> dict[str, Any]:
    """Ask as ops."""
    answer = await fleet.ops.get(path)
    assert answer.status_code == 200, answer.text
    return body_of(answer)


async def test_a_factory_is_told_what_it_would_get_and_what_it_lacks(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1", capabilities=["git"])
    for _ in range(2):
        await fleet.submit(required_capabilities=["docker"])
    await fleet.submit(required_capabilities=["docker", "gpu"])
    await fleet.submit(run_after="2999-01-01T00:00:00Z")
    plain = await fleet.submit()
    high = await fleet.submit(priority="high")
    said = await explained(fleet, "/explain?factory_id=f1")
    assert [each["job_id"] for each in said["ranking"]] == [high["id"], plain["id"]]
    assert said["headline"] == (
        f"Its next claim would get {high['id']}, by a tie-break, for the next ties."
    )
    assert said["unlocks"] == [
        {"capabilities": ["docker"], "jobs": 2},
        {"capabilities": ["docker", "gpu"], "jobs": 3},
    ]
    steps = {each["reason"]: (each["dropped"], each["left"]) for each in said["survivors"]}
    assert steps["not_before"] == (1, 5)
    assert steps["missing_capability"] == (3, 2)
    assert said["factory"]["seats_free"] == 1
    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    assert claim["job"]["id"] == high["id"]

    full = await explained(fleet, "/explain?factory_id=f1")
    assert full["ranking"] == []
    assert full["headline"].endswith("the factory has no free seat.")
    assert full["survivors"][-1] == {"reason": "no_seat", "dropped": 1, "left": 0}
    drained = await fleet.ops.post("/factories/f1/drain", json={"reason": "disk"})
    assert drained.status_code == 200
    said = await explained(fleet, "/explain?factory_id=f1")
    assert said["factory"]["drain"]["reason"] == "disk"
