"""Cool-downs of accounts: bounded, whoever orders them, and lifted by a resume."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.api import Fleet, body_of, problem_of

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)


async def _now(fleet: Fleet) -> datetime:
    """The coordinator's clock."""
    page = body_of(await fleet.ops.get("/explain", params={"factory_id": "f1"}))
    return datetime.fromisoformat(page["now"])


async def _claimed(fleet: Fleet) -> dict[str, Any]:
    await fleet.submit()
    claim = await fleet.by("f1").post("/claim", json={"factory_id": "f1"})
    (claimed,) = body_of(claim)["claims"]
    return {"job_id": claimed["job"]["id"], "fence": claimed["lease"]["fence"]}


async def _cooldown(fleet: Fleet, factory: str) -> str | None:
    until = body_of(await fleet.ops.get(f"/factories/{factory}"))["cooldown_until"]
    assert until is None or isinstance(until, str)
    return until


async def test_a_resume_lifts_the_cool_down_for_all_who_share_the_account(fleet: Fleet) -> None:
    f1, f2 = [await fleet.factory(name, account="team") for name in ("f1", "f2")]
    f3 = await fleet.factory("f3")
    until = (await _now(fleet) + DAY).isoformat()
    for factory, name in ((f1, "f1"), (f3, "f3")):
        beaten = await factory.post(f"/factories/{name}/heartbeat", json={"cooldown_until": until})
        assert beaten.status_code == 200, beaten.text
    await fleet.submit()
    assert (await f2.post("/claim", json={"factory_id": "f2"})).status_code == 204

    resumed = body_of(await fleet.ops.post("/factories/f2/resume"))

    assert resumed["cooldown_until"] is None
    assert [await _cooldown(fleet, name) is None for name in ("f1", "f2", "f3")] == [
        *(True, True, False)
    ]
    assert body_of(await fleet.ops.post("/factories/f3/resume"))["cooldown_until"] is None
    assert (await f2.post("/claim", json={"factory_id": "f2"})).status_code == 200


@pytest.mark.parametrize("cool_at", ["heartbeat", "release"])
async def test_a_cool_down_of_more_than_a_week_is_refused_by_name(
    fleet: Fleet, cool_at: str
) -> None:
    f1 = await fleet.factory("f1")
    lease = await _claimed(fleet)
    paths = {
        "heartbeat": ("/factories/f1/heartbeat", {"leases": [lease]}),
        "release": (f"/jobs/{lease['job_id']}/release", {"fence": lease["fence"], "reason": "x"}),
    }
    path, body = paths[cool_at]
    week = await _now(fleet) + 7 * DAY

    too_long = {**body, "cooldown_until": (week + MINUTE).isoformat()}
    refused = problem_of(await f1.post(path, json=too_long), 422, "invalid-request")

    assert [each["field"] for each in refused["errors"]] == ["cooldown_until"]
    assert await _cooldown(fleet, "f1") is None
    job = body_of(await fleet.ops.get(f"/jobs/{lease['job_id']}"))
    assert (job["state"], job["fence_open"]) == ("leased", True)
    just = {**body, "cooldown_until": (week - MINUTE).isoformat()}
    assert (await f1.post(path, json=just)).status_code == 200
    assert await _cooldown(fleet, "f1") is not None


async def test_a_heartbeat_with_such_a_cool_down_still_renews(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    lease = await _claimed(fleet)
    path = f"/jobs/{lease['job_id']}"
    before = body_of(await fleet.ops.get(path))["lease_expires_at"]
    far = {"leases": [lease], "health": "degraded", "cooldown_until": "9998-01-01T00:00:00Z"}

    problem_of(await f1.post("/factories/f1/heartbeat", json=far), 422, "invalid-request")

    assert body_of(await fleet.ops.get(path))["lease_expires_at"] > before
    known = body_of(await fleet.ops.get("/factories/f1"))
    assert (known["reported_health"], known["cooldown_until"]) == ("degraded", None)


async def test_explain_offers_the_resume_that_lifts_it(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    until = (await _now(fleet) + DAY).isoformat()
    await f1.post("/factories/f1/heartbeat", json={"cooldown_until": until})
    job = await fleet.submit()
    why = await fleet.ops.get(f"/explain/jobs/{job['id']}", params={"factory_id": "f1"})
    (option,) = body_of(why)["pair"]["flips"]
    assert [(each["method"], each["path"]) for each in option["calls"]] == [
        ("POST", "/factories/f1/resume")
    ]
