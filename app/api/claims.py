"""Claim: the best next jobs for a factory, or nothing now and why."""

import asyncio
import contextlib
import re
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Request
from starlette.responses import Response
from starlette.types import Receive

from app.api import plain
from app.api.answers import IdempotencyHeader, read_key
from app.api.calls import Call, Hot, Reply, written
from app.api.deps import OnlyFactory, Tools, own
from app.api.document import Responses, headers_of, refusals
from app.api.routing import CheckedRoute
from app.coordinator.waiting import Answer, ClaimRequest, Nothing
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
    call = Call(tools=tools, by=by, body=body, key=key, prefer=prefer, receive=request.receive)
    return (await _claim(call)).response()


async def _claim(call: Call[wire.ClaimRequest]) -> Reply:
    body, tools = call.body, call.tools
    factory_id = own(call.by, body.factory_id)
    wait_s, applied = _wait(body, call.prefer)
    asked = ClaimRequest(
        factory_id=factory_id,
        max_jobs=body.max_jobs,
        wait_s=wait_s,
        lease_s=LEASE_S_DEFAULT if body.lease_s is None else body.lease_s,
        key=None if call.key is None else read_key(call.key),
    )
    won = await _unless_gone(call, asked)
    headers = [("Preference-Applied", f"wait={wait_s}")] if applied else []
    if won is None:
        # He hung up: nobody reads this.
        return Reply(status=204)
    tools.metrics.claimed(won)
    if not isinstance(won, Nothing):
        return written({"claims": [plain.claim(each) for each in won]}, headers=headers)
    return Reply(status=204, headers=[*headers, *_why(won, factory_id)])


HOT = (Hot(path="/claim", model=wire.ClaimRequest, act=_claim),)


def _wait(body: wire.ClaimRequest, prefer: str | None) -> tuple[int, bool]:
    """Choose how long to wait: what the body says, else what the header prefers (RFC 7240)."""
    found = None if prefer is None else _PREFERRED_WAIT.search(prefer)
    if found is None or "wait_s" in body.model_fields_set:
        return body.wait_s, False
    return min(int(found[1]), WAIT_MAX_S), True


async def _unless_gone(call: Call[Any], asked: ClaimRequest) -> Answer | None:
    """Claim; None if the caller hung up before there was an answer."""
    desk = call.tools.desk
    if asked.wait_s == 0:
        return await desk.claim(asked)
    claiming = asyncio.create_task(desk.claim(asked))
    hanging_up = asyncio.create_task(_hang_up(call.receive))
    try:
        await asyncio.wait({claiming, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        return await claiming if claiming.done() else None
    finally:
        for task in (claiming, hanging_up):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def _hang_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _why(nothing: Nothing, factory_id: str) -> list[tuple[str, str]]:
    reasons = sorted(nothing.reasons.items(), key=lambda item: (-item[1], item[0]))
    headers = [
        ("Retry-After", str(nothing.retry_after_s)),
        ("Link", f'</explain?factory_id={quote(factory_id, safe="")}>; rel="describedby"'),
    ]
    if reasons:
        counted = ", ".join(f"{reason}={count}" for reason, count in reasons)
        headers.append(("Fleet-Reasons", counted))
    return headers
