"""``fleet job …``: orders about one job: cancel, retry, hold, unhold."""

from typing import Annotated
from uuid import UUID

import typer

from app.cli.connection import AsJson, DataDir, ask
from app.cli.screen import console, emit_json
from app.cli.standing_flags import ForFlag, ReasonFlag, standing
from app.wire.jobs import JobReply

job = typer.Typer(no_args_is_help=True, help="Orders about one job; to read it: fleet jobs ID.")

Which = Annotated[UUID, typer.Argument(metavar="JOB", help="Its id.")]


@job.command()
def cancel(
    *,
    which: Which,
    reason: Annotated[str | None, typer.Option(help="Why, for the next person.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Cancel it, and what depends on it; a running one is asked to stop at its next heartbeat.

    A dead one leaves the dead letter.
    """
    done = ask("client", data_dir, lambda fleet: fleet.jobs.cancel(which, reason=reason))
    if as_json:
        emit_json(done)
        return
    console().print(f"{done.outcome.replace('_', ' ')}: {done.job.kind} {done.job.id}")


@job.command()
def retry(*, which: Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Begin a dead or cancelled one again, and what was cancelled because of it."""
    _show(ask("client", data_dir, lambda fleet: fleet.jobs.retry(which)), as_json=as_json)


@job.command()
def hold(
    *,
    which: Which,
    reason: ReasonFlag,
    length: ForFlag = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Keep it from being claimed, until it is unheld."""
    said = standing(reason, length)
    _show(ask("client", data_dir, lambda fleet: fleet.jobs.hold(which, said)), as_json=as_json)


@job.command()
def unhold(*, which: Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Lift the hold."""
    _show(ask("client", data_dir, lambda fleet: fleet.jobs.unhold(which)), as_json=as_json)


def _show(reply: JobReply, *, as_json: bool) -> None:
    if as_json:
        emit_json(reply)
        return
    console().print(f"{reply.state}: {reply.kind} {reply.id}")
