"""``fleet explain workflows``: what each workflow waits for, and what the next tick would do."""

from rich.text import Text

from app.cli.screen import console, emit_json, moment, table
from app.wire.workflow_ticks import TickReply, WorkflowsExplanation


def show_workflows(said: WorkflowsExplanation, as_json: bool) -> None:  # noqa: FBT001 - its one flag
    """Print why each workflow did, or did not, start."""
    if as_json:
        emit_json(said)
        return
    screen = console()
    screen.print(f"as of {moment(said.now)}; the last tick was at {moment(said.last_tick_at)}")
    if not said.workflows:
        screen.print("no workflow is unfinished")
        return
    rows = [
        (
            str(each.workflow_id),
            each.title,
            Text(each.status, style="cyan" if each.processing else ""),
            "-" if each.last is None else _words(each.last, "started", "its job runs"),
            each.needs_human_reason or _words(each.next, "would start", "its job runs"),
        )
        for each in said.workflows
    ]
    screen.print(table(("id", "title", "status", "last tick", "next tick"), rows))


def _words(said: TickReply, started: str, running: str) -> str:
    if said.error is not None:
        return f"error: {said.error}"
    if said.started:
        return started
    if said.reason is not None:
        return f"{said.reason}: {said.words}"
    return running if said.polled else "nothing to do"
