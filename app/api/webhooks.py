"""Webhooks: the forge delivers, and its signature is what opens the door."""

from typing import Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.answers import answer
from app.api.deps import Tools
from app.api.document import refusals
from app.api.problems import PayloadTooLarge
from app.api.routing import CheckedRoute
from app.api.strict_json import parse
from app.coordinator.hear import Delivery
from app.errors import Forbidden, Invalid, LostRace, Unauthenticated
from app.fleet import Json
from app.forge import webhook
from app.forge.reading import Unreadable
from app.wire.webhooks import HeardReply

router = APIRouter(tags=["webhooks"], route_class=CheckedRoute)

NAME_MAX: Final = 128
_FORM: Final = "application/x-www-form-urlencoded"
_NAMES: Final = ("x-github-event", "x-github-delivery")


@router.post(
    "/webhooks/github",
    summary="Take in what GitHub delivers",
    status_code=202,
    response_model=HeardReply,
    responses=refusals(Unauthenticated, Forbidden, PayloadTooLarge, Invalid, LostRace),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The delivery as GitHub sends it, of `pull_request`, "
            "`pull_request_review` or `issues`; others are ignored.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    },
)
async def github_delivers(request: Request, tools: Tools) -> Response:
    """Take in a delivery that is signed (`X-Hub-Signature-256`) with the secret of the settings.

    A delivery that was taken before changes nothing; an event that says nothing to us is ignored.
    """
    secret = tools.webhook_secret
    if not secret:
        detail = "Webhooks are off: FLEET_GITHUB_WEBHOOK_SECRET is not set."
        raise Forbidden(detail)
    body = await request.body()
    if not webhook.is_signed(body, request.headers.get("x-hub-signature-256", ""), secret):
        detail = "The delivery is not signed with the secret of this service."
        raise Unauthenticated(detail)
    event, delivery_id = (_header(request, name) for name in _NAMES)
    said = _read(event, body, request.headers.get("content-type", ""))
    heard = await tools.hear(Delivery(id=delivery_id, event=event, said=said))
    tools.metrics.deliveries.labels(heard.value).inc()
    return answer(HeardReply(outcome=heard.value), status=202)


def _header(request: Request, name: str) -> str:
    value = request.headers.get(name, "").strip()
    if not 0 < len(value) <= NAME_MAX or not value.isprintable():
        message = "must name the event" if name == _NAMES[0] else "must name the delivery"
        detail = f"{name} {message}."
        raise Invalid(detail, errors=[{"field": name, "message": message}])
    return value


def _read(
    event: str, body: bytes, content_type: str
) -> webhook.PullEvent | webhook.IssueEvent | None:
    try:
        return webhook.read(event, _payload(body, content_type))
    except Unreadable as error:
        detail = f"The delivery is not what GitHub documents for {event}: {error}."
        raise Invalid(detail, errors=[{"field": "body", "message": str(error)}]) from error


def _payload(body: bytes, content_type: str) -> Json:
    if content_type.partition(";")[0].strip().lower() == _FORM:
        body = parse_qs(body.decode("utf-8", "replace")).get("payload", [""])[0].encode()
    return parse(body)
