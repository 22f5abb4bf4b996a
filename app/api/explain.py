"""Explain: why, and why not."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api import present_explain as present
from app.api import present_workflows
from app.api.answers import answer
from app.api.deps import JobIdPath, Ops, OpsOrFactory, Tools, own
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.explain import explain_factory
from app.coordinator.explain_job import JobQuestion, explain_job
from app.errors import NotFound
from app.fleet import FactoryId, JobId
from app.wire.explain import FactoryExplanationReply
from app.wire.explain_job import JobExplanationReply
from app.wire.values import PersonalId
from app.wire.workflow_ticks import WorkflowsExplanation

router = APIRouter(tags=["explain"], route_class=CheckedRoute)

RANKING_DEFAULT = 20
RANKING_MAX = 100


@router.get(
    "/explain",
    summary="What a factory's next claim would get",
    response_model=FactoryExplanationReply,
    responses=refusals(NotFound),
)
async def factory_explained(
    factory_id: Annotated[PersonalId, Query(description="The factory.", examples=["f1"])],
    by: OpsOrFactory,
    tools: Tools,
    limit: Annotated[
        int, Query(ge=1, le=RANKING_MAX, description="How many jobs to rank.", examples=[20])
    ] = RANKING_DEFAULT,
) -> Response:
    """Rank the best jobs for a factory, with scores, by the functions that its claim would use.

    The ranking is empty if the next claim would be a 204; `blocked` counts what it cannot get.
    """
    own(by, factory_id)
    asked = FactoryId(factory_id)
    async with tools.explaining.turn():
        found = await explain_factory(tools.db, tools.desk.catalog, asked, limit=limit)
    return answer(present.factory_explanation(found))


@router.get(
    "/explain/jobs/{job_id}",
    summary="Why a job is, or is not, taken",
    response_model=JobExplanationReply,
    responses=refusals(NotFound),
)
async def job_explained(
    job_id: JobIdPath,
    _by: Ops,
    tools: Tools,
    factory_id: Annotated[
        PersonalId | None, Query(description="Ask about this factory only.", examples=["f1"])
    ] = None,
) -> Response:
    """Give a verdict per factory: every reason why not and when each clears, and the score."""
    question = JobQuestion(
        job_id=JobId(job_id),
        waiting=tools.desk.waiting(),
        factory_id=None if factory_id is None else FactoryId(factory_id),
    )
    async with tools.explaining.turn():
        found = await explain_job(tools.db, tools.desk.catalog, question)
    return answer(present.job_explanation(found))


@router.get(
    "/explain/workflows",
    summary="Why each workflow did, or did not, start",
    response_model=WorkflowsExplanation,
)
async def workflows_explained(_by: Ops, tools: Tools) -> Response:
    """Say of every unfinished workflow what the last tick did with it, and what the next would do.

    The next is a dry run of the tick itself, so it is no guess.
    """
    async with tools.rehearsing.turn():
        found = await tools.explain_workflows()
    return answer(present_workflows.workflows_explained(found))
