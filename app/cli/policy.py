"""``fleet policy``: scenarios run against the shipped scheduler, for a team's own CI."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.connection import AsJson
from app.cli.policy_file import read_scenarios
from app.cli.screen import console, emit_json
from app.fleet import Json
from app.policy import Finding, Scenario, run

policy = typer.Typer(
    name="policy", help="Keep a scheduling policy under test.", no_args_is_help=True
)

EXAMPLES = Path(__file__).parent / "policies"


@policy.callback()
def _root() -> None:
    """Keep a scheduling policy under test."""


@policy.command(name="test")
def run_files(
    *,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="YAML scenarios; else those that are shipped."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run scenarios against this version's scheduler: exit 0 if all hold, 1 if one does not."""
    chosen = files or sorted(EXAMPLES.glob("*.yaml"))
    ran = [(path, each, run(each)) for path in chosen for each in read_scenarios(path)]
    failed = sum(bool(findings) for _, _, findings in ran)
    if as_json:
        listed: list[Json] = [_plain(path, each, findings) for path, each, findings in ran]
        emit_json({"scenarios": listed, "failed": failed})
    else:
        screen = console()
        for path, each, findings in ran:
            mark, style = ("FAIL", "red") if findings else ("ok", "green")
            screen.print(f"{mark:4} {path.name}: {each.name}", style=style)
            for finding in findings:
                said = f"expected {finding.expected}, found {finding.found}"
                screen.print(f"       {finding.what}: {said}")
        screen.print(f"{len(ran)} scenarios, {failed} failed", style="bold")
    if failed:
        raise typer.Exit(1)


def _plain(path: Path, scenario: Scenario, findings: tuple[Finding, ...]) -> Json:
    return {
        "file": str(path),
        "name": scenario.name,
        "ok": not findings,
        "findings": [
            {"what": each.what, "expected": each.expected, "found": each.found} for each in findings
        ],
    }
