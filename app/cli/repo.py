"""``fleet repo``: what the chain of features works on by itself."""

from typing import Annotated, Any

import typer

from app.cli import repo_flags as flags
from app.cli.connection import AsJson, DataDir, ask
from app.cli.durations import ago, duration_s
from app.cli.errors import CliError
from app.cli.repo_items import items
from app.cli.repo_show import show_explanation, show_repo, standing_of
from app.cli.screen import console, emit_json, table
from app.cli.standing_flags import ForFlag, ReasonFlag, standing
from app.runtime.clock import now_utc
from app.sdk import FleetClient, Problem
from app.wire.repos import RepoPatch, RepoPut, RepoReply

repo = typer.Typer(no_args_is_help=True, help="What the chain of features works on by itself.")
repo.registered_commands += items.registered_commands

_NOT_FOUND = 404


@repo.command("set")
def set_(  # noqa: PLR0913 - a flag is an argument
    *,
    which: flags.Which,
    enabled: flags.Enabled = None,
    objective: flags.Objective = None,
    focus: flags.Focus = None,
    explore: flags.Explore = None,
    level: flags.Level = None,
    watch_pulls: flags.WatchPulls = None,
    solve_issues: flags.SolveIssues = None,
    scout_issues: flags.ScoutIssues = None,
    cap: flags.Cap = None,
    cooldown: flags.Cooldown = None,
    timezone: flags.Timezone = None,
    capability: flags.Capability = None,
    github: flags.GitHub = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Set up a repo, or change what is given of one that is known."""
    given: dict[str, Any] = {
        "enabled": enabled,
        "objective": objective,
        "focus": focus,
        "explore_enabled": explore,
        "explore_level": level,
        "pr_watching_enabled": watch_pulls,
        "issue_solving_enabled": solve_issues,
        "issue_scout_enabled": scout_issues,
        "daily_run_cap": cap,
        "cooldown_s": None if cooldown is None else _seconds(cooldown),
        "timezone": timezone,
        "required_capabilities": capability,
        "github": github,
    }
    named = {name: value for name, value in given.items() if value is not None}
    removable = {"objective", "focus", "github"} & named.keys()
    named |= {name: named[name] or None for name in removable}
    show_repo(ask("client", data_dir, lambda fleet: _set(fleet, which, named)), as_json=as_json)


@repo.command("list")
def list_(
    *,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on where a listing ended.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List repos by id."""
    page = ask("client", data_dir, lambda fleet: fleet.repos.page(cursor=cursor, limit=limit))
    if as_json:
        emit_json(page)
        return
    now = now_utc()
    rows = [
        (
            each.id,
            standing_of(each),
            each.objective or each.focus or "-",
            ago(each.last_run_at, now),
        )
        for each in page.items
    ]
    console().print(table(("id", "standing", "works on", "last run"), rows))
    if page.next_cursor is not None:
        console().print(f"more: --cursor {page.next_cursor}", style="dim")


@repo.command()
def show(*, which: flags.Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show the settings of a repo."""
    show_repo(ask("client", data_dir, lambda fleet: fleet.repos.get(which)), as_json=as_json)


@repo.command()
def explain(*, which: flags.Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Explain what the last cycle of a repo came to, and what the next would do."""
    show_explanation(ask("ops", data_dir, lambda fleet: fleet.explain.repo(which)), as_json=as_json)


@repo.command()
def pause(
    *,
    which: flags.Which,
    reason: ReasonFlag,
    length: ForFlag = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Dispatch nothing more for a repo."""
    word = standing(reason, length)
    paused = ask("client", data_dir, lambda fleet: fleet.repos.pause(which, word))
    show_repo(paused, as_json=as_json)


@repo.command()
def resume(*, which: flags.Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Let a repo go on."""
    show_repo(ask("client", data_dir, lambda fleet: fleet.repos.resume(which)), as_json=as_json)


@repo.command()
def delete(*, which: flags.Which, data_dir: DataDir = None) -> None:
    """Forget a repo with all that belongs to it."""
    ask("client", data_dir, lambda fleet: fleet.repos.delete(which))
    typer.echo(f"{which} is deleted")


async def _set(fleet: FleetClient, which: str, named: dict[str, Any]) -> RepoReply:
    try:
        found = await fleet.repos.get(which)
    except Problem as problem:
        if problem.status != _NOT_FOUND:
            raise
        return await fleet.repos.put(which, RepoPut.model_validate(named))
    patch = RepoPatch.model_validate(named)
    return await fleet.repos.patch(which, patch, version=found.version)


def _seconds(text: str) -> int:
    try:
        return duration_s(text)
    except ValueError as error:
        message = f"--cooldown: {error}"
        raise CliError(message) from None
