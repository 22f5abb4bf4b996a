"""The flags of ``fleet repo set``."""

from typing import Annotated, TypeAlias

import typer

from app.repo import ExploreLevel

Which: TypeAlias = Annotated[str, typer.Argument(metavar="REPO", help="Its id.")]
Enabled: TypeAlias = Annotated[
    bool | None, typer.Option("--enable/--disable", help="Whether the tick works on it.")
]
Objective: TypeAlias = Annotated[
    str | None, typer.Option(help="All that is to be worked on; empty removes it.")
]
Focus: TypeAlias = Annotated[
    str | None, typer.Option(help="What to work on without an objective; empty removes it.")
]
Explore: TypeAlias = Annotated[
    bool | None, typer.Option("--explore/--no-explore", help="Scout for ideas, work on the best.")
]
Level: TypeAlias = Annotated[ExploreLevel | None, typer.Option(help="How far a scout looks.")]
WatchPulls: TypeAlias = Annotated[
    bool | None, typer.Option("--watch-pulls/--no-watch-pulls", help="Verify pull requests.")
]
SolveIssues: TypeAlias = Annotated[
    bool | None, typer.Option("--solve-issues/--no-solve-issues", help="Solve issues.")
]
ScoutIssues: TypeAlias = Annotated[
    bool | None, typer.Option("--scout-issues/--no-scout-issues", help="Look for issues.")
]
Cap: TypeAlias = Annotated[int | None, typer.Option(help="Runs that may start in a day.")]
Cooldown: TypeAlias = Annotated[
    str | None, typer.Option(help="Rest from the start of a run, such as 10m.")
]
Timezone: TypeAlias = Annotated[str | None, typer.Option(help="Whose midnight begins the day.")]
Capability: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="What a factory must offer; repeatable.")
]
GitHub: TypeAlias = Annotated[str | None, typer.Option(help="owner/name there; empty removes it.")]
