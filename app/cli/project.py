"""``fleet project``: where workflows do their work."""

from typing import Annotated, Any
from uuid import UUID

import typer

from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.screen import console, emit_json, pairs, table
from app.cli.standing_flags import ForFlag, ReasonFlag, standing
from app.fleet import CostClass, Priority
from app.sdk import FleetClient
from app.wire.projects import ProjectCreate, ProjectPatch, ProjectReply

project = typer.Typer(no_args_is_help=True, help="Where workflows do their work.")

Which = Annotated[str, typer.Argument(metavar="PROJECT", help="Its name or id.")]
Directory = Annotated[
    str | None, typer.Option("--directory", help="The folder that is worked in, on the factories.")
]
Repo = Annotated[str | None, typer.Option(help="The repo of the feature chain it works on.")]
Capability = Annotated[
    list[str] | None, typer.Option(help="What a factory must offer; repeatable.")
]


@project.command()
def create(  # noqa: PLR0913 - a flag is an argument
    *,
    name: Annotated[str, typer.Argument(help="What people call it.")],
    directory: Directory = None,
    repo: Repo = None,
    capability: Capability = None,
    engine: Annotated[str | None, typer.Option(help="The engine its jobs prefer.")] = None,
    priority: Annotated[Priority, typer.Option(help="Of its jobs.")] = Priority.NORMAL,
    cost: Annotated[CostClass, typer.Option(help="Of its jobs.")] = CostClass.LOW,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Create a project."""
    wanted = ProjectCreate.model_validate(
        {
            "name": name,
            "local_directory": directory,
            "repo": repo,
            "required_capabilities": capability or [],
            "job_defaults": {"prefers_engine": engine, "priority": priority, "cost_class": cost},
        }
    )
    _show(ask("ops", data_dir, lambda fleet: fleet.projects.create(wanted)), as_json=as_json)


@project.command("list")
def list_(
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on where a listing ended.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List projects, the oldest first."""
    page = ask("ops", data_dir, lambda fleet: fleet.projects.page(cursor=cursor, limit=limit))
    if as_json:
        emit_json(page)
        return
    rows = [
        (str(each.id), each.name, each.local_directory or "-", each.repo or "-", _pause(each))
        for each in page.items
    ]
    console().print(table(("id", "name", "directory", "repo", "standing"), rows))
    if page.next_cursor is not None:
        console().print(f"more: --cursor {page.next_cursor}", style="dim")


@project.command()
def show(*, which: Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a project."""
    _show(ask("ops", data_dir, lambda fleet: find(fleet, which)), as_json=as_json)


@project.command()
def edit(  # noqa: PLR0913 - a flag is an argument
    *,
    which: Which,
    name: Annotated[str | None, typer.Option(help="The new name.")] = None,
    directory: Directory = None,
    repo: Repo = None,
    capability: Capability = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Change what is given of a project; an empty directory or repo removes it."""
    given: dict[str, Any] = {
        "name": name,
        "local_directory": directory,
        "repo": repo,
        "required_capabilities": capability,
    }
    named = {key: value or None for key, value in given.items() if value is not None}

    async def act(fleet: FleetClient) -> ProjectReply:
        found = await find(fleet, which)
        patch = ProjectPatch.model_validate(named)
        return await fleet.projects.patch(found.id, patch, version=found.version)

    _show(ask("ops", data_dir, act), as_json=as_json)


@project.command()
def pause(
    *,
    which: Which,
    reason: ReasonFlag,
    length: ForFlag = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Start nothing of a project for a while."""

    async def act(fleet: FleetClient) -> ProjectReply:
        found = await find(fleet, which)
        return await fleet.projects.pause(found.id, standing(reason, length))

    _show(ask("ops", data_dir, act), as_json=as_json)


@project.command()
def resume(*, which: Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Let a project go on."""

    async def act(fleet: FleetClient) -> ProjectReply:
        return await fleet.projects.resume((await find(fleet, which)).id)

    _show(ask("ops", data_dir, act), as_json=as_json)


@project.command()
def delete(*, which: Which, data_dir: DataDir = None) -> None:
    """Delete a project whose workflows are all finished."""

    async def act(fleet: FleetClient) -> str:
        found = await find(fleet, which)
        await fleet.projects.delete(found.id)
        return found.name

    typer.echo(f"{ask('ops', data_dir, act)} is deleted")


async def find(fleet: FleetClient, which: str) -> ProjectReply:
    """Find a project by its name or id.

    Raises:
        CliError: there is none of that name.
    """
    named = (await fleet.projects.page(name=which, limit=1)).items
    if named:
        return named[0]
    try:
        return await fleet.projects.get(UUID(which))
    except ValueError:
        message = f"there is no project {which!r}"
        raise CliError(message) from None


def _show(found: ProjectReply, *, as_json: bool) -> None:
    if as_json:
        emit_json(found)
        return
    console().print(
        pairs(
            (
                ("id", f"{found.id} (version {found.version})"),
                ("name", found.name),
                ("directory", found.local_directory or "-"),
                ("repo", found.repo or "-"),
                ("requires", ", ".join(found.required_capabilities) or "-"),
                ("standing", _pause(found)),
            )
        )
    )


def _pause(found: ProjectReply) -> str:
    return f"paused: {found.paused.reason} (by {found.paused.by})" if found.paused else "-"
