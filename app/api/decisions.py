"""Decisions: the record of every claim, listed, shown and replayed; and the receipts of leases."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from app.api.answers import answer
from app.api.deps import Cursor, Db, JobIdPath, Limit, Ops
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.decisions import (
    Decision,
    DecisionFilter,
    Receipt,
    explain_decision,
    lease_receipts,
    list_decisions,
)
from app.errors import NotFound
from app.fleet import DecisionId, FactoryId, JobId
from app.wire.decisions import (
    DecisionPage,
    DecisionReply,
    DecisionSummary,
    DifferenceReply,
    ReceiptEventReply,
    ReceiptPage,
    ReceiptReply,
    ReplayReply,
)
from app.wire.values import PAGE_DEFAULT, PersonalId, Timestamp

router = APIRouter(tags=["explain"], route_class=CheckedRoute)


@router.get(
    "/explain/decisions", summary="List what claims were decided", response_model=DecisionPage
)
async def decisions_page(  # noqa: PLR0913 - each is a parameter of the call
    *,
    job_id: Annotated[UUID | None, Query(description="Of this job only.")] = None,
    factory_id: Annotated[
        PersonalId | None, Query(description="Of this factory only.", examples=["f1"])
    ] = None,
    since: Annotated[Timestamp | None, Query(description="From this time on.")] = None,
    until: Annotated[Timestamp | None, Query(description="Before this time.")] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
    _by: Ops,
    db: Db,
) -> Response:
    """List decisions, newest first, by job, by factory, by time, or by all of them."""
    wanted = DecisionFilter(
        job_id=None if job_id is None else JobId(job_id),
        factory_id=None if factory_id is None else FactoryId(factory_id),
        since=since,
        until=until,
    )
    found = await list_decisions(db, wanted, cursor, limit)
    items = [_summary(each) for each in found.items]
    return answer(DecisionPage(items=items, next_cursor=found.next_cursor))


@router.get(
    "/explain/decisions/{decision_id}",
    summary="What a claim was decided on",
    response_model=DecisionReply,
    responses=refusals(NotFound),
)
async def decision_explained(
    decision_id: Annotated[UUID, Path(description="The decision's id, as its claim gave it.")],
    _by: Ops,
    db: Db,
) -> Response:
    """Show the stored record, and decide it again by today's scheduler: identical, or how not."""
    said = await explain_decision(db, DecisionId(decision_id))
    found = said.decision
    return answer(
        DecisionReply(
            id=found.id,
            at=found.at,
            factory_id=found.factory_id,
            job_id=found.job_id,
            fence=found.fence,
            total=found.total,
            headline=said.headline,
            kinds={str(job_id): kind for job_id, kind in said.kinds.items()},
            record=found.record,
            replay=ReplayReply(
                identical=not said.differences,
                differences=[
                    DifferenceReply(field=each.field, recorded=each.recorded, now=each.now)
                    for each in said.differences
                ],
            ),
        )
    )


@router.get(
    "/explain/jobs/{job_id}/leases",
    summary="The leases that a job had",
    response_model=ReceiptPage,
    responses=refusals(NotFound),
)
async def job_leases(
    job_id: JobIdPath, _by: Ops, db: Db, cursor: Cursor = None, limit: Limit = PAGE_DEFAULT
) -> Response:
    """Show the receipt of each fence: who had it, by which decision, and how it ended."""
    found = await lease_receipts(db, JobId(job_id), cursor, limit)
    items = [_receipt(each) for each in found.items]
    return answer(ReceiptPage(items=items, next_cursor=found.next_cursor))


def _summary(found: Decision) -> DecisionSummary:
    record: dict[str, object] = dict(found.record)
    lost = record["lost"]
    return DecisionSummary.model_validate(
        {
            "id": found.id,
            "at": found.at,
            "factory_id": found.factory_id,
            "job_id": found.job_id,
            "fence": found.fence,
            "total": found.total,
            "rank": record["rank"],
            "margin": record["margin"],
            "lost": len(lost) if isinstance(lost, list) else 0,
        }
    )


def _receipt(found: Receipt) -> ReceiptReply:
    return ReceiptReply(
        fence=found.fence,
        factory_id=found.factory_id,
        claimed_at=found.claimed_at,
        decision_id=found.decision_id,
        total=found.total,
        open=found.open,
        events=[
            ReceiptEventReply(at=each.at, event=each.event, outcome=each.outcome, by=each.by)
            for each in found.events
        ],
    )
