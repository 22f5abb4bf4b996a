"""The flags of ``fleet submit``."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

JobFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="Markdown file with front matter; - reads standard input.")
]
JsonFile: TypeAlias = Annotated[
    str | None,
    typer.Option(help="A job, or a list of jobs as a batch, in JSON; - reads standard input."),
]
Kind: TypeAlias = Annotated[str | None, typer.Option(help="What sort of work it is.")]
Repo: TypeAlias = Annotated[str | None, typer.Option(help="The repository it works on.")]
Prompt: TypeAlias = Annotated[str | None, typer.Option(help="The prompt, for the payload.")]
Payload: TypeAlias = Annotated[str | None, typer.Option(help="The payload, a JSON object.")]
Cwd: TypeAlias = Annotated[str | None, typer.Option(help="Where it runs, for the payload.")]
Yolo: TypeAlias = Annotated[
    bool | None,
    typer.Option("--yolo/--no-yolo", help="For the payload; and a required capability."),
]
Engine: TypeAlias = Annotated[str | None, typer.Option(help="The engine it prefers.")]
Capability: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="What a factory must offer; repeatable.")
]
Priority: TypeAlias = Annotated[str | None, typer.Option(help="critical, high, normal or low.")]
Cost: TypeAlias = Annotated[str | None, typer.Option(help="low, medium or high.")]
Lock: TypeAlias = Annotated[str | None, typer.Option(help="Held by one running job at a time.")]
After: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="Id of a job that must end first; repeatable.")
]
IfParentFails: TypeAlias = Annotated[str | None, typer.Option(help="cancel or run.")]
RunAfter: TypeAlias = Annotated[str | None, typer.Option(help="Not before this time.")]
Timeout: TypeAlias = Annotated[str | None, typer.Option(help="Limit of one attempt, such as 4h.")]
MaxAttempts: TypeAlias = Annotated[int | None, typer.Option(help="Attempts before it is dead.")]
DedupeKey: TypeAlias = Annotated[str | None, typer.Option(help="Submit it once under this key.")]
Label: TypeAlias = Annotated[list[str] | None, typer.Option(help="name=value; repeatable.")]
IdempotencyKey: TypeAlias = Annotated[
    str | None, typer.Option(help="Makes repeating this very command harmless.")
]
