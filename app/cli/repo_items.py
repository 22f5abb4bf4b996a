"""``fleet repo``: what may be done in a repo, brought, listed, put elsewhere, forgotten."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer
from pydantic import BaseModel

from app.cli import repo_flags as flags
from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.screen import console, emit_json, moment, table
from app.sdk import FleetClient
from app.wire.repo_items import (
    CandidateCreate,
    CandidatePatch,
    IssueCreate,
    IssuePatch,
    PullCreate,
    PullPatch,
)

items = typer.Typer()

Limit = Annotated[int, typer.Option(min=1, max=500, help="How many.")]
Score = Annotated[float, typer.Option(help="How much it matters.")]
Number = Annotated[int, typer.Argument(min=1, help="Its number at the forge.")]
Key = Annotated[str, typer.Argument(metavar="ID|NUMBER", help="A candidate's id, else a number.")]


class Noun(StrEnum):
    """What a repo holds."""

    CANDIDATE = "candidate"
    PULL = "pull"
    ISSUE = "issue"


@items.command()
def candidate(
    *,
    which: flags.Which,
    focus: Annotated[str, typer.Argument(help="What to work on.")],
    score: Score = 0.0,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Queue an idea of what to work on."""
    idea = CandidateCreate(focus=focus, score=score)
    made = ask("client", data_dir, lambda fleet: fleet.repos.add_candidate(which, idea))
    _told(made, f"candidate {made.id} is {made.status}", as_json=as_json)


@items.command()
def pull(
    *,
    which: flags.Which,
    number: Number,
    head_sha: Annotated[str, typer.Argument(help="Its newest commit.")],
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Tell of a pull request, or of its newest commit."""
    told = PullCreate(number=number, head_sha=head_sha)
    made = ask("client", data_dir, lambda fleet: fleet.repos.bring_pull(which, told))
    _told(made, f"pull request #{made.number} is {made.status}", as_json=as_json)


@items.command()
def issue(  # noqa: PLR0913 - a flag is an argument
    *,
    which: flags.Which,
    number: Number,
    title: Annotated[str, typer.Argument(help="Its title.")],
    score: Score = 0.0,
    solutions: Annotated[int, typer.Option(min=0, help="How many are wanted.")] = 1,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Tell of an issue to solve, or what is new of it."""
    told = IssueCreate(number=number, title=title, score=score, solutions_wanted=solutions)
    made = ask("client", data_dir, lambda fleet: fleet.repos.bring_issue(which, told))
    _told(made, f"issue #{made.number} is {made.status}", as_json=as_json)


@items.command()
def candidates(
    *, which: flags.Which, limit: Limit = 100, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """List the candidates of a repo, oldest first."""
    page = ask("client", data_dir, lambda fleet: fleet.repos.candidates(which, limit=limit))
    rows = [
        (str(each.id), each.status, f"{each.score:g}", str(each.failures), each.focus)
        for each in page.items
    ]
    _list(page, ("id", "status", "score", "failures", "focus"), rows, as_json=as_json)


@items.command()
def pulls(
    *, which: flags.Which, limit: Limit = 100, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """List the pull requests of a repo."""
    page = ask("client", data_dir, lambda fleet: fleet.repos.pulls(which, limit=limit))
    rows = [(f"#{each.number}", each.status, each.head_sha) for each in page.items]
    _list(page, ("id", "status", "commit"), rows, as_json=as_json)


@items.command()
def issues(
    *, which: flags.Which, limit: Limit = 100, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """List the issues of a repo."""
    page = ask("client", data_dir, lambda fleet: fleet.repos.issues(which, limit=limit))
    rows = [
        (
            f"#{each.number}",
            each.status,
            f"{each.score:g}",
            f"{each.solutions_done}/{each.solutions_wanted}",
            moment(each.next_try_at),
            each.title,
        )
        for each in page.items
    ]
    columns = ("id", "status", "score", "solutions", "not before", "title")
    _list(page, columns, rows, as_json=as_json)


@items.command()
def runs(
    *, which: flags.Which, limit: Limit = 20, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """List the runs of a repo, newest first."""
    page = ask("client", data_dir, lambda fleet: fleet.repos.runs(which, limit=limit))
    rows = [
        (
            str(each.id),
            each.kind,
            each.status,
            moment(each.started_at),
            moment(each.finished_at),
            str(each.job_id or "-"),
        )
        for each in page.items
    ]
    _list(page, ("id", "kind", "status", "started", "finished", "job"), rows, as_json=as_json)


@items.command()
def move(
    *,
    which: flags.Which,
    noun: Annotated[Noun, typer.Argument(help="What is put elsewhere.")],
    key: Key,
    status: Annotated[str, typer.Argument(help="Its new status.")],
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Put a candidate, a pull request or an issue elsewhere, such as back from a person."""

    async def act(fleet: FleetClient) -> BaseModel:
        change = {"status": status}
        if noun is Noun.CANDIDATE:
            idea = await fleet.repos.candidate(which, _id(key))
            patch = CandidatePatch.model_validate(change)
            return await fleet.repos.patch_candidate(which, idea.id, patch, version=idea.version)
        number = _number(key)
        if noun is Noun.PULL:
            known = await fleet.repos.pull(which, number)
            put = PullPatch.model_validate(change)
            return await fleet.repos.patch_pull(which, number, put, version=known.version)
        found = await fleet.repos.issue(which, number)
        said = IssuePatch.model_validate(change)
        return await fleet.repos.patch_issue(which, number, said, version=found.version)

    _told(ask("client", data_dir, act), f"{noun} {key} is {status}", as_json=as_json)


@items.command()
def forget(
    *,
    which: flags.Which,
    noun: Annotated[Noun, typer.Argument(help="What is forgotten.")],
    key: Key,
    data_dir: DataDir = None,
) -> None:
    """Forget a candidate, a pull request or an issue."""
    id_ = _id(key) if noun is Noun.CANDIDATE else _number(key)

    async def act(fleet: FleetClient) -> None:
        match noun:
            case Noun.CANDIDATE:
                await fleet.repos.remove(which, "candidates", id_)
            case Noun.PULL:
                await fleet.repos.remove(which, "pulls", id_)
            case Noun.ISSUE:
                await fleet.repos.remove(which, "issues", id_)

    ask("client", data_dir, act)
    typer.echo(f"{noun} {key} is forgotten")


def _told(made: BaseModel, sentence: str, *, as_json: bool) -> None:
    if as_json:
        emit_json(made)
    else:
        typer.echo(sentence)


def _list(
    page: BaseModel, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, as_json: bool
) -> None:
    if as_json:
        emit_json(page)
    else:
        console().print(table(columns, rows))


def _id(key: str) -> UUID:
    try:
        return UUID(key)
    except ValueError:
        message = f"a candidate is named by its id, not {key!r}"
        raise CliError(message) from None


def _number(key: str) -> int:
    if not key.removeprefix("#").isdigit():
        message = f"it is named by its number, not {key!r}"
        raise CliError(message)
    return int(key.removeprefix("#"))
