"""Every refusal as ``application/problem+json`` (RFC 9457): one table from error type to status."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from app import errors
from app.api.strict_json import shown
from app.errors import Refusal
from app.fleet import Json, JsonObject
from app.runtime.logs import redact
from app.wire.faults import message_of

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 2
"""What an answer 503 asks for when the refusal does not say."""

_FIELD_MAX = 200


class PayloadTooLarge(Refusal):
    """The body is larger than this service takes."""

    slug = "payload-too-large"
    title = "The body is too large"


class UnsupportedMediaType(Refusal):
    """The body says that it is not JSON."""

    slug = "unsupported-media-type"
    title = "The body must be JSON"


class MethodNotAllowed(Refusal):
    """The path exists, but not with this method; ``Allow`` names those it has."""

    slug = "method-not-allowed"
    title = "This path does not take that method"


class TokenInQuery(Refusal):
    """A secret stood in the address, where logs and histories keep it."""

    slug = "token-in-query"
    title = "A token never belongs in an address"


class BadRequest(Refusal):
    """The HTTP of the request itself is broken."""

    slug = "bad-request"
    title = "The request cannot be read"


class InternalError(Refusal):
    """A fault of ours."""

    slug = "internal-error"
    title = "The coordinator made a mistake"


STATUS: Mapping[type[Refusal], int] = {
    BadRequest: 400,
    TokenInQuery: 400,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    MethodNotAllowed: 405,
    errors.Conflict: 409,
    errors.VersionMismatch: 412,
    PayloadTooLarge: 413,
    UnsupportedMediaType: 415,
    errors.Invalid: 422,
    errors.VersionRequired: 428,
    InternalError: 500,
    errors.Unavailable: 503,
}
"""What an error answers; one that is not named answers as its nearest ancestor does."""

_OF_STATUS: Mapping[int, type[Refusal]] = {status: kind for kind, status in STATUS.items()} | {
    400: BadRequest
}


def status_of(kind: type[Refusal]) -> int:
    """Find the status of a kind of refusal: its own, else its nearest ancestor's."""
    return next(STATUS[each] for each in kind.__mro__ if each in STATUS)


def kinds() -> list[type[Refusal]]:
    """List every kind of refusal that this service can answer, each with a page of its own."""
    found: list[type[Refusal]] = []
    todo = list(Refusal.__subclasses__())
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo += kind.__subclasses__()
    return sorted(found, key=lambda kind: kind.slug)


def problem(refusal: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    """Write a refusal as an answer; nothing in it looks like one of our tokens."""
    status = status_of(type(refusal))
    document: JsonObject = {
        "type": f"/problems/{refusal.slug}",
        "title": refusal.title,
        "status": status,
        "detail": refusal.detail,
        **refusal.extensions,
    }
    if status == STATUS[errors.Invalid] and "errors" not in document:
        document["errors"] = [{"field": "body", "message": refusal.detail}]
    return Response(
        orjson.dumps(_masked(document)),
        status_code=status,
        headers={**_headers(refusal, status), **(headers or {})},
        media_type=MEDIA_TYPE,
    )


def _masked(value: Json) -> Json:
    """Mask what looks like a secret in every text, names included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(name): _masked(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return value


def _headers(refusal: Refusal, status: int) -> dict[str, str]:
    if status == STATUS[errors.Unauthenticated]:
        return {"WWW-Authenticate": 'Bearer realm="fleet"'}
    if status == STATUS[errors.Unavailable]:
        seconds = refusal.extensions.get("retry_after_s")
        wait_s = seconds if isinstance(seconds, int | float) else RETRY_AFTER_S
        return {"Retry-After": str(max(1, math.ceil(wait_s)))}
    return {}


def of_validation(error: RequestValidationError) -> errors.Invalid:
    """Turn what the models found into a refusal that names each field, and repeats no value."""
    faults: list[Json] = []
    for each in cast("Sequence[dict[str, Any]]", error.errors()):
        fault: JsonObject = {"field": field_path(each["loc"]), "message": message_of(each)}
        if fault not in faults:
            faults.append(fault)
    first = cast("JsonObject", faults[0])
    return errors.Invalid(f"{first['field']}: {first['message']}", errors=faults)


def field_path(location: Sequence[str | int]) -> str:
    """Write the place of a fault as people do: ``payload.a[3]``, or the name of a parameter."""
    source, *path = location
    if source != "body" and path:
        return shown(str(path[0]))[:_FIELD_MAX]
    if path and path[-1] == "[key]":
        path.pop()
    parts = (f"[{each}]" if isinstance(each, int) else f".{shown(each)}" for each in path)
    return "".join(parts).removeprefix(".")[:_FIELD_MAX] or "body"


def of_status(status: int, detail: str) -> Refusal:
    """Find the refusal for a status that the framework chose."""
    return _OF_STATUS.get(status, BadRequest)(detail)
