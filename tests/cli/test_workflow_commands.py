"""``fleet project``, ``fleet workflow``, and what explain and tick say of workflows."""

from pathlib import Path
from typing import Any

from app.wire.factories import FactoryPut
from tests.support.command import Done, fleet
from tests.support.coordinator import Coordinator


async def test_projects_and_workflows_from_the_command_line(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())

    async def call(*words: object, code: int = 0) -> Done:
        done = await fleet(*words, "--data-dir", data_dir)
        assert done.code == code, done.err
        return done

    async def made(*words: object) -> dict[str, Any]:
        found: dict[str, Any] = (await call(*words, "--json")).json
        return found

    assert "shop" in (await call("project", "create", "shop", "--capability", "gpu")).out
    edited = await made("project", "edit", "shop", "--directory", "/src/shop", "--capability", "x")
    assert (edited["local_directory"], edited["required_capabilities"]) == ("/src/shop", ["x"])
    await call("project", "pause", "shop", "--reason", "freeze", "--for", "2h")
    assert "paused: freeze (by ops)" in (await call("project", "list")).out
    assert (await made("project", "resume", "shop"))["paused"] is None
    assert edited["id"] in (await call("project", "show", edited["id"])).out
    assert "no project 'nobody'" in (await call("project", "show", "nobody", code=1)).err
    assert "--for" in (await call(*_pause("1 fortnight"), code=1)).err

    flow = await made("workflow", "create", "Cart", "--project", "shop", "--prompt", "Add a cart.")
    later = await made("workflow", "create", "Checkout", "--project", "shop", "--uat")
    listed = await call("workflow", "list", "--project", "shop")
    assert listed.out.index("Cart") < listed.out.index("Checkout")
    dry = await call("tick", "workflows", "--dry-run")
    assert "1 workflow did not start: no_factory" in dry.out
    explained = await call("explain", "workflows")
    assert "no_factory: no registered factory offers" in explained.out
    await ops.factories.put("f1", FactoryPut(capabilities=["x"]))
    assert "its job runs" in (await call("workflow", "run", flow["id"])).out
    waits = await call("workflow", "run", later["id"])
    assert "it waits: behind_head" in waits.out
    assert "behind_head: another workflow is ahead" in (await call("explain", "workflows")).out

    assert (await made("workflow", "move", later["id"], 1))["position"] == 1
    paused = await call("workflow", "pause", later["id"], "--reason", "wait")
    assert "paused: wait (by ops)" in paused.out
    assert (await made("workflow", "resume", later["id"]))["paused"] is None
    edit = ("--title", "Till", "--status", "reviewing", "--pr", "b1", "--tracks-after-merge")
    assert (await made("workflow", "edit", later["id"], *edit))["title"] == "Till"
    words = ("review", later["id"], "changes_requested", "--comment", "More tests.")
    assert (await made("workflow", *words))["review_comments"] == ["More tests."]
    assert "a verdict is" in (await call("workflow", "review", later["id"], "pending", code=1)).err
    assert (await made("workflow", "merged", later["id"]))["merged_at"] is not None
    assert (await made("workflow", "retry", later["id"]))["stage_failures"] == 0
    cancelled = await made("workflow", "cancel", flow["id"], "--reason", "superseded")
    assert cancelled["status"] == "cancelled"
    assert "reviewing" in (await call("workflow", "show", later["id"])).out
    assert "is deleted" in (await call("workflow", "delete", later["id"])).out
    assert "not the id of a workflow" in (await call("workflow", "show", "x", code=1)).err
    assert "is deleted" in (await call("project", "delete", "shop")).out
    assert "no workflows" in (await call("workflow", "list")).out
    assert "no workflow is unfinished" in (await call("explain", "workflows")).out


def _pause(length: str) -> tuple[str, ...]:
    return ("project", "pause", "shop", "--reason", "x", "--for", length)


async def test_the_client_pages_through_ticks_and_names_a_workflow_to_run(
    coordinator: Coordinator,
) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    await ops.ticks.run("workflows", window="a")
    await ops.ticks.run("workflows", window="b")
    first = await ops.ticks.page(kind="workflows", limit=1)
    rest = await ops.ticks.page(cursor=first.next_cursor)
    assert [each.window for each in (*first.items, *rest.items)] == ["b", "a"]
