"""Workflows as people see them at a terminal."""

from rich.text import Text

from app.cli.screen import console, moment, pairs, table
from app.wire.workflows import WorkflowPage, WorkflowReply


def show_page(page: WorkflowPage) -> None:
    """Print a page of workflows, one a line."""
    screen = console()
    if not page.items:
        screen.print("no workflows")
        return
    rows = [
        (str(each.position), str(each.id), each.title, each.kind, _status(each), _standing(each))
        for each in page.items
    ]
    screen.print(table(("place", "id", "title", "kind", "status", "standing"), rows))
    if page.next_cursor is not None:
        screen.print(f"more: --cursor {page.next_cursor}", style="dim")


def show_workflow(found: WorkflowReply) -> None:
    """Print everything that is known of a workflow."""
    facts: list[tuple[str, str | Text]] = [
        ("id", f"{found.id} (version {found.version})"),
        ("title", found.title),
        ("kind", found.kind),
        ("status", _status(found)),
        ("place", str(found.position)),
        ("job", str(found.job_id or "-")),
        ("attempts", f"{found.stage_attempt}, failures of this stage {found.stage_failures}"),
        ("pull request", found.pr_url or "-"),
        ("review", "; ".join([found.review.value, *found.review_comments])),
        ("merged", moment(found.merged_at)),
        ("finished", moment(found.finished_at)),
    ]
    if found.uat_test_at is not None:
        facts.append(("UAT due", moment(found.uat_test_at)))
    if _standing(found) != "-":
        facts.append(("standing", Text(_standing(found), style="yellow")))
    console().print(pairs(facts))


def _status(found: WorkflowReply) -> Text:
    if found.processing:
        return Text(f"{found.status}, its job runs", style="cyan")
    return Text(found.status)


def _standing(found: WorkflowReply) -> str:
    said = []
    if found.needs_human_reason is not None:
        said.append(f"needs a person: {found.needs_human_reason}")
    if found.paused is not None:
        said.append(f"paused: {found.paused.reason} (by {found.paused.by})")
    return "; ".join(said) or "-"
