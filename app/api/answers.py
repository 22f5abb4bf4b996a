"""Answers: replies as bytes, rows with their version, and answers that are kept for repeats."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import orjson
from fastapi import Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.api.calls import as_json
from app.api.deps import principal
from app.api.plain import Plain
from app.coordinator.once import Answer, Key
from app.errors import Invalid, VersionMismatch, VersionRequired
from app.fleet import Json

MEDIA_TYPE = "application/json"
KEY_MAX = 255
_REPLAYED = {"Idempotent-Replayed": "true"}


def answer(
    reply: BaseModel, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Write a reply."""
    return Response(
        reply.model_dump_json(), status_code=status, headers=headers, media_type=MEDIA_TYPE
    )


def row(reply: BaseModel, version: int, *, status: int = 200) -> Response:
    """Write a row with its version as a strong ``ETag``."""
    return answer(reply, status=status, headers={"ETag": etag(version)})


def etag(version: int) -> str:
    """Write a version as a strong entity tag."""
    return f'"{version}"'


def kept(reply: BaseModel, *, status: int, headers: Mapping[str, str]) -> Answer:
    """Make the answer of a creating call, as it is kept for repeats."""
    return Answer(status=status, body=reply.model_dump(mode="json"), headers=headers)


def kept_plain(reply: Plain, *, status: int, headers: Mapping[str, str]) -> Answer:
    """As :func:`kept`, for a plain value, which is written at once."""
    return kept_written(as_json(reply), status=status, headers=headers)


def kept_written(reply: bytes, *, status: int, headers: Mapping[str, str]) -> Answer:
    """As :func:`kept`, for a reply that is JSON already."""
    body: Any = orjson.Fragment(reply)
    return Answer(status=status, body=body, headers=headers)


def of_kept(given: Answer) -> Response:
    """Write the answer of a creating call, and say so if it is the one of an earlier call."""
    return Response(
        orjson.dumps(given.body),
        status_code=given.status,
        headers={**given.headers, **(_REPLAYED if given.replayed else {})},
        media_type=MEDIA_TYPE,
    )


IfMatchHeader: TypeAlias = Annotated[
    str | None,
    Header(
        alias="If-Match",
        max_length=100,
        description='The `ETag` of the version that is meant, such as `"7"`.',
        examples=['"7"'],
    ),
]


async def _if_match(if_match: IfMatchHeader = None) -> int:
    if if_match is None or not if_match.strip():
        detail = "Send the ETag of the version that you have read as If-Match."
        raise VersionRequired(detail)
    return _version(if_match)


async def _if_match_given(if_match: IfMatchHeader = None) -> int | None:
    return None if if_match is None else _version(if_match)


def _version(if_match: str) -> int:
    """Read the one version that is meant.

    Raises:
        VersionMismatch: it is none that a row could have.
    """
    number = _unquoted(if_match)
    if not (number.isascii() and number.isdigit()) or len(number) >= len(str(2**63)):
        detail = 'If-Match must name one version, such as "7"; this names none that exists.'
        raise VersionMismatch(detail)
    return int(number)


def read_key(header: str) -> str:
    """Read an ``Idempotency-Key``: a quoted string, or the bare text.

    Raises:
        Invalid: it is empty, too long, or not of printable ASCII.
    """
    key = _unquoted(header).replace('\\"', '"').replace("\\\\", "\\")
    if not 1 <= len(key) <= KEY_MAX or not key.isascii() or not key.isprintable():
        message = f"must be 1 to {KEY_MAX} printable ASCII characters"
        detail = f"Idempotency-Key {message}."
        raise Invalid(detail, errors=[{"field": "Idempotency-Key", "message": message}])
    return key


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if quoted else text


IdempotencyHeader: TypeAlias = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Repeating a call under the same key gives its first answer again, for 24 "
        "hours; with another body, or sent to another place, it is refused. Up to 255 printable "
        "ASCII characters, as a quoted string or bare.",
        examples=['"8e03978e-40d5-43e8-bc93-6894a57f9324"'],
    ),
]


async def _key(request: Request, header: IdempotencyHeader = None) -> Key | None:
    if header is None:
        return None
    route = getattr(request.scope.get("route"), "path", "")
    body: Json = await request.json()
    # The same body sent to another repo is another request, which the route does not show.
    said = {"to": request.path_params, "body": body} if request.path_params else body
    canonical = orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    return Key(
        scope=f"{principal(request).token_id} {request.method} {route}",
        key=read_key(header),
        fingerprint=hashlib.sha256(canonical).digest(),
    )


IfMatch: TypeAlias = Annotated[int, Depends(_if_match)]
"""The version that a change means; it must be said."""
IfMatchGiven: TypeAlias = Annotated[int | None, Depends(_if_match_given)]
"""The version that a change means, where it may be left open."""
OnceKey: TypeAlias = Annotated[Key | None, Depends(_key)]
