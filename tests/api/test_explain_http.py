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


async def test_a_job_is_followed_down_to_what_really_blocks_it(fleet: Fleet) -> None:
    await fleet.factory("f1")
    f2 = await fleet.factory("f2", capabilities=["gpu"])
    root = await fleet.submit(required_capabilities=["gpu"], lock="clone")
    middle = await fleet.submit(depends_on=[root["id"]])
    leaf = await fleet.submit(depends_on=[middle["id"]])
    same_lock = await fleet.submit(lock="clone", priority="low", depends_on=[])
    (claim,) = body_of(await f2.post("/claim", json={"factory_id": "f2"}))["claims"]
    assert claim["job"]["id"] == root["id"]

    said = await explained(fleet, f"/explain/jobs/{leaf['id']}")
    assert said["sentence"] == "It waits for 1 job to end."
    assert said["queue"] is None
    (blocker,) = said["blockers"]
    assert blocker["path"] == [middle["id"], root["id"]]
    assert blocker["sentence"].startswith("It runs at f2; the lease runs until ")
    upward = await explained(fleet, f"/explain/jobs/{root['id']}")
    assert [(each["job_id"], each["steps"]) for each in upward["dependants"]] == [
        (middle["id"], 1),
        (leaf["id"], 2),
    ]
    locked = await explained(fleet, f"/explain/jobs/{same_lock['id']}")
    assert [each["path"] for each in locked["blockers"]] == [[root["id"]]]


async def test_a_job_that_can_be_taken_knows_its_place_in_the_queue(fleet: Fleet) -> None:
    await fleet.factory("f1")
    await fleet.factory("f2", warm_repos=["shop"], seat_limit=2)
    first = await fleet.submit()
    second = await fleet.submit()
    warm = await fleet.submit(repo="shop", priority="low")
    said = await explained(fleet, f"/explain/jobs/{second['id']}")
    assert said["headline"] == "2 of 2 factories can take it."
    assert {each["factory_id"]: each["rank"] for each in said["verdicts"]} == {"f1": 2, "f2": 3}
    assert said["queue"]["factory_id"] == "f1"
    assert [each["job_id"] for each in said["queue"]["first"]] == [first["id"]]
    best = await explained(fleet, f"/explain/jobs/{warm['id']}?factory_id=f2")
    assert best["verdicts"][0]["rank"] == 1
    assert best["queue"]["first"] == []


async def test_a_pair_is_told_the_smallest_changes_as_calls(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1", capabilities=["git"])
    first = await fleet.submit(priority="high")
    job = await fleet.submit(required_capabilities=["docker"])
    said = await explained(fleet, f"/explain/jobs/{job['id']}?factory_id=f1")
    pair = said["pair"]
    assert pair["would_take"] is False
    assert pair["headline"] == f"f1 cannot take {job['id']} now: the factory lacks docker."
    assert pair["instead"] == first["id"]
    assert pair["wait"] is None
    assert pair["flips"]
    assert pair["flips"][0]["changes"][0]["kind"] in {"offer", "require_less"}
    for call in pair["flips"][0]["calls"]:
        version = body_of(await fleet.ops.get(f"/jobs/{job['id']}"))["version"]
        answer = await fleet.ops.request(
            call["method"],
            call["path"],
            json=call["body"] or None,
            headers={"If-Match": f'"{version}"'} if call["method"] == "PATCH" else {},
        )
        assert answer.status_code == 200, answer.text
    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    assert claim["job"]["id"] == job["id"]
    mine = await explained(fleet, f"/explain/jobs/{first['id']}?factory_id=f1")
    kinds = [[each["kind"] for each in flip["changes"]] for flip in mine["pair"]["flips"]]
    assert kinds == [["seats"]]
