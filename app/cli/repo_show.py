"""How a repo, and why it did what it did, is shown."""

from collections.abc import Sequence
from datetime import datetime

from rich.text import Text

from app.cli.screen import console, emit_json, moment, pairs, table
from app.wire.repos import RepoExplanation, RepoReply, TraceLine


def show_repo(found: RepoReply, *, as_json: bool) -> None:
    """Print a repo."""
    if as_json:
        emit_json(found)
        return
    on = {
        "explore": found.explore_enabled,
        "watch pulls": found.pr_watching_enabled,
        "solve issues": found.issue_solving_enabled,
        "scout issues": found.issue_scout_enabled,
    }
    console().print(
        pairs(
            (
                ("id", f"{found.id} (version {found.version})"),
                ("standing", standing_of(found)),
                ("objective", found.objective or "-"),
                ("focus", found.focus or "-"),
                ("features", ", ".join(name for name, enabled in on.items() if enabled) or "-"),
                ("cap", f"{found.daily_run_cap} runs a day ({found.timezone})"),
                ("cooldown", f"{found.cooldown_s} s"),
                ("last run", moment(found.last_run_at)),
                ("requires", ", ".join(found.required_capabilities) or "-"),
                ("github", found.github or "-"),
            )
        )
    )


def standing_of(found: RepoReply) -> str:
    """Say whether the tick works on it."""
    if not found.enabled:
        return "disabled"
    paused = found.paused
    return f"paused: {paused.reason} (by {paused.by})" if paused else "working"


def show_explanation(said: RepoExplanation, *, as_json: bool) -> None:
    """Print what the last cycle came to, and what the next would do."""
    if as_json:
        emit_json(said)
        return
    screen = console()
    last = said.last
    if last is None:
        screen.print("no cycle yet", style="dim")
    else:
        came = last.get("dispatched") or last.get("skipped") or "nothing"
        at = datetime.fromisoformat(str(last["at"]))
        screen.print(f"last cycle, at {moment(at)}: {came}", style="bold")
        trace = last.get("trace")
        lines = trace if isinstance(trace, list) else []
        _trace([TraceLine.model_validate(each) for each in lines])
    came = said.next.dispatched or said.next.skipped or "nothing"
    screen.print(f"next cycle: {came}", style="bold")
    _trace(said.next.trace)


def _trace(lines: Sequence[TraceLine]) -> None:
    if lines:
        rows = [
            (each.check, Text(each.outcome, style=_style(each.outcome)), each.why) for each in lines
        ]
        console().print(table(("check", "outcome", "why"), rows))


def _style(outcome: str) -> str:
    return "green" if outcome == "dispatched" else "dim"
