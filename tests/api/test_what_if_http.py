"""What if, over HTTP: over the queue, over the past, and nothing changes."""

from typing import Any

from app.runtime.ids import new_id
from tests.support.api import Fleet, body_of, problem_of


async def asked(fleet: Fleet, **body: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    answer = await fleet.ops.post("/explain/what-if", json=body)
    assert answer.status_code == 200, answer.text
    return body_of(answer)


async def test_other_weights_over_the_queue(fleet: Fleet) -> None:
    await fleet.factory("f1", warm_repos=["shop"])
    await fleet.factory("f2")
    first = await fleet.submit(priority="high")
    warm = await fleet.submit(repo="shop")
    said = await asked(fleet, weights={"affinity": 0})
    assert said["warnings"] == []
    f1, f2 = said["factories"]
    assert (f1["factory_id"], f1["flips"]) == ("f1", True)
    assert (f1["before"], f1["after"]) == (warm["id"], first["id"])
    assert f1["sooner"] == [{"job_id": first["id"], "before": 2, "after": 1}]
    assert f1["later"] == [{"job_id": warm["id"], "before": 1, "after": 2}]
    assert (f2["flips"], f2["sooner"], f2["later"]) == (False, [], [])
    broken = await asked(fleet, weights={"starvation": 0})
    assert broken["warnings"][0].startswith("no_starvation: ")


async def test_a_changed_factory_or_job_over_the_queue(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    first = await fleet.submit()
    docker = await fleet.submit(required_capabilities=["docker"], priority="high")
    richer = await asked(fleet, factory={"id": "f1", "capabilities": ["docker"]})
    assert richer["factories"][0]["after"] == docker["id"]
    simpler = await asked(
        fleet, job={"id": docker["id"], "required_capabilities": []}, factory_ids=["f1"]
    )
    assert simpler["factories"][0]["before"] == first["id"]
    assert simpler["factories"][0]["after"] == docker["id"]
    (claim,) = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"]
    assert claim["job"]["id"] == first["id"], "nothing was changed"


async def test_a_changed_job_waits_for_its_lock_all_the_same(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1", seat_limit=2)
    await fleet.submit(lock="merge")
    await f1.post("/claim", json={"factory_id": "f1"})
    locked = await fleet.submit(lock="merge")
    free = await fleet.submit(priority="low")
    said = await asked(fleet, job={"id": locked["id"], "priority": "critical"}, factory_ids=["f1"])
    assert said["factories"][0]["before"] == said["factories"][0]["after"] == free["id"]


async def test_other_weights_over_the_past(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1", warm_repos=["shop"], seat_limit=2)
    first = await fleet.submit(priority="high")
    warm = await fleet.submit(repo="shop")
    await f1.post("/claim", json={"factory_id": "f1"})
    await f1.post("/claim", json={"factory_id": "f1"})
    span = {"since": "2000-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}
    said = await asked(fleet, weights={"affinity": 0}, decisions=span)
    (flip,) = said["decision_flips"]
    assert (said["decisions"], said["more"]) == (2, False)
    assert (flip["job_id"], flip["instead"]) == (warm["id"], first["id"])
    assert flip["longer_s"] == flip["shorter_s"] is not None


async def test_what_is_asked_must_make_sense(fleet: Fleet) -> None:
    for body, status, slug in (
        ({}, 422, "invalid-request"),
        ({"weights": {"cost": -1}}, 422, "invalid-request"),
        ({"job": {"id": str(new_id()), "created_at": None}}, 422, "invalid-request"),
        ({"job": {"id": str(new_id())}}, 404, "not-found"),
        ({"factory": {"id": "f9"}}, 404, "not-found"),
        ({"weights": {}, "factory_ids": ["f9"]}, 404, "not-found"),
    ):
        problem_of(await fleet.ops.post("/explain/what-if", json=body), status, slug)
    problem_of(await fleet.client.post("/explain/what-if", json={}), 403, "forbidden")
