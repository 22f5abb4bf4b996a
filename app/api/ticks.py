"""Ticks: one pass of a loop, by hand or by cron."""

from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.answers import MEDIA_TYPE, answer
from app.api.deps import Cursor, Limit, Ops, OpsOrCron, Services, Tools
from app.api.document import refusals
from app.api.present_repos import repo_tick
from app.api.present_workflows import workflow_tick
from app.api.routing import CheckedRoute
from app.coordinator.ticking import Occasion, TickKind, list_ticks
from app.errors import NotFound
from app.wire.repos import RepoTick
from app.wire.ticks import LeaseTick, OddJobReply, StoredTick, StoredTickPage, Tick
from app.wire.values import PAGE_DEFAULT, Name
from app.wire.workflow_ticks import WorkflowTick
from app.workflow import WorkflowId

router = APIRouter(tags=["ticks"], route_class=CheckedRoute)

BUSY = "another process is at it"

DryRun = Annotated[
    bool,
    Query(description="Say what it would do, by the same code, and change nothing."),
]
Window = Annotated[
    Name | None,
    Query(
        description="The occasion, such as the time it was scheduled for; one that was served "
        "is skipped, so the call may be repeated.",
        examples=["2026-03-01T09:30"],
    ),
]


@router.post("/tick", summary="Do one pass of everything", response_model=Tick)
async def tick(
    *, _by: OpsOrCron, tools: Tools, dry_run: DryRun = False, window: Window = None
) -> Response:
    """Do by hand what the loops do by themselves; a dry run makes no pass over leases."""
    leases = None if dry_run else await _leases(tools)
    occasion = Occasion(kind=TickKind.WORKFLOWS, window=window, dry_run=dry_run)
    async with _turn(tools, occasion):
        workflows = workflow_tick((await tools.tick_workflows(occasion, None)).answer)
        repos = repo_tick((await tools.tick_repos(replace(occasion, kind=TickKind.REPOS))).answer)
    return _report(Tick(leases=leases, workflows=workflows, repos=repos))


@router.post("/tick/leases", summary="Do one pass over leases", response_model=LeaseTick)
async def tick_leases(_by: OpsOrCron, tools: Tools) -> Response:
    """End leases whose time is over, start jobs whose time has come, forget what is old.

    Every serving process does this once a second; one at a time acts, the others skip.
    """
    return answer(await _leases(tools))


@router.post(
    "/tick/workflows",
    summary="Do one tick over workflows",
    response_model=WorkflowTick,
    responses=refusals(NotFound),
)
async def tick_workflows(
    *,
    _by: OpsOrCron,
    tools: Tools,
    run_workflow_id: Annotated[
        UUID | None, Query(description="A workflow whose stage is to be run, such as a runbook.")
    ] = None,
    dry_run: DryRun = False,
    window: Window = None,
) -> Response:
    """Poll the jobs of workflows, and start what may be started.

    One tick at a time acts: while another is running this one is skipped, at once.
    """
    occasion = Occasion(kind=TickKind.WORKFLOWS, window=window, dry_run=dry_run)
    named = None if run_workflow_id is None else WorkflowId(run_workflow_id)
    async with _turn(tools, occasion):
        ticked = await tools.tick_workflows(occasion, named)
    return _report(workflow_tick(ticked.answer))


@router.post("/tick/repos", summary="Do one tick over repos", response_model=RepoTick)
async def tick_repos(
    *, _by: OpsOrCron, tools: Tools, dry_run: DryRun = False, window: Window = None
) -> Response:
    """Do one cycle of the feature chain for every enabled repo: at most one dispatch each.

    One tick at a time acts: while another is running this one is skipped, at once.
    """
    occasion = Occasion(kind=TickKind.REPOS, window=window, dry_run=dry_run)
    async with _turn(tools, occasion):
        ticked = await tools.tick_repos(occasion)
    return _report(repo_tick(ticked.answer))


@router.get("/ticks", summary="List ticks", response_model=StoredTickPage)
async def ticks_page(
    _by: Ops,
    tools: Tools,
    kind: Annotated[TickKind | None, Query(description="Of this kind.")] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List the reports of ticks that were not skipped, newest first."""
    page = await list_ticks(tools.db, kind, cursor, limit)
    items = [
        StoredTick(
            id=each.id,
            kind=each.kind,
            window=each.window,
            at=each.at,
            report=each.report,
            reasons=each.reasons,
        )
        for each in page.items
    ]
    return answer(StoredTickPage(items=items, next_cursor=page.next_cursor))


def _turn(tools: Services, occasion: Occasion) -> AbstractAsyncContextManager[None]:
    """Let dry runs wait for each other; ticks take turns by themselves."""
    return tools.rehearsing.turn() if occasion.dry_run else nullcontext()


def _report(reply: Tick | WorkflowTick | RepoTick) -> Response:
    """Write a report; a tick that was skipped says why and nothing else."""
    return Response(reply.model_dump_json(exclude_unset=True), media_type=MEDIA_TYPE)


async def _leases(tools: Services) -> LeaseTick:
    report = await tools.sweep()
    return LeaseTick(
        expired=report.expired,
        died=report.died,
        timed_out=report.timed_out,
        unblocked=report.unblocked,
        pruned=report.pruned,
        skipped=BUSY if report.busy else None,
        odd=[OddJobReply(job_id=each.job_id, error=each.error) for each in report.odd],
    )
