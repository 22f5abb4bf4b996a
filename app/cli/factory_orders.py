"""``fleet factory drain``, ``pause``, ``resume``, ``remove``: orders about one factory."""

from typing import Annotated

import typer

from app.cli.connection import AsJson, DataDir, ask
from app.cli.factory_run import factory
from app.cli.screen import console, emit_json
from app.cli.standing_flags import ForFlag, ReasonFlag, standing
from app.wire.factories import FactoryReply

__all__ = ["factory"]

Which = Annotated[str, typer.Argument(metavar="FACTORY", help="Its id.")]


@factory.command()
def drain(
    *,
    which: Which,
    reason: ReasonFlag,
    length: ForFlag = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Give it no more work, and tell it so; what it runs it may finish."""
    said = standing(reason, length)
    _show(ask("ops", data_dir, lambda fleet: fleet.factories.drain(which, said)), as_json=as_json)


@factory.command()
def pause(
    *,
    which: Which,
    reason: ReasonFlag,
    length: ForFlag = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Give it no more work for a while."""
    said = standing(reason, length)
    _show(ask("ops", data_dir, lambda fleet: fleet.factories.pause(which, said)), as_json=as_json)


@factory.command()
def resume(*, which: Which, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Lift a drain, a pause and a quarantine, and the cool-down of its account."""
    _show(ask("ops", data_dir, lambda fleet: fleet.factories.resume(which)), as_json=as_json)


@factory.command()
def remove(*, which: Which, data_dir: DataDir = None) -> None:
    """Forget it; refused while it holds leases."""
    ask("ops", data_dir, lambda fleet: fleet.factories.delete(which))
    console().print(f"removed: {which}")


def _show(reply: FactoryReply, *, as_json: bool) -> None:
    if as_json:
        emit_json(reply)
        return
    stands = [
        f"{kind} by {said.by}: {said.reason}"
        for kind, said in (("drained", reply.drain), ("paused", reply.pause))
        if said is not None
    ]
    console().print(f"{reply.id}: {'; '.join(stands) or 'may work'}")
