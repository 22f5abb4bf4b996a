"""``fleet explain``: why this job for this factory, and why not, to the last point of the score."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar
from uuid import UUID

import typer
from pydantic import BaseModel

from app.cli.connection import AsJson, DataDir, ask
from app.cli.errors import CliError
from app.cli.explain_job_show import show_job
from app.cli.explain_show import show_decision, show_factory
from app.cli.explain_workflows import show_workflows
from app.cli.screen import console, emit_json
from app.sdk import FleetClient, Problem

Reply = TypeVar("Reply", bound=BaseModel)

_WATCH_S = 2.0


def explain(
    *,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Of a factory, a job or a decision; or the word “workflows”."
        ),
    ],
    factory: Annotated[
        str | None,
        typer.Argument(
            metavar="FACTORY",
            help="For a job: would this factory take it, and if not, what would make it?",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Jobs in a factory's ranking.")] = 10,
    watch: Annotated[bool, typer.Option("--watch", help="Ask again every 2 seconds.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Explain what a factory would get, why a job is (not) taken, or a past decision."""
    answer = _question(subject, factory, limit, as_json=as_json)

    async def again(fleet: FleetClient) -> None:
        show = await answer(fleet)
        while watch:
            show()
            await asyncio.sleep(_WATCH_S)
            show = await answer(fleet)
            if not as_json:
                console().clear()
        show()

    ask("ops", data_dir, again)


Answer = Callable[[FleetClient], Awaitable[Callable[[], None]]]


def _question(subject: str, factory: str | None, limit: int, *, as_json: bool) -> Answer:
    """Find out what is asked about; the answer is how to show it.

    Raises:
        CliError: a second id goes with a job only.
    """
    if subject == "workflows":
        return lambda fleet: _of_workflows(fleet, as_json=as_json)
    try:
        named = UUID(subject)
    except ValueError:
        if factory is not None:
            message = "a second id goes with the id of a job"
            raise CliError(message) from None
        return lambda fleet: _of_factory(fleet, subject, limit, as_json=as_json)
    return lambda fleet: _of_job(fleet, named, factory, as_json=as_json)


async def _of_workflows(fleet: FleetClient, *, as_json: bool) -> Callable[[], None]:
    said = await fleet.explain.workflows()
    return lambda: show_workflows(said, as_json)


async def _of_factory(
    fleet: FleetClient, factory_id: str, limit: int, *, as_json: bool
) -> Callable[[], None]:
    said = await fleet.explain.factory(factory_id, limit=limit)
    return _shown(said, show_factory, as_json=as_json)


async def _of_job(
    fleet: FleetClient, named: UUID, factory_id: str | None, *, as_json: bool
) -> Callable[[], None]:
    """Explain a job, or else the decision of that id."""
    try:
        said = await fleet.explain.job(named, factory_id=factory_id)
    except Problem as problem:
        if problem.slug != "not-found" or factory_id is not None:
            raise
        try:
            decision = await fleet.explain.decision(named)
        except Problem:
            raise problem from None
        return _shown(decision, show_decision, as_json=as_json)
    return _shown(said, show_job, as_json=as_json)


def _shown(said: Reply, show: Callable[[Reply], None], *, as_json: bool) -> Callable[[], None]:
    return lambda: emit_json(said) if as_json else show(said)
