"""Rows of projects and workflows: versions, patches, keys that repeat, and what may be deleted."""

from tests.support.api import Fleet, body_of, problem_of
from tests.support.workflows import PR, workshop


async def test_a_patch_names_the_version_that_it_means(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    path = f"/workflows/{flow}"
    read = await fleet.ops.get(path)
    assert read.headers["etag"] == '"1"'
    change = {"title": "b", "status": "reviewing", "pr_url": PR}
    problem_of(await fleet.ops.patch(path, json=change), 428, "version-required")
    patched = await fleet.ops.patch(path, json=change, headers={"If-Match": '"1"'})
    body = body_of(patched)
    assert (body["title"], body["status"], body["version"]) == ("b", "reviewing", 2)
    stale = await fleet.ops.patch(path, json=change, headers={"If-Match": '"1"'})
    assert problem_of(stale, 412, "version-mismatch")["current_version"] == 2
    same = await fleet.ops.patch(path, json={"title": "b"}, headers={"If-Match": '"2"'})
    assert body_of(same)["version"] == 2


async def test_a_status_is_not_changed_while_the_job_is_under_way(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    await shop.phases()
    headers = {"If-Match": f'"{(await shop.read(flow))["version"]}"'}
    refused = await fleet.ops.patch(f"/workflows/{flow}", json={"status": "done"}, headers=headers)
    problem_of(refused, 409, "impossible-transition")
    renamed = await fleet.ops.patch(f"/workflows/{flow}", json={"title": "b"}, headers=headers)
    assert body_of(renamed)["title"] == "b"


async def test_creating_twice_under_one_key_creates_once(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    body = {"project_id": shop.project_id, "title": "once"}
    headers = {"Idempotency-Key": '"k1"'}
    first = await fleet.ops.post("/workflows", json=body, headers=headers)
    again = await fleet.ops.post("/workflows", json=body, headers=headers)
    assert first.headers["location"] == f"/workflows/{body_of(first)['id']}"
    assert (again.status_code, body_of(again)) == (201, body_of(first))
    other = {**body, "title": "other"}
    refused = await fleet.ops.post("/workflows", json=other, headers=headers)
    problem_of(refused, 409, "idempotency-key-reused")
    for _ in range(2):
        made = await fleet.ops.post("/projects", json={"name": "p"}, headers=headers)
        assert made.status_code == 201
    assert len(body_of(await fleet.ops.get("/projects"))["items"]) == 2


async def test_a_project_is_changed_listed_and_deleted_when_nothing_of_it_is_left(
    fleet: Fleet,
) -> None:
    shop = await workshop(fleet)
    flow = await shop.workflow()
    path = f"/projects/{shop.project_id}"
    change = {"name": "store", "job_defaults": {"priority": "high"}, "repo": "acme/store"}
    patched = await fleet.ops.patch(path, json=change, headers={"If-Match": '"1"'})
    assert body_of(patched)["job_defaults"]["priority"] == "high"
    named = body_of(await fleet.ops.get("/projects", params={"name": "store"}))["items"]
    assert [each["id"] for each in named] == [shop.project_id]
    await shop.phases()
    assert (await shop.jobs())[0]["priority"] == "high"

    assert problem_of(await fleet.ops.delete(path), 409, "conflict")["unfinished"] == 1
    stale = await fleet.ops.delete(path, headers={"If-Match": '"1"'})
    problem_of(stale, 412, "version-mismatch")
    await shop.order(flow, "cancel")
    assert (await fleet.ops.delete(path)).status_code == 204
    problem_of(await fleet.ops.get(path), 404, "not-found")
    problem_of(await fleet.ops.get(f"/workflows/{flow}"), 404, "not-found")


async def test_work_begun_elsewhere_is_taken_over_at_any_status(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    uat = await shop.read(await shop.workflow(status="uat_waiting"))
    assert uat["uat_test_at"] is not None
    done = await shop.read(await shop.workflow(status="done"))
    assert done["finished_at"] is not None
    listed = await fleet.ops.get("/workflows", params={"status": "done", "processing": "false"})
    assert [each["id"] for each in body_of(listed)["items"]] == [done["id"]]
