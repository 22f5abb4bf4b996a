"""``fleet tick``: what a tick did, or would do, in a few lines; and help texts without riddles."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli.commands import fleet as program
from app.cli.tick_show import show_ticks
from app.fleet import JsonObject
from app.wire.factories import FactoryPut
from app.wire.projects import ProjectCreate
from app.wire.repos import RepoPut
from app.wire.workflows import WorkflowCreate
from tests.support.command import fleet
from tests.support.coordinator import Coordinator


async def test_a_dry_run_says_that_it_is_one(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    await ops.repos.put("shop", RepoPut(explore_enabled=True))
    project = await ops.projects.create(ProjectCreate(name="shop", local_directory=str(data_dir)))
    first, second = [
        await ops.workflows.create(WorkflowCreate(title=each, project_id=project.id, prompt="Do."))
        for each in ("one", "two")
    ]
    rehearsed, plain = await asyncio.gather(
        fleet("tick", "-d", data_dir, "--dry-run"),
        fleet("tick", "repos", "-d", data_dir, "--dry-run", "--json"),
    )
    gate = f"   what follows a merge waits for {first.id}, {second.id}"
    assert rehearsed.out.splitlines() == [
        "dry run: nothing was changed; this is what a tick would do",
        "leases: not part of a dry run",
        f"workflows: would start {first.id}",
        "   1 workflow did not start: behind_head",
        gate,
        "repos: shop would dispatch scout",
    ]
    assert (plain.json["dry_run"], plain.json["repos"][0]["dispatched"]) == (True, "scout")
    done = await fleet("tick", "-d", data_dir, "--window", "noon")
    (job,) = (await ops.jobs.page(kind="scout")).items
    assert done.out.splitlines() == [
        "leases: nothing to do",
        f"workflows: started {first.id}",
        "   1 workflow did not start: behind_head",
        gate,
        f"repos: shop dispatched scout, job {job.id}",
    ]
    again, leases = await asyncio.gather(
        fleet("tick", "workflows", "-d", data_dir, "--window", "noon"),
        fleet("tick", "leases", "-d", data_dir, "--dry-run"),
    )
    assert again.out == "workflows: skipped: this window was served already\n"
    assert leases.code == 1
    assert "the pass over leases has no dry run" in leases.err


def test_all_that_a_tick_can_report(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11", "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e12"
    counts: JsonObject = {"expired": 1, "died": 2, "timed_out": 0, "unblocked": 0, "pruned": 0}
    phases: JsonObject = {
        "active": {"polled": [one, two], "started": [], "waiting": []},
        "post_merge": {"gate": "open", "closed_by": [], "merged": [two], "started": one},
        "uat": {"free_slots": 1, "due": [one, two], "started": [two]},
    }
    report: JsonObject = {
        "leases": {**counts, "skipped": None, "odd": [{"job_id": one, "error": "odd"}]},
        "workflows": {"phases": phases, "errors": [{"workflow_id": two, "error": "no pr_url"}]},
        "repos": {"skipped": "another tick is running", "errors": [{"repo_id": "a", "error": "b"}]},
    }
    show_ticks(report, None, dry_run=False)
    assert capsys.readouterr().out.splitlines() == [
        "leases: 1 job ended, as no sign of life came",
        "   2 jobs died",
        f"   {one} was left as it is: odd",
        f"workflows: started {one}",
        f"   started {two}",
        f"   merged {two}",
        "   looked at the jobs of 2 workflows under way",
        "   1 workflow due for acceptance did not start",
        f"   {two}: no pr_url",
        "repos: skipped: another tick is running",
        "   a: b",
    ]


def test_no_help_text_brackets_what_is_bracketed_already() -> None:
    usages = _usages("fleet", typer.main.get_command(program))
    assert len(usages) > 30
    assert [each for each in usages if "[[" in each or "]]" in each] == []


def _usages(name: str, command: Any) -> list[str]:  # noqa: ANN401 - of a library inside typer
    """Collect the usage lines of a command and all below it."""
    context = command.make_context(name, [], resilient_parsing=True)
    below = getattr(command, "commands", {})
    lines = [line for each, one in below.items() for line in _usages(f"{name} {each}", one)]
    return [command.get_usage(context), *lines]
