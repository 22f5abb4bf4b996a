"""The flags of every pause: why, and for how long."""

from datetime import timedelta
from typing import Annotated, TypeAlias

import typer

from app.cli.durations import duration_s
from app.cli.errors import CliError
from app.runtime.clock import now_utc
from app.wire.values import StandingRequest

ReasonFlag: TypeAlias = Annotated[str, typer.Option("--reason", help="Why, for the next person.")]
ForFlag: TypeAlias = Annotated[
    str | None, typer.Option("--for", help="How long, such as 2h; else until it is resumed.")
]


def standing(reason: str, length: str | None) -> StandingRequest:
    """Make the body of a pause.

    Raises:
        CliError: the length is none.
    """
    if length is None:
        return StandingRequest(reason=reason)
    try:
        until = now_utc() + timedelta(seconds=duration_s(length))
    except ValueError as error:
        message = f"--for: {error}"
        raise CliError(message) from None
    return StandingRequest(reason=reason, until=until)
