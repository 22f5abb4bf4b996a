"""Ticks: one pass of a loop, by hand or by cron."""

from fastapi import APIRouter
from starlette.responses import Response

from app.api.answers import answer
from app.api.deps import OpsOrCron, Services, Tools
from app.api.routing import CheckedRoute
from app.wire.ticks import LeaseTick, OddJobReply, Tick

router = APIRouter(tags=["ticks"], route_class=CheckedRoute)

BUSY = "another process is at it"


@router.post("/tick", summary="Do one pass of everything", response_model=Tick)
async def tick(_by: OpsOrCron, tools: Tools) -> Response:
    """Do by hand what the loops do by themselves."""
    return answer(Tick(leases=await _leases(tools)))


@router.post("/tick/leases", summary="Do one pass over leases", response_model=LeaseTick)
async def tick_leases(_by: OpsOrCron, tools: Tools) -> Response:
    """End leases whose time is over, start jobs whose time has come, forget what is old.

    Every serving process does this once a second; one at a time acts, the others skip.
    """
    return answer(await _leases(tools))


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
