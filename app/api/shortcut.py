"""The short way: what a crowd of factories asks all the time, answered at little cost.

It stands before everything else and takes a request only if that is plainly right: a hot route, no
query, a token of the right role, a body of JSON that the route's own model takes and that holds
nothing the strict reader would refuse. Everything else goes the full way, which is then the only
one that has to tell what is wrong. So the short way refuses nothing by itself (but a token, by the
same doorman), and what it takes, the full way takes too: a property test compares them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.calls import Body, Call, Hot
from app.api.deps import Services
from app.api.middleware import Done, fault
from app.api.problems import problem
from app.api.strict_json import all_fit, has_escapes
from app.errors import Refusal
from app.fleet import Principal
from app.runtime.clock import monotonic_s

_BEARER: Final = b"Bearer "
_TOKEN_MAX: Final = 512
_SEGMENTS: Final = 4
_DIGITS: Final = 10
_JSON_TYPES: Final = frozenset({b"application/json", b"application/json; charset=utf-8", None})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """The head of a request that may go the short way."""

    hot: Hot[Any]
    target: str
    token: str
    headers: Mapping[bytes, bytes]


class Shortcut:
    """Serves hot routes; stands before the whole application."""

    def __init__(self, routes: Iterable[Hot[Any]], full_way: ASGIApp) -> None:
        """Know the routes; whatever is not plainly right is passed to ``full_way``."""
        self._full_way = full_way
        self._fixed: dict[str, Hot[Any]] = {}
        self._targeted: dict[tuple[str, str], tuple[Hot[Any], re.Pattern[str]]] = {}
        for each in routes:
            if each.target is None:
                self._fixed[each.path] = each
            else:
                _, noun, _, verb = each.path.split("/")
                self._targeted[noun, verb] = (each, each.target)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call, or pass it on as it came."""
        begun = monotonic_s()
        head = self._read(scope)
        if head is None:
            await self._full_way(scope, receive, send)
            return
        tools: Services = scope["app"].state.services
        body = _Arriving(receive)
        answer: Sequence[Message] | None
        by: Principal | None = None
        try:
            by = tools.doorman.recall(head.token) or await tools.doorman.authenticate(head.token)
            answer = await _act(head, tools, by, body)
        except Refusal as refusal:
            answer = _messages(problem(refusal))
        except Exception as error:  # noqa: BLE001 - whatever it was, the caller is answered
            answer = _messages(fault(head.hot.path, error))
        if answer is None:
            await self._full_way(scope, body.again, send)
            return
        for message in answer:
            await send(message)
        done = Done(
            route=head.hot.path,
            method="POST",
            status=answer[0]["status"],
            seconds=monotonic_s() - begun,
            by=by,
        )
        done.write_down(tools.metrics)

    def _read(self, scope: Scope) -> _Head | None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["query_string"]:
            return None
        hot, target = self._find(scope["path"])
        if hot is None or scope.get("root_path"):
            return None
        sent = scope["headers"]
        headers: dict[bytes, bytes] = dict(sent)
        authorization = headers.get(b"authorization", b"")
        if (
            len(headers) != len(sent)
            or headers.get(b"content-type") not in _JSON_TYPES
            or _declared(headers) > hot.bytes_max
            or not authorization.startswith(_BEARER)
        ):
            return None
        token = authorization[len(_BEARER) :].decode("latin-1").strip()
        if not 0 < len(token) <= _TOKEN_MAX or not token.isascii():
            return None
        return _Head(hot=hot, target=target, token=token, headers=headers)

    def _find(self, path: str) -> tuple[Hot[Any] | None, str]:
        fixed = self._fixed.get(path)
        if fixed is not None:
            return fixed, ""
        parts = path.split("/", _SEGMENTS)
        if len(parts) == _SEGMENTS:
            found = self._targeted.get((parts[1], parts[3]))
            if found is not None and found[1].fullmatch(parts[2]):
                return found[0], parts[2]
        return None, ""


def _declared(headers: Mapping[bytes, bytes]) -> float:
    """Tell how long a body says it is: one that is too long must not even be read."""
    length = headers.get(b"content-length", b"0")
    return int(length) if length.isdigit() and len(length) < _DIGITS else inf


class _Arriving:
    """A body as it arrives, which can be read again from the start."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: list[Message] = []

    async def whole(self, bytes_max: int) -> bytes | None:
        """Read a body; None if it is too large, or does not arrive."""
        body = b""
        while True:
            message = await self._receive()
            self._read.append(message)
            if message["type"] != "http.request":
                return None
            body += bytes(message.get("body", b""))
            if len(body) > bytes_max:
                return None
            if not message.get("more_body"):
                return body

    async def again(self) -> Message:
        """Receive what was read, and then what comes."""
        return self._read.pop(0) if self._read else await self._receive()


def taken(hot: Hot[Body], content: bytes) -> Body | None:
    """Read a body; None if it is not plainly right."""
    try:
        asked = hot.model.model_validate_json(content)
    except ValidationError:
        return None
    escapes = has_escapes(content)
    fits = all_fit(hot.free(asked), hot.free_depth, texts=escapes) and (
        not escapes or all_fit(hot.free_texts(asked), hot.free_depth, texts=True)
    )
    return asked if fits else None


async def _act(
    head: _Head, tools: Services, by: Principal, body: _Arriving
) -> Sequence[Message] | None:
    """Do what is asked; None if the request is not plainly right."""
    if by.role not in head.hot.roles:
        return None
    if by.factory_id is not None:
        tools.pulses.seen(by.factory_id)
    content = await body.whole(head.hot.bytes_max)
    if content is None:
        return None
    asked = taken(head.hot, content)
    if asked is None:
        return None
    headers = head.headers
    call = Call(
        tools=tools,
        by=by,
        body=asked,
        target=head.target,
        key=_text(headers.get(b"idempotency-key")),
        prefer=_text(headers.get(b"prefer")),
        receive=body.again,
    )
    reply = await head.hot.act(call)
    return None if reply is None else reply.messages()


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")


def _messages(response: Response) -> Sequence[Message]:
    return (
        {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": response.raw_headers,
        },
        {"type": "http.response.body", "body": bytes(response.body)},
    )
