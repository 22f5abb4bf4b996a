"""Jobs over HTTP: submitting once, versions, lists, and what is refused."""

import asyncio

from tests.support.api import Fleet, body_of, problem_of


async def test_submitting_says_where_the_job_is(fleet: Fleet) -> None:
    response = await fleet.client.post("/jobs", json={"kind": "test"})
    job = body_of(response)
    assert response.status_code == 201
    assert response.headers["location"] == f"/jobs/{job['id']}"
    assert response.headers["etag"] == f'"{job["version"]}"'
    assert job["warnings"] != []
    read = await fleet.client.get(response.headers["location"])
    assert body_of(read) == {name: job[name] for name in job if name != "warnings"}
    defaults = ("priority", "cost_class", "if_parent_fails", "timeout_s", "max_attempts")
    assert [job[name] for name in defaults] == ["normal", "low", "cancel", 4 * 3600, 3]


async def test_the_defaults_of_the_table_can_all_be_said(fleet: Fleet) -> None:
    everything = {
        "kind": "test",
        "repo": "acme/web",
        "payload": {"prompt": "x", "deep": [[[{}]]]},
        "prefers_engine": "claude",
        "required_capabilities": ["docker", "gpu"],
        "priority": "critical",
        "cost_class": "high",
        "lock": "clone:/src",
        "if_parent_fails": "run",
        "run_after": "2030-01-01T00:00:00Z",
        "timeout_s": 60,
        "max_attempts": 1,
        "dedupe_key": "once",
        "labels": {"team": "web"},
    }
    job = body_of(await fleet.client.post("/jobs", json=everything))
    assert {name: job[name] for name in everything} == everything
    assert job["state"] == "scheduled"
    repeat = await fleet.client.post("/jobs", json=everything)
    assert repeat.status_code == 200
    assert body_of(repeat)["id"] == job["id"]


async def test_a_key_makes_a_repeat_harmless(fleet: Fleet) -> None:
    headers = {"Idempotency-Key": '"abc"'}
    body = {"kind": "test", "payload": {"a": 1, "b": 2}}
    answers = await asyncio.gather(
        *(fleet.client.post("/jobs", json=body, headers=headers) for _ in range(10))
    )
    assert {each.status_code for each in answers} == {201}
    assert len({body_of(each)["id"] for each in answers}) == 1
    assert sum("idempotent-replayed" in each.headers for each in answers) == 9
    assert {each.headers["location"] for each in answers} == {answers[0].headers["location"]}
    bare = {"Idempotency-Key": "abc"}
    turned = {"payload": {"b": 2, "a": 1}, "kind": "test"}
    same = await fleet.client.post("/jobs", json=turned, headers=bare)
    assert body_of(same)["id"] == body_of(answers[0])["id"]
    other = await fleet.client.post("/jobs", json={"kind": "other"}, headers=headers)
    problem_of(other, 409, "idempotency-key-reused")
    elsewhere = await fleet.ops.post("/jobs", json={"kind": "other"}, headers=headers)
    assert elsewhere.status_code == 201
    for wrong in (b"", b'""', b"x" * 256, "é".encode()):
        refused = await fleet.client.post("/jobs", json=body, headers={b"Idempotency-Key": wrong})
        problem_of(refused, 422, "invalid-request")


async def test_a_refused_call_leaves_its_key_unused(fleet: Fleet) -> None:
    headers = {"Idempotency-Key": "again"}
    unknown = {"kind": "test", "depends_on": ["01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"]}
    for _ in range(2):
        refused = await fleet.client.post("/jobs", json=unknown, headers=headers)
        problem_of(refused, 422, "unknown-dependency")
    taken = await fleet.client.post("/jobs", json={"kind": "test"}, headers=headers)
    assert taken.status_code == 201


async def test_a_batch_is_taken_whole_or_not_at_all(fleet: Fleet) -> None:
    def batch(*jobs: tuple[str, list[str]]) -> dict[str, object]:
        return {"jobs": [{"kind": "t", "ref": ref, "depends_on": on} for ref, on in jobs]}

    ring = batch(("a", ["b"]), ("b", ["c"]), ("c", ["a"]))
    body = problem_of(await fleet.client.post("/jobs/batch", json=ring), 422, "dependency-cycle")
    assert set(body["cycle"]) == {"a", "b", "c"}
    unknown = batch(("a", []), ("b", ["zzz"]))
    problem_of(await fleet.client.post("/jobs/batch", json=unknown), 422, "unknown-dependency")
    assert body_of(await fleet.client.get("/jobs"))["items"] == []
    stored = await fleet.submit()
    fine = batch(("a", ["a-b"]), ("a-b", [stored["id"], stored["id"]]))
    response = await fleet.client.post(
        "/jobs/batch", json=fine, headers={"Idempotency-Key": "batch"}
    )
    assert response.status_code == 201
    first, second = body_of(response)["jobs"]
    assert first["depends_on"] == [second["id"]]
    assert second["depends_on"] == [stored["id"]]
    many = {"jobs": [{"kind": "t"}] * 1001}
    problem_of(await fleet.client.post("/jobs/batch", json=many), 422, "invalid-request")


async def test_a_patch_names_the_version_it_means(fleet: Fleet) -> None:
    job = await fleet.submit(labels={"a": "b"}, repo="acme/web")
    path, good = f"/jobs/{job['id']}", {"If-Match": f'"{job["version"]}"'}
    change = {"priority": "high"}
    problem_of(await fleet.client.patch(path, json=change), 428, "version-required")
    for wrong in ('"99"', 'W/"1"', '"x"', "*", '"1", "2"', '"' + "9" * 40 + '"'):
        refused = await fleet.client.patch(path, json=change, headers={"If-Match": wrong})
        problem_of(refused, 412, "version-mismatch")
    other = await fleet.submit()
    patch: dict[str, object] = {
        "priority": "high",
        "repo": None,
        "labels": {},
        "max_attempts": 7,
        "required_capabilities": ["gpu", "docker", "gpu"],
        "depends_on": [other["id"], other["id"]],
    }
    changed = await fleet.client.patch(path, json=patch, headers=good)
    body = body_of(changed)
    assert (body["priority"], body["repo"], body["labels"]) == ("high", None, {})
    assert (body["max_attempts"], body["state"]) == (7, "blocked")
    assert body["required_capabilities"] == ["docker", "gpu"]
    assert body["depends_on"] == [other["id"]]
    assert body["payload"] == job["payload"]
    assert changed.headers["etag"] == f'"{body["version"]}"' != good["If-Match"]
    stale = await fleet.client.patch(path, json=change, headers=good)
    assert problem_of(stale, 412, "version-mismatch")["current_version"] == body["version"]
    for bad in ({"kind": "x"}, {"priority": None}, {"payload": None}, {"timeout_s": True}):
        current = {"If-Match": changed.headers["etag"]}
        refused = await fleet.client.patch(path, json=bad, headers=current)
        errors = problem_of(refused, 422, "invalid-request")["errors"]
        assert [each["field"] for each in errors] == list(bad)


async def test_operators_decide_about_jobs(fleet: Fleet) -> None:
    job = await fleet.submit()
    path = f"/jobs/{job['id']}"
    held = await fleet.ops.post(f"{path}/hold", json={"reason": "wait", "until": None})
    assert body_of(held)["state"] == "held"
    assert body_of(held)["hold"] == {"reason": "wait", "by": "ops", "until": None}
    assert body_of(await fleet.ops.post(f"{path}/unhold"))["state"] == "ready"
    problem_of(await fleet.ops.post(f"{path}/unhold"), 409, "impossible-transition")
    problem_of(await fleet.ops.post(f"{path}/retry"), 409, "impossible-transition")
    gone = body_of(await fleet.ops.post(f"{path}/cancel", json={"reason": "superseded"}))
    assert (gone["outcome"], gone["job"]["state"]) == ("cancelled", "cancelled")
    again = body_of(await fleet.ops.post(f"{path}/cancel"))
    assert again["outcome"] == "already_finished"
    assert body_of(await fleet.ops.post(f"{path}/retry"))["state"] == "ready"
    unknown = "/jobs/01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"
    for verb in ("cancel", "retry", "unhold"):
        problem_of(await fleet.ops.post(f"{unknown}/{verb}"), 404, "not-found")
    problem_of(await fleet.ops.get(unknown), 404, "not-found")
    problem_of(await fleet.ops.get(f"{unknown}/events"), 404, "not-found")
    body = problem_of(await fleet.ops.get("/jobs/not-an-id"), 422, "invalid-request")
    assert [each["field"] for each in body["errors"]] == ["job_id"]


async def test_every_job_is_on_one_page_while_others_come_in(fleet: Fleet) -> None:
    jobs = {"jobs": [{"kind": "old", "labels": {"n": str(n % 2)}} for n in range(25)]}
    old = body_of(await fleet.client.post("/jobs/batch", json=jobs))["jobs"]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": "10", "kind": "old"} | ({"cursor": cursor} if cursor else {})
        page = body_of(await fleet.client.get("/jobs", params=params))
        seen += [each["id"] for each in page["items"]]
        await fleet.submit()
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(each["id"] for each in old)
    labelled = await fleet.client.get("/jobs?label=n=1&label=n:1&limit=500&state=ready")
    assert len(body_of(labelled)["items"]) == 12
    assert body_of(await fleet.client.get("/jobs?state=dead"))["items"] == []
    for wrong, field in (
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=x", "limit"),
        ("state=odd", "state"),
        ("cursor=nonsense", "cursor"),
        ("label=novalue", "label"),
        ("factory_id=a/b", "factory_id"),
        ("since=1700000000", "since"),
    ):
        body = problem_of(await fleet.client.get(f"/jobs?{wrong}"), 422, "invalid-request")
        assert [each["field"].partition("[")[0] for each in body["errors"]] == [field], wrong


async def test_bodies_are_strict(fleet: Fleet) -> None:
    for body, field in (
        ({"kind": "t", "colour": "red"}, "colour"),
        ({"kind": 1}, "kind"),
        ({"kind": ""}, "kind"),
        ({}, "kind"),
        ({"kind": "a\nb"}, "kind"),
        ({"kind": "t", "timeout_s": "60"}, "timeout_s"),
        ({"kind": "t", "timeout_s": True}, "timeout_s"),
        ({"kind": "t", "timeout_s": 0}, "timeout_s"),
        ({"kind": "t", "timeout_s": 30 * 86_400 + 1}, "timeout_s"),
        ({"kind": "t", "timeout_s": 1.5}, "timeout_s"),
        ({"kind": "t", "max_attempts": 100_001}, "max_attempts"),
        ({"kind": "t", "priority": "urgent"}, "priority"),
        ({"kind": "t", "payload": []}, "payload"),
        ({"kind": "t", "labels": {"a": 1}}, "labels.a"),
        ({"kind": "t", "labels": {str(n): "" for n in range(65)}}, "labels"),
        ({"kind": "t", "required_capabilities": ["x"] * 65}, "required_capabilities"),
        ({"kind": "t", "required_capabilities": ["a", 1]}, "required_capabilities[1]"),
        ({"kind": "t", "run_after": "2030-01-01T00:00:00"}, "run_after"),
        ({"kind": "t", "run_after": 1e9}, "run_after"),
        ({"kind": "t", "run_after": "9999-12-31T23:59:59-12:00"}, "run_after"),
        ({"kind": "t", "depends_on": ["x"]}, "depends_on[0]"),
        ({"kind": "t", "payload": {"a": [0, "\0"]}}, "payload.a[1]"),
        ({"kind": "t\0"}, "kind"),
        ([], "body"),
        ("text", "body"),
        (None, "body"),
    ):
        response = await fleet.client.post("/jobs", json=body)
        errors = problem_of(response, 422, "invalid-request")["errors"]
        assert [each["field"] for each in errors] == [field], body
        assert all(each["message"] for each in errors)


async def test_numbers_and_depths_that_nothing_can_hold(fleet: Fleet) -> None:
    for content, field in (
        (b"[" * 20_000, "body"),
        (b'{"kind": "t", "payload": ' + b'{"a":' * 20_000, "body"),
        (b'{"kind": "t", "payload": {"a": NaN}}', "payload.a"),
        (b'{"kind": "t", "payload": {"a": [1e999]}}', "payload.a[0]"),
        (b'{"kind": "t", "payload": {"a": -Infinity}}', "payload.a"),
        (b'{"kind": "t", "timeout_s": 99999999999999999999}', "timeout_s"),
        (b'{"kind": "t", "payload": {"\\ud800": 1}}', "payload.\\ud800"),
        (b'{"kind": "t"', "body"),
        (b"\xff\xfe", "body"),
    ):
        response = await fleet.client.post("/jobs", content=content)
        errors = problem_of(response, 422, "invalid-request")["errors"]
        assert [each["field"] for each in errors] == [field], content[:40]
    fine = {"kind": "t", "payload": {"a": [-0.0, 1e308, 2**63, "😀", {"": None}]}}
    job = body_of(await fleet.client.post("/jobs", json=fine))
    assert body_of(await fleet.client.get(f"/jobs/{job['id']}"))["payload"] == fine["payload"]


async def test_content_types(fleet: Fleet) -> None:
    body = b'{"kind": "test"}'
    for fine in ("application/json", "application/json; charset=utf-8", "application/x+json"):
        response = await fleet.client.post("/jobs", content=body, headers={"Content-Type": fine})
        assert response.status_code == 201
    curl = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await fleet.client.post("/jobs", content=body, headers=curl)).status_code == 201
    assert (await fleet.client.post("/jobs", content=body)).status_code == 201
    for wrong in ("text/xml", "multipart/form-data; boundary=x"):
        response = await fleet.client.post("/jobs", content=body, headers={"Content-Type": wrong})
        problem_of(response, 415, "unsupported-media-type")
