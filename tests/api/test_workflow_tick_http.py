"""The rows of the seed's table that are phase wiring: the tick over HTTP, on real PostgreSQL."""

import logging
from pathlib import Path
from uuid import UUID

import pytest

from app.store.session import Database
from tests.support.api import Fleet, body_of, fleet_in_process
from tests.support.workflows import PR, reasons, workshop

REVIEW = {"kind": "pr_review"}


async def test_polls_processing_workflows_before_starting_waiting_ones(fleet: Fleet) -> None:
    """A finished run frees its slot and its clone within the same tick."""
    shop = await workshop(fleet)
    runs = await shop.workflow("runs", **REVIEW)
    waits = await shop.workflow("waits")
    assert (await shop.phases())["active"]["started"] == [runs]
    assert reasons(await shop.phases()) == {waits: "clone_busy"}

    await shop.do()
    active = (await shop.phases())["active"]

    assert (active["polled"], active["started"], active["waiting"]) == ([runs], [waits], [])
    assert await shop.status(runs, waits) == ["closed", "implementing"]


async def test_starts_only_one_waiting_workflow_for_a_shared_clone(
    fleet: Fleet, tmp_path: Path
) -> None:
    """Two projects name one folder, one of them by a symbolic link with a slash at its end."""
    (tmp_path / "src").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "src")
    shop = await workshop(fleet, local_directory=str(tmp_path / "src" / ".." / "src"))
    other = await shop.project("other", local_directory=f"{tmp_path / 'link'}/")
    first = await shop.workflow("first", **REVIEW)
    second = await shop.workflow("second", project_id=other, **REVIEW)

    phases = await shop.phases()

    assert phases["active"]["started"] == [first]
    assert reasons(phases) == {second: "clone_busy"}
    assert (await shop.read(first))["clone_key"] == str(tmp_path / "src")
    assert [job["lock"] for job in await shop.jobs()] == [str(tmp_path / "src")]


async def test_with_one_agent_slot_starts_one_in_order_of_position(database_url: str) -> None:
    async with fleet_in_process(database_url, max_concurrent_agents=1) as fleet:
        shop = await workshop(fleet)
        other = await shop.project("other")
        second = await shop.workflow("second", position=2, **REVIEW)
        first = await shop.workflow("first", position=1, project_id=other, **REVIEW)

        phases = await shop.phases()

        assert phases["active"]["started"] == [first]
        assert reasons(phases) == {second: "no_slot"}


async def set_key(fleet: Fleet, job_id: str, key: str) -> None:
    """Give a job a dedupe key that no call can."""
    db = await Database.open(fleet.database_url)
    async with db.connection() as conn:
        await conn.execute("update job set dedupe_key = $2 where id = $1", UUID(job_id), key)
    await db.close()


async def test_nobody_can_send_a_job_in_the_place_of_a_ticks(fleet: Fleet) -> None:
    """Its key can be read and foretold; a job that is sent under the same words is another."""
    shop = await workshop(fleet)
    flow = await shop.workflow()
    words = {"dedupe_key": f"workflow:{flow}:implement:1"}
    like = {"kind": "implement", "labels": {"workflow_id": flow, "project_id": shop.project_id}}
    theirs = (await fleet.submit(**like, **words))["id"]
    for key in ("\x1f" + words["dedupe_key"], words["dedupe_key"] + "\n"):
        refused = await fleet.client.post("/jobs", json={**like, "dedupe_key": key})
        assert refused.status_code == 422

    assert (await shop.phases())["active"]["started"] == [flow]

    ours = (await shop.read(flow))["job_id"]
    assert ours != theirs
    shown = body_of(await fleet.client.get(f"/jobs/{ours}"))
    assert shown["dedupe_key"] == words["dedupe_key"]


async def test_a_job_that_an_older_build_sent_is_waited_for_and_not_sent_again(
    fleet: Fleet,
) -> None:
    """Its key did not bear the mark of ticks; the workflow knows it by its id."""
    shop = await workshop(fleet)
    flow = await shop.workflow()
    await shop.phases()
    (job,) = await shop.jobs()
    await set_key(fleet, job["id"], f"workflow:{flow}:implement:1")

    assert (await shop.phases())["active"]["started"] == []
    await shop.do({"pr_url": PR})
    assert (await shop.phases())["active"]["polled"] == [flow]

    assert await shop.status(flow) == ["reviewing"]
    assert [each["id"] for each in await shop.jobs()] == [job["id"]]


async def test_logs_one_executor_failure_and_continues_with_the_others(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    shop = await workshop(fleet)
    other = await shop.project("other")
    broken = await shop.workflow("broken")
    good = await shop.workflow("good", project_id=other)
    mine = await fleet.submit(kind="mine")
    await set_key(fleet, mine["id"], f"\x1fworkflow:{broken}:implement:1")

    with caplog.at_level(logging.ERROR, logger="app.scheduler"):
        report = await shop.tick()

    assert report["phases"]["active"]["started"] == [good]
    assert [each["workflow_id"] for each in report["errors"]] == [broken]
    said, *more = [each.getMessage() for each in caplog.records if each.name == "app.scheduler"]
    assert more == []
    assert said.startswith(f"[scheduler] workflow {broken}: Conflict")
    assert not (await shop.read(broken))["processing"]


async def test_started_counts_only_what_is_processing_after_execute(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    head = await shop.workflow("head", status="reviewing", pr_url=PR)
    later = await shop.workflow("later")

    phases = await shop.phases()

    assert phases["active"]["started"] == []
    assert reasons(phases) == {head: "review_pending", later: "behind_head"}
    assert not (await shop.read(head))["processing"]


async def test_a_head_waiting_on_review_keeps_its_slot(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    head = await shop.workflow("head")
    later = await shop.workflow("later")
    await shop.phases()
    await shop.do({"pr_url": PR})

    assert reasons(await shop.phases()) == {head: "review_pending", later: "behind_head"}
    await shop.order(head, "review", {"verdict": "approved"})
    assert (await shop.phases())["active"]["started"] == [head]
    await shop.do()
    assert (await shop.phases())["active"]["started"] == [later]
    assert await shop.status(head, later) == ["done", "implementing"]


async def test_the_post_merge_phase_waits_until_idle_then_confirms_and_starts_one(
    fleet: Fleet,
) -> None:
    shop = await workshop(fleet)
    done = {"status": "done", "pr_url": PR, "tracks_after_merge": True}
    first = await shop.workflow("first", **done)
    second = await shop.workflow("second", **done)
    not_merged = await shop.workflow("not merged", **done)
    untracked = await shop.workflow("untracked", status="done", pr_url=PR)
    busy = await shop.workflow("busy", **REVIEW)
    for each in (first, second):
        await shop.order(each, "merged")

    closed = (await shop.phases())["post_merge"]
    assert closed == {"gate": "closed", "closed_by": [busy], "merged": [], "started": None}
    await shop.do()
    opened = (await shop.phases())["post_merge"]

    assert opened == {
        "gate": "open",
        "closed_by": [],
        "merged": [first, second],
        "started": first,
    }
    everybody = await shop.status(first, second, not_merged, untracked)
    assert everybody == ["merged", "merged", "done", "done"]
    assert (await shop.phases())["post_merge"]["closed_by"] == [first]
    await shop.do()
    assert (await shop.phases())["post_merge"]["started"] == second
    assert await shop.status(first) == ["closed"]


async def test_a_dormant_runbook_does_not_close_the_gate(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    await shop.workflow("dormant", kind="runbook")
    merged = await shop.workflow("merged", status="merged")
    assert (await shop.phases())["post_merge"]["started"] == merged


async def test_the_uat_phase_takes_what_is_due_and_retries_a_failed_attempt(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    due = await shop.workflow("due", status="uat_waiting", uat_test_at="2020-01-02T00:00:00Z")
    later = await shop.workflow("later", status="uat_waiting", uat_test_at="2099-01-01T00:00:00Z")
    failed = await shop.workflow("failed", status="uat_testing", uat_test_at="2020-01-01T00:00:00Z")

    uat = (await shop.phases())["uat"]

    assert uat == {"free_slots": 3, "due": [failed, due], "started": [failed, due]}
    assert await shop.status(due, later, failed) == ["uat_testing", "uat_waiting", "uat_testing"]
    assert [job["lock"] for job in await shop.jobs()] == [None, None]
    died = await shop.die()
    await shop.do()
    retried = died["labels"]["workflow_id"]
    phases = await shop.phases()
    assert phases["uat"]["started"] == [retried]
    assert (await shop.read(retried))["stage_failures"] == 1
    await shop.do()
    await shop.phases()
    assert await shop.status(due, failed) == ["closed", "closed"]


async def test_the_uat_phase_is_limited_to_the_free_slots(database_url: str) -> None:
    async with fleet_in_process(database_url, max_concurrent_agents=2) as fleet:
        shop = await workshop(fleet)
        runs = await shop.workflow("runs")
        uat = [await shop.workflow(f"uat {n}", status="uat_testing") for n in range(3)]

        phases = await shop.phases()

        assert phases["active"]["started"] == [runs]
        assert phases["uat"] == {"free_slots": 1, "due": uat, "started": uat[:1]}
        assert {job["kind"] for job in await shop.jobs()} == {"implement", "uat_test"}


async def test_starts_a_named_non_auto_run_runbook(fleet: Fleet) -> None:
    shop = await workshop(fleet)
    runbook = await shop.workflow("runbook", kind="runbook")
    assert reasons(await shop.phases()) == {runbook: "not_requested"}

    phases = await shop.phases(run_workflow_id=runbook)

    assert phases["active"]["started"] == [runbook]
    await shop.do()
    await shop.phases()
    assert await shop.status(runbook) == ["closed"]


async def test_run_stage_keeps_the_wish_until_it_is_granted(database_url: str) -> None:
    async with fleet_in_process(database_url, max_concurrent_agents=1) as fleet:
        shop = await workshop(fleet)
        other = await shop.project("other")
        await shop.workflow("runs")
        await shop.phases()
        runbook = await shop.workflow("runbook", kind="runbook", project_id=other, status="closed")

        answered = await fleet.ops.post(f"/workflows/{runbook}/run")

        assert answered.status_code == 202
        said = body_of(answered)
        assert reasons(said["tick"]["phases"]) == {runbook: "no_slot"}
        assert (said["workflow"]["status"], said["workflow"]["run_requested"]) == (
            "implementing",
            True,
        )
        await shop.do({"pr_url": PR})
        assert (await shop.phases())["active"]["started"] == [runbook]
        assert not (await shop.read(runbook))["run_requested"]
