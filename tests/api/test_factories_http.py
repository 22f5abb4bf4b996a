"""Factories, tokens, ticks and explanations over HTTP."""

from tests.support.api import Fleet, body_of, problem_of


async def test_a_restart_clears_no_decision_of_ops(fleet: Fleet) -> None:
    first = await fleet.factory("f1", seat_limit=3, cost_ceiling="medium", labels={"rack": "b2"})
    shown = await fleet.ops.get("/factories/f1")
    body = body_of(shown)
    assert (body["seat_limit"], body["cost_ceiling"], body["labels"]) == (
        3,
        "medium",
        {"rack": "b2"},
    )
    assert shown.headers["etag"] == f'"{body["version"]}"'
    await fleet.ops.post("/factories/f1/drain", json={"reason": "disk"})
    override = await fleet.ops.put("/factories/f1", json={"seat_limit": 1})
    assert body_of(override)["seat_limit_override"] == 1
    assert body_of(override)["cost_ceiling"] == "medium"
    again = body_of(await first.put("/factories/f1", json={"seat_limit": 5}))
    assert (again["seat_limit"], again["seat_limit_override"]) == (1, 1)
    assert again["drain"]["reason"] == "disk"
    assert again["labels"] == {}
    back = body_of(await fleet.ops.put("/factories/f1", json={"seat_limit": None}))
    assert (back["seat_limit"], back["seat_limit_override"]) == (5, None)
    refused = await first.put("/factories/f1", json={"seat_limit": None})
    errors = problem_of(refused, 422, "invalid-request")["errors"]
    assert [each["field"] for each in errors] == ["seat_limit"]
    stale = await fleet.ops.put("/factories/f1", json={}, headers={"If-Match": '"1"'})
    problem_of(stale, 412, "version-mismatch")


async def test_heartbeats_move_no_version(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    before = (await fleet.ops.get("/factories/f1")).headers["etag"]
    heard = await f1.post("/factories/f1/heartbeat", json={"external_load": 3})
    assert body_of(heard) == {"leases": [], "drain": False, "next_heartbeat_s": 60}
    assert (await fleet.ops.get("/factories/f1")).headers["etag"] == before


async def test_ids_given_by_people(fleet: Fleet) -> None:
    for fine in ("f-1.example", "mac mini", "é", "x" * 128):
        response = await fleet.ops.put(f"/factories/{fine}", json={})
        assert response.status_code == 201, fine
        assert (await fleet.ops.get(f"/factories/{fine}")).status_code == 200
    for wrong in ("%20x", "x%20", "x%0A", "x" * 129):
        response = await fleet.ops.put(f"/factories/{wrong}", json={})
        errors = problem_of(response, 422, "invalid-request")["errors"]
        assert [each["field"] for each in errors] == ["factory_id"]
    problem_of(await fleet.ops.put("/factories/a%2Fb", json={}), 404, "not-found")
    for wrong in ("a/b", "a\n", " a", "..", ""):
        response = await fleet.ops.post("/tokens", json={"role": "factory", "factory_id": wrong})
        problem_of(response, 422, "invalid-request")


async def test_bounds_of_a_factory(fleet: Fleet) -> None:
    for wrong in (
        {"seat_limit": -1},
        {"seat_limit": 1001},
        {"seat_limit": "2"},
        {"external_load": 10_001},
        {"capabilities": ["a"] * 65},
        {"capabilities": ["x" * 129]},
        {"health": "great"},
        {"account": ""},
        {"warm_repos": ["x" * 513]},
        {"unknown": 1},
    ):
        response = await fleet.ops.put("/factories/f1", json=wrong)
        errors = problem_of(response, 422, "invalid-request")["errors"]
        assert [each["field"].partition("[")[0] for each in errors] == list(wrong)
    assert (await fleet.ops.get("/factories")).json()["items"] == []


async def test_factories_are_listed_and_dismissed(fleet: Fleet) -> None:
    for name in ("a", "b", "c"):
        await fleet.factory(name)
    first = body_of(await fleet.ops.get("/factories?limit=2"))
    rest = body_of(await fleet.ops.get("/factories", params={"cursor": first["next_cursor"]}))
    assert [each["id"] for each in first["items"] + rest["items"]] == ["a", "b", "c"]
    assert rest["next_cursor"] is None
    await fleet.submit()
    won = body_of(await fleet.by("a").post("/claim", json={"factory_id": "a"}))["claims"][0]
    problem_of(await fleet.ops.delete("/factories/a"), 409, "factory-busy")
    released = {"fence": won["lease"]["fence"], "reason": "drain"}
    back = await fleet.by("a").post(f"/jobs/{won['job']['id']}/release", json=released)
    assert body_of(back)["job"]["state"] == "ready"
    assert (await fleet.ops.delete("/factories/a")).status_code == 204
    problem_of(await fleet.ops.get("/factories/a"), 404, "not-found")


async def test_tokens_are_shown_once_and_listed_without_secret(fleet: Fleet) -> None:
    headers = {"Idempotency-Key": "t"}
    body = {"role": "factory", "factory_id": "f9"}
    made = await fleet.ops.post("/tokens", json=body, headers=headers)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    token = body_of(made)["token"]
    repeat = await fleet.ops.post("/tokens", json=body, headers=headers)
    assert (body_of(repeat)["id"], body_of(repeat)["token"]) == (body_of(made)["id"], None)
    listed = await fleet.ops.get("/tokens?limit=500")
    assert token not in listed.text
    assert body_of(made)["id"] in [each["id"] for each in body_of(listed)["items"]]
    for wrong in ({"role": "factory"}, {"role": "ops", "factory_id": "f1"}, {"role": "king"}):
        problem_of(await fleet.ops.post("/tokens", json=wrong), 422, "invalid-request")
    unknown = await fleet.ops.delete("/tokens/01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11")
    problem_of(unknown, 404, "not-found")


async def test_the_tick_over_leases(fleet: Fleet) -> None:
    nothing = {"expired": 0, "died": 0, "timed_out": 0, "unblocked": 0, "pruned": 0}
    for who in (fleet.cron, fleet.ops):
        report = body_of(await who.post("/tick/leases"))
        assert {name: report[name] for name in nothing} == nothing
        assert body_of(await who.post("/tick"))["leases"].keys() == report.keys()
    problem_of(await fleet.client.post("/tick"), 403, "forbidden")


async def test_why_a_job_is_not_taken(fleet: Fleet) -> None:
    await fleet.factory("f1", capabilities=["docker"])
    await fleet.factory("f2")
    job = await fleet.submit(required_capabilities=["docker"])
    assert job["warnings"] == []
    await fleet.ops.post(f"/jobs/{job['id']}/hold", json={"reason": "think"})
    found = body_of(await fleet.ops.get(f"/explain/jobs/{job['id']}"))
    verdicts = {each["factory_id"]: each for each in found["verdicts"]}
    assert {each["reason"] for each in verdicts["f1"]["reasons"]} == {"not_ready", "on_hold"}
    lacking = [each for each in verdicts["f2"]["reasons"] if each["permanent"]]
    assert [each["missing"] for each in lacking] == [["docker"]]
    assert found["headline"] == (
        "No factory can take it now: the job is on hold (think, by ops). "
        "Otherwise 1 of 2 could: 1 lacks docker."
    )
    only = body_of(await fleet.ops.get(f"/explain/jobs/{job['id']}?factory_id=f2"))
    assert [each["factory_id"] for each in only["verdicts"]] == ["f2"]
    unknown = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
    problem_of(await fleet.ops.get(f"/explain/jobs/{unknown}"), 404, "not-found")
    problem_of(await fleet.ops.get(f"/explain/decisions/{unknown}"), 404, "not-found")
    problem_of(await fleet.ops.get("/explain?factory_id=f9"), 404, "not-found")
    problem_of(await fleet.ops.get("/explain"), 422, "invalid-request")
    problem_of(await fleet.ops.get("/explain?factory_id=f1&limit=101"), 422, "invalid-request")
