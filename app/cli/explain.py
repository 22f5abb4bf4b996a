"""``fleet explain``: why this job for this factory, and why not, to the last point of the score."""

from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.explain_workflows import show_workflows
from app.cli.screen import console, emit_json, moment, pairs, table
from app.sdk import FleetClient
from app.wire.explain import (
    FactoryExplanationReply,
    RankedJob,
    ReasonReply,
    ScoreDetail,
)
from app.wire.explain_job import JobExplanationReply, VerdictReply

_BAR_PER = 20
_BAR_LONGEST = 30
_BARS_SHOWN = 3


def explain(
    *,
    subject: Annotated[
        str,
        typer.Argument(metavar="FACTORY|JOB|workflows", help="An id of either, or “workflows”."),
    ],
    factory: Annotated[
        str | None, typer.Option(help="For a job: what about this factory?", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="Jobs in a factory's ranking.")] = 10,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Explain what a factory would get, why a job is (not) taken, or what workflows wait for."""
    if subject == "workflows":
        show_workflows(ask("ops", data_dir, lambda fleet: fleet.explain.workflows()), as_json)
        return
    try:
        job_id = UUID(subject)
    except ValueError:
        if factory is not None:
            message = "--factory goes with the id of a job"
            raise CliError(message) from None
        _show_factory(ask("ops", data_dir, lambda fleet: _factory(fleet, subject, limit)), as_json)
        return
    _show_job(ask("ops", data_dir, lambda fleet: _job(fleet, job_id, factory)), as_json)


async def _factory(fleet: FleetClient, factory_id: str, limit: int) -> FactoryExplanationReply:
    return await fleet.explain.factory(factory_id, limit=limit)


async def _job(fleet: FleetClient, job_id: UUID, factory_id: str | None) -> JobExplanationReply:
    return await fleet.explain.job(job_id, factory_id=factory_id)


def _show_factory(said: FactoryExplanationReply, as_json: bool) -> None:  # noqa: FBT001 - private
    if as_json:
        emit_json(said)
        return
    screen = console()
    screen.print(f"The next claim of {said.factory.id}, as of {moment(said.now)}", style="bold")
    for each in said.refusals:
        screen.print(f"  refused: {reason(each)}", style="yellow")
    if not said.ranking:
        screen.print("  would get nothing")
    for ranked in said.ranking[:_BARS_SHOWN]:
        screen.print(_ranked(ranked))
    rest = said.ranking[_BARS_SHOWN:]
    if rest:
        rows = [
            (str(each.rank), str(each.job_id), str(each.score.total), each.priority)
            for each in rest
        ]
        screen.print(table(("rank", "id", "score", "priority"), rows))
    for name, count in sorted(said.blocked.items(), key=lambda pair: -pair[1]):
        screen.print(f"  kept from it: {count} by {name}", style="dim")


def _ranked(ranked: RankedJob) -> RenderableType:
    title = f"{ranked.rank}. {ranked.job_id}  score {ranked.score.total}"
    if ranked.margin is not None:
        title += (
            f", {ranked.margin} ahead of the next" if ranked.margin else ", a tie with the next"
        )
    about = f"   {ranked.priority}, {ranked.repo or 'no repo'}, since {moment(ranked.created_at)}"
    return Group(Text(title, style="bold"), Text(about, style="dim"), bars(ranked.score))


def _show_job(said: JobExplanationReply, as_json: bool) -> None:  # noqa: FBT001 - private
    if as_json:
        emit_json(said)
        return
    screen = console()
    screen.print(f"{said.job_id} is {said.state}, as of {moment(said.now)}", style="bold")
    screen.print(said.headline)
    for verdict in said.verdicts:
        screen.print(_verdict(verdict))


def _verdict(verdict: VerdictReply) -> RenderableType:
    if verdict.eligible:
        title = Text(f"{verdict.factory_id}: can take it, score {verdict.score.total}", "green")
        return Group(Text(), title, bars(verdict.score))
    title = Text(f"{verdict.factory_id}: cannot take it (score {verdict.score.total})", "yellow")
    lines = [Text(f"   {reason(each)}") for each in verdict.reasons]
    return Group(Text(), title, *lines)


def bars(score: ScoreDetail) -> RenderableType:
    """Draw the weighted terms of a score; those that cost points are red."""
    return pairs(
        (
            f"   {name}",
            Text.assemble(
                f"{points:>6} ", (_bar(points), "green" if points >= 0 else "red"),
                (f" {score.percents[name]} %" if name in score.percents else "", "dim"),
            ),
        )
        for name, points in score.breakdown.items()
    )  # fmt: skip


def reason(each: ReasonReply) -> str:
    """Write a reason with what clears it."""
    if each.clears_at is not None:
        clears = f"until {moment(each.clears_at)}"
    elif each.permanent:
        clears = "waiting does not help"
    else:
        clears = f"until {each.clears_when.replace('_', ' ')}"
    return f"{each.reason}: {each.message} ({clears})"


def _bar(points: int) -> str:
    return "█" * min(_BAR_LONGEST, (abs(points) + _BAR_PER - 1) // _BAR_PER)
