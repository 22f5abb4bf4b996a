"""Times at the ends of what can be written: refused, or good for every reply that holds them."""

import base64
import json
from typing import Any

import pytest

from app.store.session import Database
from tests.support.api import Fleet, body_of, problem_of
from tests.support.workflows import PR, workshop

OUTSIDE = (
    "9998-12-31T23:59:59-14:00",
    "1970-01-01T00:00:00+01:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
)
LAST = "9999-01-01T13:59:59+14:00"
"""The last second that is taken: by its writer's clock it is in a year that is not."""

Call = tuple[str, str, str, dict[str, Any], str]
"""Who does what where with which body, and the field of it that is a time."""

FIELDS: tuple[Call, ...] = (
    ("client", "POST", "/jobs", {"kind": "test"}, "run_after"),
    ("client", "POST", "/jobs/{job}/hold", {"reason": "release"}, "until"),
    ("ops", "POST", "/factories/f1/drain", {"reason": "disk"}, "until"),
    ("ops", "POST", "/factories/f1/pause", {"reason": "disk"}, "until"),
    ("f1", "POST", "/factories/f1/heartbeat", {}, "cooldown_until"),
    ("ops", "POST", "/tokens", {"role": "ops", "name": "x"}, "expires_at"),
    ("ops", "POST", "/workflows", {"project_id": "{project}", "title": "a"}, "uat_test_at"),
    ("client", "POST", "/repos/shop/pause", {"reason": "disk"}, "until"),
    ("client", "PATCH", "/repos/shop/issues/7", {}, "next_try_at"),
)
LISTS = (
    *("/jobs", "/factories", "/tokens", "/workflows", "/explain/workflows"),
    *("/repos", "/repos/shop/issues", "/explain?factory_id=f1"),
)


async def _scene(fleet: Fleet) -> dict[str, str]:
    """Set up one thing of each sort, and name those whose ids are not ours to choose."""
    shop = await workshop(fleet)
    await fleet.client.put("/repos/shop", json={})
    await fleet.client.post("/repos/shop/issues", json={"number": 7, "title": "slow"})
    return {"{job}": (await fleet.submit())["id"], "{project}": shop.project_id}


async def _ask(fleet: Fleet, names: dict[str, str], call: Call, at: str) -> Any:  # noqa: ANN401 - a response
    who, method, path, body, field = call
    filled = {name: names.get(value, value) for name, value in body.items()}
    path = path.replace("{job}", names["{job}"])
    headers = {}
    if method == "PATCH":
        headers["If-Match"] = (await fleet.ops.get(path)).headers["ETag"]
    return await fleet.by(who).request(method, path, json={**filled, field: at}, headers=headers)


@pytest.mark.parametrize("call", FIELDS, ids=lambda call: f"{call[2]} {call[-1]}")
async def test_a_time_outside_of_the_years_is_refused_by_name(fleet: Fleet, call: Call) -> None:
    names = await _scene(fleet)
    for at in OUTSIDE:
        refused = problem_of(await _ask(fleet, names, call, at), 422, "invalid-request")
        assert [each["field"] for each in refused["errors"]] == [call[-1]]


async def test_the_last_time_that_is_taken_can_be_read_everywhere(fleet: Fleet) -> None:
    names = await _scene(fleet)
    for call in FIELDS:
        if call[-1] != "cooldown_until":  # A usage limit of thousands of years is none.
            answered = await _ask(fleet, names, call, LAST)
            assert answered.is_success, answered.text
    for path in (*LISTS, f"/explain/jobs/{names['{job}']}?factory_id=f1"):
        answered = await fleet.ops.get(path)
        assert answered.status_code == 200, (path, answered.text)
    jobs = body_of(await fleet.client.get("/jobs"))["items"]
    assert {each["run_after"] for each in jobs} == {None, "9998-12-31T23:59:59Z"}


async def test_what_was_stored_of_such_times_can_still_be_listed(
    fleet: Fleet, db: Database
) -> None:
    await _scene(fleet)
    async with db.connection() as conn:
        await conn.execute("update job set run_after = '9999-12-31T23:59:59Z'")
        await conn.execute("update repo_issue set next_try_at = '1969-12-31T23:00:00Z'")
    for path in LISTS:
        assert (await fleet.ops.get(path)).status_code == 200, path


@pytest.mark.parametrize("at", [*OUTSIDE, "9999-01-01T00:00:00Z", "2026-03-01T09:30:00"])
async def test_an_agent_that_brings_such_a_time_has_failed(fleet: Fleet, at: str) -> None:
    shop = await workshop(fleet)
    workflow = await shop.workflow(
        status="merged", pr_url=PR, tracks_after_merge=True, has_uat=True
    )
    await shop.tick()
    await shop.do({"uat_test_at": at})

    (error,) = (await shop.tick())["errors"]

    assert error["error"] == f"uat_test_at is not a usable time with its zone: {at!r}"
    assert (await fleet.ops.get("/workflows")).status_code == 200
    after = await shop.read(workflow)
    assert (after["status"], after["stage_failures"]) == ("merged", 1)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_cursor_with_such_a_time_is_refused(fleet: Fleet, at: str) -> None:
    names = await _scene(fleet)
    for path, key in (
        ("/repos/shop/candidates", [at, names["{job}"]]),
        (f"/jobs/{names['{job}']}/events", [at, 1, 1, 1]),
    ):
        cursor = base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
        refused = problem_of(
            await fleet.ops.get(path, params={"cursor": cursor}), 422, "invalid-request"
        )
        assert [each["field"] for each in refused["errors"]] == ["cursor"]
