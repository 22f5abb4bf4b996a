"""The service itself: alive, ready, its numbers, and the pages of its problems."""

from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import HTMLResponse, Response

from app.api.answers import answer
from app.api.deps import Anybody, Db, Tools
from app.api.document import refusals
from app.api.metrics import CONTENT_TYPE
from app.api.problem_pages import page_of
from app.api.routing import CheckedRoute
from app.coordinator.ready import ready
from app.coordinator.ticking import newest_ticks
from app.errors import NotFound, Unavailable
from app.wire.service import Liveness, Readiness

router = APIRouter(tags=["service"], route_class=CheckedRoute)


@router.get("/healthz", summary="Whether the process lives", response_model=Liveness)
async def healthz() -> Response:
    """Answer, which is the proof; asks nothing of the database."""
    return answer(Liveness(ok=True))


@router.get(
    "/readyz",
    summary="Whether the process can serve",
    response_model=Readiness,
    responses=refusals(Unavailable),
)
async def readyz(db: Db) -> Response:
    """Ask the database; 503 while it does not answer."""
    if await ready(db):
        return answer(Readiness(ready=True))
    detail = "The database does not answer, or was not migrated."
    raise Unavailable(detail, ready=False)


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={200: {"content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}},
)
async def metrics(_by: Anybody, tools: Tools) -> Response:
    """Show what this process counted, in the format of Prometheus; any token may read it."""
    with suppress(Unavailable):
        # Without a database there are still the numbers of this process.
        tools.metrics.ticked(await newest_ticks(tools.db))
        tools.metrics.waits(await tools.metrics.backlog.read(tools.db, tools.desk.waiting()))
    return Response(tools.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


@router.get(
    "/problems/{slug}",
    summary="What a problem means",
    response_class=HTMLResponse,
    responses=refusals(NotFound),
)
async def problem_page(
    slug: Annotated[str, Path(max_length=64, description="The problem.", examples=["stale-fence"])],
) -> Response:
    """Explain the problem whose `type` this address is: what it means, and what to do about it."""
    page = page_of(slug)
    if page is None:
        detail = "There is no problem of that name."
        raise NotFound(detail)
    return HTMLResponse(page)
