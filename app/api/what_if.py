"""What if: explain, with something otherwise."""

from datetime import timedelta
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import Response

from app.api.answers import answer
from app.api.deps import Ops, Tools
from app.api.document import refusals
from app.api.routing import CheckedRoute
from app.coordinator.what_if import (
    FactoryOutcome,
    PastOutcome,
    QueueOutcome,
    what_if_now,
    what_if_past,
)
from app.errors import Invalid, NotFound
from app.fleet import FactoryId, JobId
from app.scheduler import DEFAULT_WEIGHTS, Weights
from app.what_if import Flip, Hypothesis, Move
from app.wire.what_if import (
    DecisionFlipReply,
    FactoryOutcomeReply,
    MoveReply,
    WhatIfReply,
    WhatIfRequest,
)

router = APIRouter(tags=["explain"], route_class=CheckedRoute)

_JOB_FIELDS = frozenset({"repo", "created_at"})


@router.post(
    "/explain/what-if",
    summary="What would be, if something were otherwise",
    response_model=WhatIfReply,
    responses=refusals(NotFound),
)
async def what_if(body: WhatIfRequest, _by: Ops, tools: Tools) -> Response:
    """Ask with other weights, a changed factory or a changed job. Changes nothing.

    Over the queue as it is, or over the recorded decisions of a time span.
    """
    hypothesis = _hypothesis(body)
    async with tools.explaining.turn():
        if body.decisions is not None:
            span = body.decisions
            past = await what_if_past(tools.db, hypothesis, span.since, span.until)
            return answer(_of_past(past))
        only = [FactoryId(each) for each in body.factory_ids]
        found = await what_if_now(tools.db, tools.desk.catalog, hypothesis, only)
        return answer(_of_queue(found))


def _hypothesis(body: WhatIfRequest) -> Hypothesis:
    if body.weights is None and body.factory is None and body.job is None:
        detail = "Say what would be otherwise: weights, factory or job."
        raise Invalid(detail, errors=[{"field": "weights", "message": detail}])
    job = _given(body.job)
    if job.get("created_at", ...) is None:
        detail = "must not be null"
        raise Invalid(detail, errors=[{"field": "job.created_at", "message": detail}])
    return Hypothesis(
        weights=Weights(**body.weights.model_dump()) if body.weights else DEFAULT_WEIGHTS,
        factory_id=FactoryId(body.factory.id) if body.factory else None,
        factory_fields=_given(body.factory),
        job_id=JobId(body.job.id) if body.job else None,
        job_fields={name: value for name, value in job.items() if name in _JOB_FIELDS},
        class_fields={name: value for name, value in job.items() if name not in _JOB_FIELDS},
    )


def _given(model: BaseModel | None) -> dict[str, Any]:
    """Return the fields that were named, as the core calls and types them."""
    if model is None:
        return {}
    named = model.model_dump(exclude_unset=True, exclude={"id"})
    return {
        "required" if name == "required_capabilities" else name: frozenset(value)
        if isinstance(value, list)
        else value
        for name, value in named.items()
    }


def _of_queue(found: QueueOutcome) -> WhatIfReply:
    return WhatIfReply(
        warnings=list(found.warnings),
        factories=[_outcome(each) for each in found.factories],
        decisions=0,
        more=False,
        decision_flips=[],
    )


def _of_past(found: PastOutcome) -> WhatIfReply:
    return WhatIfReply(
        warnings=list(found.warnings),
        factories=[],
        decisions=found.decisions,
        more=found.more,
        decision_flips=[_flip(each) for each in found.flips],
    )


def _outcome(found: FactoryOutcome) -> FactoryOutcomeReply:
    up = [each for each in found.moves if _gains(each)]
    return FactoryOutcomeReply(
        factory_id=found.factory_id,
        flips=found.before != found.after,
        before=found.before,
        after=found.after,
        sooner=[_move(each) for each in up],
        later=[_move(each) for each in found.moves if each not in up],
    )


def _gains(move: Move) -> bool:
    if move.before is None or move.after is None:
        return move.before is None
    return move.after < move.before


def _move(found: Move) -> MoveReply:
    return MoveReply(job_id=found.job_id, before=found.before, after=found.after)


def _flip(found: Flip) -> DecisionFlipReply:
    return DecisionFlipReply(
        decision_id=found.decision_id,
        at=found.at,
        factory_id=found.factory_id,
        job_id=found.job_id,
        instead=found.instead,
        longer_s=_seconds(found.longer),
        shorter_s=_seconds(found.shorter),
    )


def _seconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds())
