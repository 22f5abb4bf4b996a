"""The flags of ``fleet factory run``."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from app.fleet import CostClass

FactoryId: TypeAlias = Annotated[str, typer.Option("--id", help="Its id.")]
Exec: TypeAlias = Annotated[
    str,
    typer.Option(
        "--exec",
        metavar="CMD",
        help="What to run for each job, without a shell: the payload comes on standard input, "
        "FLEET_JOB_ID, _KIND and others in the environment; the last line printed is the result.",
    ),
]
Capability: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="What it can do; repeatable.")
]
Engine: TypeAlias = Annotated[list[str] | None, typer.Option(help="An engine it has; repeatable.")]
WarmRepo: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A repository it has a clone of; repeatable.")
]
Ceiling: TypeAlias = Annotated[
    CostClass, typer.Option(help="What its jobs are meant to cost at most.")
]
Seats: TypeAlias = Annotated[int, typer.Option(min=1, max=1000, help="Jobs at a time.")]
Account: TypeAlias = Annotated[str | None, typer.Option(help="The provider account it uses.")]
Label: TypeAlias = Annotated[list[str] | None, typer.Option(help="name=value; repeatable.")]
Cwd: TypeAlias = Annotated[
    Path | None, typer.Option(help="Folder of jobs whose payload names none.")
]
LeaseS: TypeAlias = Annotated[int, typer.Option(min=5, max=86_400, help="Length of a lease.")]
WaitS: TypeAlias = Annotated[int, typer.Option(min=0, max=60, help="Length of a wait for work.")]
Grace: TypeAlias = Annotated[
    float, typer.Option(min=0, help="Seconds that jobs may go on once it is told to stop.")
]
UntilStdinCloses: TypeAlias = Annotated[
    bool, typer.Option("--until-stdin-closes", help="Stop with whoever started it.")
]
ReportAsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Report as lines of JSON.")]
