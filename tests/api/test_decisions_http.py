"""Decisions over HTTP: listed, shown, replayed; and the receipts of leases."""

from typing import Any

from app.runtime.ids import new_id
from tests.support.api import Fleet, body_of, problem_of


async def claim(fleet: Fleet, name: str) -> dict[str, Any]:
    (won,) = body_of(await fleet.by(name).post("/claim", json={"factory_id": name}))["claims"]
    assert isinstance(won, dict)
    return won


async def listed(fleet: Fleet, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - any parameter
    return body_of(await fleet.ops.get("/explain/decisions", params=params))


async def test_decisions_are_listed_by_job_factory_and_time(fleet: Fleet) -> None:
    for name in ("f1", "f2"):
        await fleet.factory(name, seat_limit=3)
    for _ in range(3):
        await fleet.submit()
    won = [await claim(fleet, name) for name in ("f1", "f2", "f1")]
    everything = [each["decision_id"] for each in reversed(won)]
    assert [each["id"] for each in (await listed(fleet))["items"]] == everything
    of_f1 = await listed(fleet, factory_id="f1", limit=1)
    assert [each["id"] for each in of_f1["items"]] == everything[:1]
    more = await listed(fleet, factory_id="f1", limit=1, cursor=of_f1["next_cursor"])
    assert [each["id"] for each in more["items"]] == everything[2:]
    assert more["next_cursor"] is None
    (one,) = (await listed(fleet, job_id=won[1]["job"]["id"]))["items"]
    assert (one["factory_id"], one["rank"], one["lost"]) == ("f2", 1, 0)
    middle = one["at"]
    before = await listed(fleet, until=middle)
    after = await listed(fleet, since=middle)
    assert [each["id"] for each in before["items"]] == everything[2:]
    assert [each["id"] for each in after["items"]] == everything[:2]
    problem_of(await fleet.ops.get("/explain/decisions?cursor=MQ"), 422, "invalid-request")


async def test_a_decision_is_shown_and_replayed(fleet: Fleet) -> None:
    await fleet.factory("f1")
    await fleet.submit()
    await fleet.submit(priority="high")
    won = await claim(fleet, "f1")
    shown = body_of(await fleet.ops.get(f"/explain/decisions/{won['decision_id']}"))
    assert shown["replay"] == {"identical": True, "differences": []}
    assert shown["record"]["margin"] == 0
    problem_of(await fleet.ops.get(f"/explain/decisions/{new_id()}"), 404, "not-found")


async def test_leases_leave_receipts(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    job = await fleet.submit()
    first = await claim(fleet, "f1")
    release = {"fence": first["lease"]["fence"], "reason": "disk"}
    await f1.post(f"/jobs/{job['id']}/release", json=release)
    second = await claim(fleet, "f1")
    path = f"/explain/jobs/{job['id']}/leases"
    page = body_of(await fleet.ops.get(path, params={"limit": 1}))
    (receipt,) = page["items"]
    assert (receipt["fence"], receipt["open"]) == (1, False)
    assert receipt["decision_id"] == first["decision_id"]
    ends = [(each["event"], each["outcome"], each["by"]) for each in receipt["events"]]
    assert ends == [("release", "released", "f1")]
    rest = body_of(await fleet.ops.get(path, params={"cursor": page["next_cursor"]}))
    (receipt,) = rest["items"]
    assert (receipt["fence"], receipt["open"], receipt["events"]) == (2, True, [])
    assert receipt["decision_id"] == second["decision_id"]
    problem_of(await fleet.ops.get(f"/explain/jobs/{new_id()}/leases"), 404, "not-found")
    problem_of(await fleet.ops.get(f"{path}?cursor=IngyIg"), 422, "invalid-request")
