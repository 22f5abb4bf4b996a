"""Claim: the best next jobs for a factory, or nothing now and why."""

import asyncio
import contextlib
import re
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Request
from starlette.responses import Response

from app.api import present
from app.api.answers import IdempotencyHeader, answer, read_key
from app.api.deps import OnlyFactory, Services, Tools, own
from app.api.document import Responses, headers_of, refusals
from app.api.routing import CheckedRoute
from app.coordinator.desk import Answer, ClaimRequest, Nothing
from app.errors import ClaimKeySpent, NotFound
from app.life import LEASE_S_DEFAULT
from app.wire import claims as wire
from app.wire.values import WAIT_MAX_S

router = APIRouter(tags=["claims"], route_class=CheckedRoute)

_PREFERRED_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?:$|[,;])", re.IGNORECASE)

_NOTHING: Responses = {
    204: {
        "description": "Nothing for this factory now, for whatever reason.",
        "headers": headers_of(
            {
                "Retry-After": "In how many seconds to ask again; jittered.",
                "Fleet-Reasons": "How many jobs each reason keeps from it, such as "
                "`missing_capability=12, lock_held=3`.",
                "Link": 'Where the whole explanation is, as `rel="describedby"`.',
            }
        ),
    }
}


@router.post(
    "/claim",
    summary="Claim the best next jobs",
    response_model=wire.ClaimsReply,
    responses=refusals(NotFound, ClaimKeySpent) | _NOTHING,
)
async def claim(
    request: Request,
    body: wire.ClaimRequest,
    by: OnlyFactory,
    tools: Tools,
    key: IdempotencyHeader = None,
    prefer: Annotated[
        str | None,
        Header(description="`wait=N` says the same as `wait_s`, which goes first."),
    ] = None,
) -> Response:
    """Lease up to `max_jobs` of the best jobs, and wait up to `wait_s` for the first.

    Nothing to hand out is a 204 that says when to ask again and why. An `Idempotency-Key` makes a
    lost answer harmless: repeating the claim gives the leases of it that are still current. Whoever
    hangs up while waiting leaves the queue.
    """
    factory_id = own(by, body.factory_id)
    wait_s, applied = _wait(body, prefer)
    asked = ClaimRequest(
        factory_id=factory_id,
        max_jobs=body.max_jobs,
        wait_s=wait_s,
        lease_s=LEASE_S_DEFAULT if body.lease_s is None else body.lease_s,
        key=None if key is None else read_key(key),
    )
    won = await _unless_gone(request, tools, asked)
    response = _gone() if won is None else _answer(won, factory_id)
    if applied:
        response.headers["Preference-Applied"] = f"wait={wait_s}"
    if won is not None:
        _count(tools, won)
    return response


def _wait(body: wire.ClaimRequest, prefer: str | None) -> tuple[int, bool]:
    """Choose how long to wait: what the body says, else what the header prefers (RFC 7240)."""
    found = None if prefer is None else _PREFERRED_WAIT.search(prefer)
    if found is None or "wait_s" in body.model_fields_set:
        return body.wait_s, False
    return min(int(found[1]), WAIT_MAX_S), True


async def _unless_gone(request: Request, tools: Services, asked: ClaimRequest) -> Answer | None:
    """Claim; None if the caller hung up before there was an answer."""
    if asked.wait_s == 0:
        return await tools.desk.claim(asked)
    claiming = asyncio.create_task(tools.desk.claim(asked))
    hanging_up = asyncio.create_task(_hang_up(request))
    try:
        await asyncio.wait({claiming, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        return await claiming if claiming.done() else None
    finally:
        for task in (claiming, hanging_up):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _gone() -> Response:
    """Answer a caller who is not there any more; nobody reads it."""
    return Response(status_code=204)


def _answer(won: Answer, factory_id: str) -> Response:
    if not isinstance(won, Nothing):
        return answer(wire.ClaimsReply(claims=[present.claim(each) for each in won]))
    reasons = sorted(won.reasons.items(), key=lambda item: (-item[1], item[0]))
    headers = {
        "Retry-After": str(won.retry_after_s),
        "Link": f'</explain?factory_id={quote(factory_id, safe="")}>; rel="describedby"',
    }
    if reasons:
        headers["Fleet-Reasons"] = ", ".join(f"{reason}={count}" for reason, count in reasons)
    return Response(status_code=204, headers=headers)


def _count(tools: Services, won: Answer) -> None:
    metrics = tools.metrics
    if isinstance(won, Nothing):
        metrics.claims.labels("nothing").inc()
        for reason, count in won.reasons.items():
            metrics.nothing.labels(reason.value).inc(count)
    else:
        metrics.claims.labels("leased").inc()
        metrics.claimed_jobs.inc(len(won))
