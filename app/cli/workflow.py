"""``fleet workflow``: work in stages; made, shown and listed, and what people order of it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.project import find
from app.cli.screen import emit_json
from app.cli.standing_flags import ForFlag, ReasonFlag, standing
from app.cli.workflow_show import show_page, show_workflow
from app.sdk import FleetClient
from app.wire.workflows import WorkflowCreate, WorkflowPage, WorkflowPatch, WorkflowReply
from app.workflow import Kind, Review, Status

workflow = typer.Typer(no_args_is_help=True, help="Work in stages, moved on by a tick.")

Id = Annotated[str, typer.Argument(metavar="ID", help="The workflow's id.")]
Prompt = Annotated[str | None, typer.Option(help="What the agent is told; else the title.")]
PullUrl = Annotated[str | None, typer.Option("--pr", help="Its pull request, or its branch.")]
UatAt = Annotated[str | None, typer.Option(help="When its UAT is due, such as 2026-03-01T22:00Z.")]


@workflow.command()
def create(  # noqa: PLR0913 - a flag is an argument
    *,
    title: Annotated[str, typer.Argument(help="What people call it.")],
    project: Annotated[str, typer.Option(help="Its project, by name or id.")],
    kind: Annotated[Kind, typer.Option(help="What kind of work it is.")] = Kind.DEVELOPMENT,
    prompt: Prompt = None,
    position: Annotated[int | None, typer.Option(help="Its place; else behind all.")] = None,
    status: Annotated[Status | None, typer.Option(help="Where it is taken over.")] = None,
    pr: PullUrl = None,
    tracks_after_merge: Annotated[
        bool, typer.Option("--tracks-after-merge", help="Something follows its merge.")
    ] = False,
    uat: Annotated[bool, typer.Option("--uat", help="It is tested after the merge.")] = False,
    uat_at: UatAt = None,
    auto_run: Annotated[bool, typer.Option("--auto-run", help="A runbook: start unasked.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create a workflow; the next tick starts it when its turn has come."""
    given: dict[str, Any] = {
        "title": title,
        "kind": kind,
        "prompt": prompt,
        "position": position,
        "status": status,
        "pr_url": pr,
        "tracks_after_merge": tracks_after_merge,
        "has_uat": uat,
        "uat_test_at": uat_at,
        "auto_run": auto_run,
    }
    fields = {name: value for name, value in given.items() if value is not None}

    async def act(fleet: FleetClient) -> WorkflowReply:
        found = await find(fleet, project)
        wanted = WorkflowCreate.model_validate({"project_id": found.id, **fields})
        return await fleet.workflows.create(wanted)

    _show(ask("ops", data_dir, act), as_json=as_json)


@workflow.command("list")
def list_(  # noqa: PLR0913 - a flag is an argument
    *,
    project: Annotated[str | None, typer.Option(help="Only of this one, by name or id.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only in this status.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only of this kind.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on where a listing ended.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List workflows, by position."""

    async def read(fleet: FleetClient) -> WorkflowPage:
        project_id = None if project is None else (await find(fleet, project)).id
        return await fleet.workflows.page(
            project_id=project_id, kind=kind, status=status, cursor=cursor, limit=limit
        )

    page = ask("ops", data_dir, read)
    if as_json:
        emit_json(page)
    else:
        show_page(page)


@workflow.command()
def show(*, workflow_id: Id, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a workflow."""
    _order(workflow_id, data_dir, lambda fleet, id_: fleet.workflows.get(id_), as_json=as_json)


@workflow.command()
def edit(  # noqa: PLR0913 - a flag is an argument
    *,
    workflow_id: Id,
    title: Annotated[str | None, typer.Option(help="The new title.")] = None,
    prompt: Prompt = None,
    status: Annotated[Status | None, typer.Option(help="Where it goes on.")] = None,
    pr: PullUrl = None,
    tracks_after_merge: Annotated[
        bool | None, typer.Option("--tracks-after-merge/--no-tracks-after-merge")
    ] = None,
    uat: Annotated[bool | None, typer.Option("--uat/--no-uat")] = None,
    uat_at: UatAt = None,
    auto_run: Annotated[bool | None, typer.Option("--auto-run/--no-auto-run")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Change what is given of a workflow."""
    given: dict[str, Any] = {
        "title": title,
        "prompt": prompt,
        "status": status,
        "pr_url": pr,
        "tracks_after_merge": tracks_after_merge,
        "has_uat": uat,
        "uat_test_at": uat_at,
        "auto_run": auto_run,
    }
    named = {name: value for name, value in given.items() if value is not None}

    async def act(fleet: FleetClient, id_: UUID) -> WorkflowReply:
        found = await fleet.workflows.get(id_)
        patch = WorkflowPatch.model_validate(named)
        return await fleet.workflows.patch(id_, patch, version=found.version)

    _order(workflow_id, data_dir, act, as_json=as_json)


@workflow.command()
def run(*, workflow_id: Id, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Run its stage, now or as soon as it may; a closed runbook is opened again."""
    id_ = _uuid(workflow_id)
    said = ask("ops", data_dir, lambda fleet: fleet.workflows.run(id_))
    if as_json:
        emit_json(said)
        return
    show_workflow(said.workflow)
    phases = said.tick.phases
    waiting = [] if phases is None else phases.active.waiting
    for each in waiting:
        if each.workflow_id == id_:
            typer.echo(f"it waits: {each.reason}")
    if said.tick.skipped is not None:
        typer.echo(f"{said.tick.skipped}; the next tick takes it up")


@workflow.command()
def review(
    *,
    workflow_id: Id,
    verdict: Annotated[Review, typer.Argument(help="approved or changes_requested.")],
    comment: Annotated[
        list[str] | None, typer.Option(help="What has to change; repeatable.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Give a reviewer's verdict on its pull request."""
    if verdict is Review.PENDING:
        message = "a verdict is approved or changes_requested"
        raise CliError(message)

    async def act(fleet: FleetClient, id_: UUID) -> WorkflowReply:
        return await fleet.workflows.review(id_, verdict, comments=comment or ())

    _order(workflow_id, data_dir, act, as_json=as_json)


@workflow.command()
def merged(*, workflow_id: Id, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Say that its pull request is merged."""
    _order(workflow_id, data_dir, lambda fleet, id_: fleet.workflows.merged(id_), as_json=as_json)


@workflow.command()
def retry(*, workflow_id: Id, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Take it back from the person it was left to."""
    _order(workflow_id, data_dir, lambda fleet, id_: fleet.workflows.retry(id_), as_json=as_json)


@workflow.command()
def cancel(
    *,
    workflow_id: Id,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """End it, its job first."""

    async def act(fleet: FleetClient, id_: UUID) -> WorkflowReply:
        return await fleet.workflows.cancel(id_, reason=reason)

    _order(workflow_id, data_dir, act, as_json=as_json)


@workflow.command()
def pause(
    *,
    workflow_id: Id,
    reason: ReasonFlag,
    length: ForFlag = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Start nothing of it for a while."""

    async def act(fleet: FleetClient, id_: UUID) -> WorkflowReply:
        return await fleet.workflows.pause(id_, standing(reason, length))

    _order(workflow_id, data_dir, act, as_json=as_json)


@workflow.command()
def resume(*, workflow_id: Id, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Let it go on."""
    _order(workflow_id, data_dir, lambda fleet, id_: fleet.workflows.resume(id_), as_json=as_json)


@workflow.command()
def move(
    *,
    workflow_id: Id,
    position: Annotated[int, typer.Argument(help="Its new place.")],
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Move it in the order of all workflows."""

    async def act(fleet: FleetClient, id_: UUID) -> WorkflowReply:
        return await fleet.workflows.move(id_, position)

    _order(workflow_id, data_dir, act, as_json=as_json)


@workflow.command()
def delete(*, workflow_id: Id, data_dir: DataDir = None) -> None:
    """Delete it, its job cancelled first."""
    id_ = _uuid(workflow_id)
    ask("ops", data_dir, lambda fleet: fleet.workflows.delete(id_))
    typer.echo(f"{id_} is deleted")


def _order(
    workflow_id: str,
    data_dir: Path | None,
    act: Callable[[FleetClient, UUID], Awaitable[WorkflowReply]],
    *,
    as_json: bool,
) -> None:
    id_ = _uuid(workflow_id)
    _show(ask("ops", data_dir, lambda fleet: act(fleet, id_)), as_json=as_json)


def _show(found: WorkflowReply, *, as_json: bool) -> None:
    if as_json:
        emit_json(found)
    else:
        show_workflow(found)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        message = f"{text!r} is not the id of a workflow"
        raise CliError(message) from None
