"""Calls of the hot routes as values, and what is answered to them.

A hot route is served in two ways: by FastAPI, which checks everything and can explain what is wrong
with a request, and by the short way (:mod:`app.api.shortcut`), which takes nothing but requests
that are plainly right. Both make the same :class:`Call` and hand it to the same function.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

import orjson
from pydantic import BaseModel
from starlette.responses import Response
from starlette.types import Message, Receive

from app.api.deps import Services
from app.fleet import Principal, Role

BODY_MAX: Final = 1024 * 1024
"""The largest body that is taken at all."""

SMALL_MAX: Final = 65_536
"""The largest body that is read in between, while others wait."""

_FACTORIES: Final = frozenset({Role.FACTORY})
_JSON: Final = "application/json"
_EMPTY: Final = 204

Body = TypeVar("Body", bound=BaseModel)


async def nobody_hangs_up() -> Message:
    """Stand for a connection where it does not matter whether the caller is still there."""
    return {"type": "http.disconnect"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Body]):
    """A call that may be made, with a body that is right."""

    tools: Services
    by: Principal
    body: Body
    target: str = ""
    """What stands in the path where the route's template has a parameter."""
    key: str | None = None
    """``Idempotency-Key``, as it was sent."""
    prefer: str | None = None
    """``Prefer``, as it was sent."""
    receive: Receive = nobody_hangs_up
    """Tells of the caller hanging up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer of a hot route."""

    status: int = 200
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = ()

    def response(self) -> Response:
        """Write it as a response of the framework's."""
        return Response(
            self.body,
            status_code=self.status,
            headers=dict(self.headers),
            media_type=None if self.status == _EMPTY else _JSON,
        )

    def messages(self) -> tuple[Message, Message]:
        """Write it as the two messages that a server takes."""
        headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in self.headers]
        if self.status != _EMPTY:
            length = str(len(self.body)).encode()
            headers += [(b"content-length", length), (b"content-type", b"application/json")]
        return (
            {"type": "http.response.start", "status": self.status, "headers": headers},
            {"type": "http.response.body", "body": self.body},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hot(Generic[Body]):
    """A route that is served in the short way, too; ``act`` may leave a call to the full way.

    ``free`` names what of a body the model lets be anything, so that it has to be looked through,
    and how deep it stands there; ``free_texts`` what the model knows to be texts, but of any
    characters.
    """

    path: str
    model: type[Body]
    act: Callable[[Call[Body]], Awaitable[Reply | None]]
    roles: frozenset[Role] = _FACTORIES
    target: re.Pattern[str] | None = None
    free: Callable[[Body], Iterable[Any]] = lambda _body: ()
    free_depth: int = 0
    free_texts: Callable[[Body], Iterable[Any]] = lambda _body: ()
    bytes_max: int = SMALL_MAX


A_JOB_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
A_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


def written(reply: object, *, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """Write a plain value as JSON, times in UTC as ``Z``."""
    return Reply(body=as_json(reply), headers=headers)


def as_json(reply: object) -> bytes:
    """Write a plain value as JSON, times in UTC as ``Z``."""
    return orjson.dumps(reply, default=_driver_id, option=orjson.OPT_UTC_Z)


def _driver_id(value: object) -> str:
    """Write an id that comes from the database driver: a UUID of a kind of its own."""
    if isinstance(value, UUID):
        return str(value)
    raise TypeError
