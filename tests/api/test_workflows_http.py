"""Workflows over HTTP: their way through the stages, and what people order of them."""

from typing import Any

from tests.support.api import Fleet, body_of, fleet_in_process, problem_of
from tests.support.workflows import PR, reasons, workshop

UNKNOWN = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"


async def test_a_development_workflow_goes_from_implementing_to_closed(fleet: Fleet) -> None:
    shop = await workshop(fleet, repo="acme/shop", required_capabilities=[])
    flow = await shop.workflow("Cart", prompt="Add a cart.", tracks_after_merge=True, has_uat=True)
    seen = []

    async def tick() -> None:
        await shop.phases()
        seen.append((await shop.read(flow))["status"])

    await tick()
    job = await shop.do({"pr_url": PR, "summary": "done"})
    assert job["payload"] == {
        "workflow_id": flow,
        "stage": "implement",
        "prompt": "Add a cart.",
        "repo": "acme/shop",
    }
    assert (job["kind"], job["repo"], job["lock"]) == ("implement", "acme/shop", "repo:acme/shop")
    await tick()
    changes = {"verdict": "changes_requested", "comments": ["More tests."]}
    await shop.order(flow, "review", changes)
    await tick()
    job = await shop.do()
    assert (job["payload"]["review_comments"], job["payload"]["pr_url"]) == (["More tests."], PR)
    await tick()
    await shop.order(flow, "review", {"verdict": "approved"})
    await shop.order(flow, "review", {"verdict": "approved"})
    await tick()
    await shop.do()
    await tick()
    await shop.order(flow, "merged")
    await tick()
    await shop.do({"uat_test_at": "2020-01-01T00:00:00Z"})
    await tick()
    await shop.do()
    await tick()

    assert seen == [
        "implementing",
        "reviewing",
        "reviewing",
        "reviewing",
        "local_testing",
        "done",
        "merged",
        "uat_testing",
        "closed",
    ]
    kinds = [job["kind"] for job in await shop.jobs()]
    assert kinds == ["implement", "address_review", "local_test", "post_merge", "uat_test"]
    assert [job["dedupe_key"] for job in await shop.jobs()] == [
        f"workflow:{flow}:{kind}:{attempt}" for attempt, kind in enumerate(kinds, 1)
    ]
    assert (await shop.phases())["active"] == {"polled": [], "started": [], "waiting": []}


async def test_a_malformed_result_fails_that_run_and_is_in_the_report(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    await shop.phases()
    await shop.do({"branch": "no pr_url"})

    report = await shop.tick()

    (error,) = report["errors"]
    assert (error["workflow_id"], "pr_url" in error["error"]) == (flow, True)
    assert report["phases"]["active"]["started"] == [flow]
    assert (await shop.read(flow))["stage_failures"] == 1


async def test_a_stage_that_keeps_failing_is_left_to_a_person_until_retried(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    for _ in range(3):
        await shop.phases()
        await shop.die()
    phases = await shop.phases()
    assert reasons(phases) == {flow: "needs_human"}
    assert "it broke" in (await shop.read(flow))["needs_human_reason"]

    retried = await shop.order(flow, "retry")

    assert (retried["needs_human_reason"], retried["stage_failures"]) == (None, 0)
    assert (await shop.phases())["active"]["started"] == [flow]
    assert (await shop.read(flow))["stage_attempt"] == 4


async def test_a_stage_job_cancelled_by_hand_is_left_to_a_person_by_name(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    await shop.phases()
    job_id = (await shop.read(flow))["job_id"]
    assert (await fleet.client.post(f"/jobs/{job_id}/cancel")).status_code == 200
    await shop.phases()
    assert (await shop.read(flow))["needs_human_reason"] == (
        "implement: its job was cancelled by client"
    )


async def test_work_that_nobody_can_do_never_holds_a_slot_a_clone_or_the_gate(
    database_url: str,
) -> None:
    async with fleet_in_process(database_url, max_concurrent_agents=1) as fleet:
        shop = await workshop(fleet)
        gpu = await shop.project("gpu", required_capabilities=["gpu"])
        nobody = await shop.workflow("nobody", project_id=gpu)
        merged = await shop.workflow("merged", status="merged")
        phases = await shop.phases()
        assert reasons(phases) == {nobody: "no_factory"}
        assert phases["post_merge"]["started"] == merged
        await shop.do()
        await shop.phases()

        await fleet.ops.put("/factories/f1", json={"capabilities": ["gpu"]})
        assert (await shop.phases())["active"]["started"] == [nobody]
        await fleet.ops.put("/factories/f1", json={"capabilities": []})
        phases = await shop.phases()

        assert (phases["active"]["polled"], reasons(phases)) == ([nobody], {nobody: "no_factory"})
        after = await shop.read(nobody)
        assert (after["processing"], after["stage_failures"], after["stage_attempt"]) == (
            False,
            0,
            1,
        )
        withdrawn = (await shop.jobs())[-1]
        assert (withdrawn["state"], withdrawn["labels"]["workflow_id"]) == ("cancelled", nobody)
        await fleet.ops.put("/factories/f1", json={"capabilities": ["gpu"]})
        assert (await shop.phases())["active"]["started"] == [nobody]
        assert (await shop.read(nobody))["stage_attempt"] == 2


async def test_a_job_that_somebody_has_begun_is_not_withdrawn(fleet: Fleet) -> None:
    shop = await workshop(fleet, required_capabilities=["gpu"])
    await fleet.ops.put("/factories/f1", json={"capabilities": ["gpu"]})
    flow = await shop.workflow()
    await shop.phases()
    job = await shop.claim()
    await fleet.ops.put("/factories/f1", json={"capabilities": []})
    assert (await shop.phases())["active"]["polled"] == [flow]
    assert (await shop.read(flow))["processing"]
    await shop.complete(job, {"pr_url": PR})
    await shop.phases()
    assert await shop.status(flow) == ["reviewing"]


async def test_a_cancelled_workflow_keeps_its_slot_while_its_job_runs(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow("first")
    later = await shop.workflow("later")
    await shop.phases()
    job = await shop.claim()

    cancelled = await shop.order(flow, "cancel", {"reason": "superseded"})

    assert (cancelled["status"], cancelled["processing"]) == ("cancelled", True)
    assert reasons(await shop.phases()) == {later: "clone_busy"}
    await shop.complete(job, {"pr_url": PR})
    assert (await shop.phases())["active"]["started"] == [later]
    assert (await shop.read(flow))["pr_url"] is None


async def test_a_cancel_before_anybody_has_begun_frees_the_clone_at_once(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow("first")
    later = await shop.workflow("later")
    await shop.phases()
    cancelled = await shop.order(flow, "cancel")
    assert (cancelled["status"], cancelled["processing"]) == ("cancelled", False)
    assert (await shop.phases())["active"]["started"] == [later]
    assert (await fleet.ops.delete(f"/workflows/{later}")).status_code == 204
    problem_of(await fleet.ops.get(f"/workflows/{later}"), 404, "not-found")
    assert {job["state"] for job in await shop.jobs()} == {"cancelled"}


async def test_a_pause_stops_starts_and_never_polling(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow("first")
    later = await shop.workflow("later")
    await shop.phases()
    paused = await shop.order(flow, "pause", {"reason": "thinking"})
    assert paused["paused"] == {"reason": "thinking", "by": "ops", "until": None}
    await shop.do({"pr_url": PR})
    phases = await shop.phases()
    assert phases["active"]["polled"] == [flow]
    assert reasons(phases) == {flow: "paused", later: "behind_head"}
    await shop.order(flow, "resume")
    paused_project = await fleet.ops.post(
        f"/projects/{shop.project_id}/pause", json={"reason": "freeze"}
    )
    assert paused_project.status_code == 200
    await shop.order(flow, "review", {"verdict": "approved"})
    assert reasons(await shop.phases())[flow] == "paused"
    await fleet.ops.post(f"/projects/{shop.project_id}/resume")
    assert (await shop.phases())["active"]["started"] == [flow]
    past = {"reason": "x", "until": "2020-01-01T00:00:00Z"}
    problem_of(await fleet.ops.post(f"/workflows/{flow}/pause", json=past), 422, "invalid-request")


async def test_a_move_changes_who_is_head_and_makes_room(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    first, second, third = [await shop.workflow(title) for title in ("a", "b", "c")]
    moved = await shop.order(third, "move", {"position": 1})
    assert moved["position"] == 1
    listed = body_of(await fleet.ops.get("/workflows", params={"limit": "2"}))
    assert [each["id"] for each in listed["items"]] == [third, first]
    rest = await fleet.ops.get("/workflows", params={"cursor": listed["next_cursor"]})
    assert [each["id"] for each in body_of(rest)["items"]] == [second]
    assert (await shop.phases())["active"]["started"] == [third]


async def test_explain_says_what_the_last_tick_did_and_the_next_would_do(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    first = await shop.workflow("first")
    later = await shop.workflow("later")
    uat = await shop.workflow("uat", status="uat_waiting", uat_test_at="2099-01-01T00:00:00Z")

    async def explained() -> dict[str, Any]:
        said = body_of(await fleet.ops.get("/explain/workflows"))
        return {each["workflow_id"]: each for each in said["workflows"]}

    before = await explained()
    assert before[first]["last"] is None
    assert before[first]["next"]["started"]
    await shop.phases()
    after = await explained()

    assert (after[first]["last"]["started"], after[first]["next"]["polled"]) == (True, True)
    assert after[later]["last"]["reason"] == "behind_head"
    assert after[later]["next"]["words"] == "another workflow is ahead of it"
    assert after[uat]["last"]["reason"] == "not_due"
    assert len(await shop.jobs()) == 1


async def test_what_does_not_count_is_refused_with_a_reason(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    ops = fleet.ops
    verdict = {"verdict": "approved"}
    for call in ("review", "merged"):
        body = verdict if call == "review" else None
        problem_of(
            await ops.post(f"/workflows/{flow}/{call}", json=body), 409, "impossible-transition"
        )
    done = await shop.workflow(status="done")
    problem_of(await ops.post(f"/workflows/{done}/run"), 409, "impossible-transition")
    problem_of(await ops.post(f"/workflows/{UNKNOWN}/run"), 404, "not-found")
    problem_of(
        await fleet.cron.post("/tick/workflows", params={"run_workflow_id": UNKNOWN}),
        404,
        "not-found",
    )
    wrong = {"project_id": shop.project_id, "title": "x", "kind": "runbook", "status": "merged"}
    problem_of(await ops.post("/workflows", json=wrong), 422, "invalid-request")
    nowhere = {"project_id": UNKNOWN, "title": "x"}
    problem_of(await ops.post("/workflows", json=nowhere), 404, "not-found")
    problem_of(await ops.post("/projects", json={"name": "shop"}), 409, "conflict")
