"""Repos over HTTP: set up, fed, changed, ticked, explained; by the roles that may."""

from typing import Any

import httpx
import pytest

from tests.support.api import Fleet, body_of, problem_of


async def put(fleet: Fleet, repo: str = "shop", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    response = await fleet.client.put(f"/repos/{repo}", json=fields)
    assert response.status_code in {200, 201}, response.text
    return body_of(response)


async def bring(fleet: Fleet, noun: str, **fields: Any) -> httpx.Response:  # noqa: ANN401
    response = await fleet.client.post(f"/repos/shop/{noun}", json=fields)
    assert response.status_code in {200, 201}, response.text
    return response


async def change(fleet: Fleet, path: str, version: int, **fields: Any) -> httpx.Response:  # noqa: ANN401
    return await fleet.client.patch(path, json=fields, headers={"If-Match": f'"{version}"'})


async def tick(fleet: Fleet) -> dict[str, Any]:
    response = await fleet.cron.post("/tick/repos")
    assert response.status_code == 200, response.text
    return body_of(response)


async def complete(factory: httpx.AsyncClient, result: Any) -> dict[str, Any]:  # noqa: ANN401
    """Claim a job as a factory, and complete it."""
    claimed = await factory.post("/claim", json={"factory_id": "f1"})
    assert claimed.status_code == 200, claimed.text
    (claim,) = body_of(claimed)["claims"]
    fence = claim["lease"]["fence"]
    path = f"/jobs/{claim['job']['id']}/complete"
    done = await factory.post(path, json={"fence": fence, "result": result})
    assert done.status_code == 200, done.text
    job = claim["job"]
    assert isinstance(job, dict)
    return job


async def test_a_put_sets_all_and_keeps_the_focus_and_what_happened(fleet: Fleet) -> None:
    first = await fleet.client.put("/repos/shop", json={"focus": "tests", "cooldown_s": 5})
    assert first.status_code == 201
    assert first.headers["etag"] == '"1"'
    made = body_of(first)
    assert (made["enabled"], made["daily_run_cap"], made["timezone"]) == (True, 10, "UTC")
    await fleet.ops.post("/repos/shop/pause", json={"reason": "holiday"})
    again = await put(fleet, objective="Bump deps", job_defaults={"priority": "high"})
    assert (again["focus"], again["cooldown_s"], again["objective"]) == ("tests", 0, "Bump deps")
    assert again["paused"]["reason"] == "holiday"
    assert again["paused"]["by"]
    assert again["job_defaults"]["priority"] == "high"
    assert (await put(fleet, focus=None))["focus"] is None
    assert body_of(await fleet.ops.post("/repos/shop/resume"))["paused"] is None
    assert [each["id"] for each in body_of(await fleet.ops.get("/repos"))["items"]] == ["shop"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timezone", "Mars/Olympus"),
        ("timezone", "../etc/passwd"),
        ("daily_run_cap", -1),
        ("explore_level", "deep"),
        ("github", "no-slash"),
        ("unknown", 1),
        ("enabled", "yes"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(fleet: Fleet, field: str, value: object) -> None:
    refused = await fleet.client.put("/repos/shop", json={field: value})
    problem = problem_of(refused, 422, "invalid-request")
    assert problem["errors"][0]["field"] == field


async def test_a_patch_names_its_version_and_a_focus_of_ones_own_deselects(fleet: Fleet) -> None:
    await fleet.factory()
    await put(fleet, explore_enabled=True, pr_watching_enabled=True)
    added = body_of(await bring(fleet, "candidates", focus="tidy up", score=2))
    await bring(fleet, "pulls", number=1, head_sha="abc")
    await tick(fleet)
    repo = body_of(await fleet.client.get("/repos/shop"))
    assert (repo["focus"], repo["focus_candidate_id"]) == ("tidy up", added["id"])
    problem_of(await change(fleet, "/repos/shop", 1, focus="mine"), 412, "version-mismatch")
    bare = await fleet.client.patch("/repos/shop", json={"focus": "mine"})
    problem_of(bare, 428, "version-required")
    done = await change(fleet, "/repos/shop", repo["version"], focus="mine")
    assert body_of(done)["focus_candidate_id"] is None
    path = f"/repos/shop/candidates/{added['id']}"
    candidate = body_of(await fleet.client.get(path))
    assert candidate["status"] == "queued"
    selected = await change(fleet, path, candidate["version"], status="selected")
    assert body_of(selected)["status"] == "selected"
    other = body_of(await bring(fleet, "candidates", focus="another"))
    refused = await change(fleet, f"/repos/shop/candidates/{other['id']}", 1, status="selected")
    problem_of(refused, 409, "conflict")
    assert (await fleet.client.delete(path)).status_code == 204
    assert body_of(await fleet.client.get("/repos/shop"))["focus"] is None


async def test_a_known_number_is_updated_and_nothing_parked_is_stuck(fleet: Fleet) -> None:
    await put(fleet)
    assert (await bring(fleet, "issues", number=7, title="slow", score=3)).status_code == 201
    again = await bring(fleet, "issues", number=7, title="slower")
    assert again.status_code == 200
    assert (body_of(again)["title"], body_of(again)["score"]) == ("slower", 3)
    path = "/repos/shop/issues/7"
    parked = await change(fleet, path, body_of(again)["version"], status="needs_human")
    opened = await change(fleet, path, body_of(parked)["version"], status="open")
    assert body_of(opened)["status"] == "open"
    assert (await bring(fleet, "pulls", number=3, head_sha="a")).status_code == 201
    newer = await bring(fleet, "pulls", number=3, head_sha="b")
    assert (newer.status_code, body_of(newer)["head_sha"]) == (200, "b")
    path = "/repos/shop/pulls/3"
    failed = await change(fleet, path, body_of(newer)["version"], status="failed")
    assert body_of(failed)["status"] == "failed"
    wrong = await change(fleet, path, body_of(failed)["version"], status="verifying")
    problem_of(wrong, 409, "conflict")
    for each in (path, "/repos/shop/issues/7"):
        assert (await fleet.client.delete(each)).status_code == 204
        problem_of(await fleet.client.get(each), 404, "not-found")
        problem_of(await fleet.client.delete(each), 404, "not-found")


async def test_lists_go_on_where_a_page_ended(fleet: Fleet) -> None:
    await put(fleet)
    for number in (3, 1, 2):
        await bring(fleet, "issues", number=number, title="t")
        await bring(fleet, "candidates", focus=f"c{number}")
    for noun, key, expected in (
        ("issues", "number", [1, 2, 3]),
        ("candidates", "focus", ["c3", "c1", "c2"]),
    ):
        seen, cursor = [], None
        while True:
            params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
            page = body_of(await fleet.client.get(f"/repos/shop/{noun}", params=params))
            seen += [each[key] for each in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == expected
    bad = await fleet.client.get("/repos/shop/runs", params={"cursor": "nonsense"})
    problem_of(bad, 422, "invalid-request")
    problem_of(await fleet.client.get("/repos/none/issues"), 404, "not-found")


async def test_bringing_twice_under_a_key_brings_once(fleet: Fleet) -> None:
    await put(fleet)
    key = {"Idempotency-Key": '"k"'}
    first, again = [
        await fleet.client.post("/repos/shop/candidates", json={"focus": "x"}, headers=key)
        for _ in range(2)
    ]
    assert body_of(first) == body_of(again)
    page = body_of(await fleet.client.get("/repos/shop/candidates"))
    assert len(page["items"]) == 1


async def test_a_cycle_is_dispatched_explained_and_its_result_flows_back(fleet: Fleet) -> None:
    factory = await fleet.factory()
    await put(fleet, issue_solving_enabled=True, issue_scout_enabled=True, focus="go")
    await bring(fleet, "issues", number=7, title="slow", score=80)
    before = body_of(await fleet.ops.get("/explain/repos/shop"))
    assert (before["last"], before["next"]["dispatched"]) == (None, "fix_issue")
    dry = body_of(await fleet.cron.post("/tick/repos", params={"dry_run": "true"}))
    assert dry["repos"] == [before["next"]]
    report = await tick(fleet)
    (cycle,) = report["repos"]
    assert cycle["trace"] == before["next"]["trace"]
    said = {line["check"]: line["outcome"] for line in cycle["trace"]}
    assert said["spawn"] == "shadowed_by: fix_issue"
    job = await complete(factory, {})
    assert (job["id"], job["kind"], job["lock"]) == (cycle["job_id"], "fix_issue", "repo:shop")
    assert job["payload"]["issue"] == {"number": 7, "title": "slow"}
    await tick(fleet)
    assert body_of(await fleet.client.get("/repos/shop/issues/7"))["status"] == "solved"
    job = await complete(factory, {"issues": [{"title": "new bug", "score": 2}]})
    assert job["payload"]["read_only"] is True
    after = body_of(await fleet.ops.get("/explain/repos/shop"))
    assert after["last"]["dispatched"] == "issue_scout"
    runs = body_of(await fleet.client.get("/repos/shop/runs"))["items"]
    assert [each["kind"] for each in runs] == ["issue_scout", "fix_issue"]
    whole = body_of(await fleet.cron.post("/tick"))
    assert whole["repos"]["repos"][0]["dispatched"] == "fix_issue"
    text = (await fleet.ops.get("/metrics")).text
    assert 'fleet_repo_dispatches_total{feature="fix_issue"} 2.0' in text
    assert 'fleet_tick_last_success{tick="repos"} 1' in text
    kept = body_of(await fleet.ops.get("/ticks", params={"kind": "repos"}))
    assert len(kept["items"]) == 3
    assert (await fleet.client.delete("/repos/shop")).status_code == 204
    problem_of(await fleet.ops.get("/explain/repos/shop"), 404, "not-found")


async def test_a_window_is_served_once_and_roles_are_kept_apart(fleet: Fleet) -> None:
    first = await fleet.cron.post("/tick/repos", params={"window": "09:30"})
    assert body_of(first)["repos"] == []
    again = await fleet.cron.post("/tick/repos", params={"window": "09:30"})
    assert body_of(again) == {"skipped": "this window was served already"}
    factory = await fleet.factory()
    problem_of(await factory.get("/repos"), 403, "forbidden")
    problem_of(await fleet.client.post("/tick/repos"), 403, "forbidden")
    problem_of(await fleet.cron.get("/repos"), 403, "forbidden")
