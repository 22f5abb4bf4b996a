"""``fleet jobs``: the list, and one job with its history."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from app.cli.connection import AsJson, DataDir, ask
from app.cli.durations import ago
from app.cli.errors import CliError
from app.cli.screen import console, emit_json, moment, one_line, pairs, table
from app.fleet import JobState, Json
from app.runtime.clock import now_utc
from app.sdk import FleetClient
from app.sdk.jobs import JobFilter
from app.wire.jobs import JobEventReply, JobPage, JobReply

_REFRESH_S = 2.0
_WIDE = 130
_STYLES = {
    JobState.LEASED: "cyan",
    JobState.SUCCEEDED: "green",
    JobState.DEAD: "red",
    JobState.CANCELLED: "red",
    JobState.HELD: "yellow",
    JobState.BLOCKED: "yellow",
}


def jobs(  # noqa: PLR0913 - a flag is an argument
    *,
    job_id: Annotated[str | None, typer.Argument(metavar="ID", help="Show this one.")] = None,
    state: Annotated[str | None, typer.Option(help="Only in this state; dead, for one.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only of this kind.")] = None,
    repo: Annotated[str | None, typer.Option(help="Only on this repository.")] = None,
    factory: Annotated[str | None, typer.Option(help="Only held by this factory.")] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Only with this label, name=value; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="How many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on where a listing ended.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show anew until Ctrl-C.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List jobs, the newest first; or show one, with its history."""
    if watch and as_json:
        message = "--watch is for people and --json for programs: give one"
        raise CliError(message)
    if job_id is not None:
        _one(uuid_of(job_id), data_dir, as_json=as_json, watch=watch)
        return
    which = JobFilter(state=state, kind=kind, repo=repo, factory_id=factory, label=label or ())

    async def read(fleet: FleetClient) -> JobPage:
        return await fleet.jobs.page(cursor=cursor, limit=limit, **which)

    if as_json:
        emit_json(ask("client", data_dir, read))
        return
    _show((_page(ask("client", data_dir, read)) for _ in _again(watch)), watch=watch)


def uuid_of(text: str) -> UUID:
    """Read a job's id.

    Raises:
        CliError: it is none.
    """
    try:
        return UUID(text)
    except ValueError:
        message = f"{text!r} is not the id of a job"
        raise CliError(message) from None


def job_table(items: list[JobReply], *, wide: bool) -> RenderableType:
    """Lay out jobs, one a line; a narrow screen gets what matters most."""
    now = now_utc()
    columns = ["id", "kind", "state", "factory", "created"]
    if wide:
        columns += ["repo", "priority", "attempts", "outcome"]
    rows = []
    for job in items:
        cells: dict[str, str | Text] = {
            "id": str(job.id),
            "kind": job.kind,
            "state": Text(job.state, style=_STYLES.get(job.state, "")),
            "factory": job.factory_id or "-",
            "created": ago(job.created_at, now),
            "repo": job.repo or "-",
            "priority": job.priority,
            "attempts": f"{job.attempts}/{job.max_attempts}",
            "outcome": _outcome(job),
        }
        rows.append([cells[name] for name in columns])
    return table(columns, rows)


def _one(job_id: UUID, data_dir: Path | None, *, as_json: bool, watch: bool) -> None:
    async def read(fleet: FleetClient) -> tuple[JobReply, list[JobEventReply]]:
        job = await fleet.jobs.get(job_id)
        events: list[JobEventReply] = []
        cursor: str | None = None
        while True:
            page = await fleet.jobs.events(job_id, cursor=cursor, limit=500)
            events += page.items
            cursor = page.next_cursor
            if cursor is None:
                return job, events

    if as_json:
        job, events = ask("client", data_dir, read)
        history: list[Json] = [each.model_dump(mode="json") for each in events]
        emit_json({**job.model_dump(mode="json"), "events": history})
        return
    _show((_detail(*ask("client", data_dir, read)) for _ in _again(watch)), watch=watch)


def _again(watch: bool) -> Iterator[None]:  # noqa: FBT001 - private, and its name says it
    yield
    while watch:
        time.sleep(_REFRESH_S)
        yield


def _show(frames: Iterator[RenderableType], *, watch: bool) -> None:
    screen = console()
    if not watch:
        for frame in frames:
            screen.print(frame)
        return
    with Live(console=screen, auto_refresh=False) as live:
        for frame in frames:
            live.update(frame, refresh=True)


def _page(page: JobPage) -> RenderableType:
    if not page.items:
        return Text("no jobs")
    shown = job_table(page.items, wide=console().width >= _WIDE)
    if page.next_cursor is None:
        return shown
    return Group(shown, Text(f"more: --cursor {page.next_cursor}", style="dim"))


def _detail(job: JobReply, events: list[JobEventReply]) -> RenderableType:
    facts: list[tuple[str, str | Text]] = [
        ("id", f"{job.id} (version {job.version})"),
        ("kind", job.kind),
        ("state", Text(job.state, style=_STYLES.get(job.state, ""))),
        ("repo", job.repo or "-"),
        ("priority, cost", f"{job.priority}, {job.cost_class}"),
        ("wants", _wants(job)),
        ("lock", job.lock or "-"),
        ("depends on", ", ".join(str(each) for each in job.depends_on) or "-"),
        ("attempts", f"{job.attempts} of {job.max_attempts}, each up to {job.timeout_s} s"),
        ("factory", f"{job.factory_id or '-'} (fence {job.fence})"),
        ("created", moment(job.created_at)),
        ("finished", moment(job.finished_at)),
        ("payload", _json(job.payload)),
    ]
    if job.hold is not None:
        facts.append(("held", f"{job.hold.reason} (by {job.hold.by})"))
    if job.error is not None:
        facts.append(("error", job.error))
    if job.result is not None:
        facts.append(("result", _json(job.result)))
    history = table(
        ("at", "event", "factory", "fence", "by", "detail"),
        [
            (
                moment(each.at),
                each.event,
                each.factory_id or "-",
                str(each.fence or "-"),
                each.by or "-",
                _json(each.detail) if each.detail else "",
            )
            for each in events
        ],
    )
    return Group(pairs(facts), Text(), history)


def _wants(job: JobReply) -> str:
    wanted = list(job.required_capabilities)
    if job.prefers_engine:
        wanted.append(f"rather {job.prefers_engine}")
    return ", ".join(wanted) or "-"


def _outcome(job: JobReply) -> str:
    if job.error is not None and job.result is None:
        return one_line(job.error)
    return "" if job.result is None else one_line(_json(job.result))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
