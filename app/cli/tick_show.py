"""Reports of ticks on a screen: a line for each thing that was done, and one where nothing was."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from rich.text import Text

from app.cli.screen import console
from app.fleet import JsonObject
from app.wire.repos import RepoCycle, RepoTick
from app.wire.ticks import LeaseTick
from app.wire.workflow_ticks import WorkflowPhases, WorkflowTick

_DONE, _ERROR, _SKIPPED = "green", "red", "yellow"
_COUNTS: Final = {
    "expired": "ended, as no sign of life came",
    "died": "died",
    "timed_out": "ran too long",
    "unblocked": "may start now",
    "pruned": "were forgotten, as they are long over",
}


def show_ticks(report: JsonObject, which: str | None, *, dry_run: bool) -> None:
    """Show the report of one tick, or of all."""
    screen = console()
    if dry_run:
        screen.print("dry run: nothing was changed; this is what a tick would do", style="bold")
    parts = {which: report} if which else report
    for name, part in parts.items():
        if part is None:
            screen.print(f"{name}: not part of a dry run", style="dim")
            continue
        lines = list(_LINES[name](part, "would " if dry_run else ""))
        if not lines:
            lines = [Text("nothing to do", "dim")]
        first, *more = lines
        screen.print(Text.assemble((f"{name}: ", "bold"), first))
        for line in more:
            screen.print(Text.assemble("   ", line))


def _leases(report: object, _would: str) -> Iterator[Text]:
    said = LeaseTick.model_validate(report)
    if said.skipped is not None:
        yield Text(f"skipped: {said.skipped}", _SKIPPED)
    for name, words in _COUNTS.items():
        count = getattr(said, name)
        if count:
            yield Text(f"{count} {'job' if count == 1 else 'jobs'} {words}", _DONE)
    for odd in said.odd:
        yield Text(f"{odd.job_id} was left as it is: {odd.error}", _ERROR)


def _workflows(report: object, would: str) -> Iterator[Text]:
    said = WorkflowTick.model_validate(report)
    if said.skipped is not None:
        yield Text(f"skipped: {said.skipped}", _SKIPPED)
    if said.phases is not None:
        yield from _phases(said.phases, would)
    for error in said.errors:
        yield Text(f"{error.workflow_id}: {error.error}", _ERROR)


def _phases(said: WorkflowPhases, would: str) -> Iterator[Text]:
    active, merged, uat = said.active, said.post_merge, said.uat
    started = [*active.started, *([merged.started] if merged.started else []), *uat.started]
    for each in started:
        yield Text(f"{would}start {each}" if would else f"started {each}", _DONE)
    for each in merged.merged:
        yield Text(f"merged {each}", _DONE)
    if active.polled:
        count = len(active.polled)
        yield Text(f"looked at the {_jobs(count)} of {_workflow_count(count)} under way")
    for reason, count in Counter(each.reason for each in active.waiting).most_common():
        yield Text(f"{_workflow_count(count)} did not start: {reason}", "dim")
    if merged.gate == "closed":
        names = ", ".join(str(each) for each in merged.closed_by)
        yield Text(f"what follows a merge waits for {names}", "dim")
    if len(uat.due) > len(uat.started):
        left = len(uat.due) - len(uat.started)
        yield Text(f"{_workflow_count(left)} due for acceptance did not start", "dim")


def _repos(report: object, would: str) -> Iterator[Text]:
    said = RepoTick.model_validate(report)
    if said.skipped is not None:
        yield Text(f"skipped: {said.skipped}", _SKIPPED)
    for each in said.repos:
        yield _cycle(each, would)
    for error in said.errors:
        yield Text(f"{error.repo_id}: {error.error}", _ERROR)


def _cycle(said: RepoCycle, would: str) -> Text:
    verb = f"{would}dispatch" if would else "dispatched"
    if said.dispatched is not None:
        job = f", job {said.job_id}" if said.job_id else ""
        return Text(f"{said.repo_id} {verb} {said.dispatched}{job}", _DONE)
    return Text(f"{said.repo_id} {verb} nothing: {said.skipped or 'nothing to do'}", "dim")


def _jobs(count: int) -> str:
    return "job" if count == 1 else "jobs"


def _workflow_count(count: int) -> str:
    return f"{count} {'workflow' if count == 1 else 'workflows'}"


_LINES: Final = {"leases": _leases, "workflows": _workflows, "repos": _repos}
