"""Around every call: it is counted and logged, let in or not, and its body has a bound.

From outside in: :class:`Observe` → :class:`Guard` → :class:`BoundBody` → the routes. All three are
plain ASGI, so that a token is asked for before a byte of the body is read.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.calls import BODY_MAX
from app.api.deps import Services
from app.api.metrics import UNMATCHED, Metrics
from app.api.problems import InternalError, PayloadTooLarge, TokenInQuery, problem
from app.api.strict_json import shown
from app.errors import Invalid, Refusal, Unauthenticated
from app.fleet import Principal
from app.runtime.clock import monotonic_s
from app.runtime.ids import TOKEN_PREFIX

OPEN = frozenset({"/healthz", "/readyz", "/webhooks/github"})
"""What takes no token; a webhook is let in by its signature."""
OPEN_BELOW = "/problems/"

_GONE = 499
"""How a call is counted whose caller went away, for want of a status that says so."""

_TOKEN_MAX = 512
_SECRET_NAMES = frozenset(
    {"token", "access_token", "auth_token", "api_token", "apikey", "api_key", "api-key"}
    | {"authorization", "bearer", "x-api-key", "fleet_token", "id_token", "secret", "password"}
)
_SECRET_VALUE = re.compile(rf"{TOKEN_PREFIX}[A-Za-z0-9_-]{{20,}}")

access = logging.getLogger("app.access")
log = logging.getLogger(__name__)


def _services(scope: Scope) -> Services:
    found: Services = scope["app"].state.services
    return found


class Observe:
    """Counts and logs every call by its route's template, and answers for faults of ours.

    Neither the path nor the query is logged: what people put there by mistake stays out of logs.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand around ``app``."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, and write down how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = monotonic_s()
        status: list[int] = []

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except ClientDisconnect:
            # Whoever asked went away while asking: no fault of anybody's, and nobody to answer.
            status.append(_GONE)
        except Exception as error:
            failed = fault(_template(scope), error)
            if status:
                raise
            await failed(scope, receive, watch)
        finally:
            done = Done(
                route=_template(scope),
                method=scope["method"],
                status=status[0] if status else 0,
                seconds=monotonic_s() - begun,
                by=scope.get("state", {}).get("principal"),
            )
            done.write_down(_services(scope).metrics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a call went."""

    route: str | None
    method: str
    status: int
    seconds: float
    by: Principal | None

    def write_down(self, metrics: Metrics) -> None:
        """Count it, and log it if somebody reads that."""
        metrics.observe(
            route=self.route, method=self.method, status=self.status, seconds=self.seconds
        )
        if access.isEnabledFor(logging.INFO):
            access.info(
                "%s %s %d",
                self.method if self.route else "-",
                self.route or UNMATCHED,
                self.status,
                extra={
                    "ms": round(self.seconds * 1000, 1),
                    "by": self.by.name if self.by else None,
                },
            )


def fault(route: str | None, error: Exception) -> Response:
    """Log a fault of ours, and make the answer to it."""
    log.error("unexpected fault", extra={"route": route or UNMATCHED}, exc_info=error)
    return problem(InternalError("Something went wrong inside the coordinator."))


def _template(scope: Scope) -> str | None:
    path = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else None


class Guard:
    """The door: a valid token, and an address that holds no secret and can be read."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before ``app``."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a call in, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            _no_secret(scope["query_string"])
            if not _is_open(scope["path"]):
                caller = await _caller(scope)
                scope.setdefault("state", {})["principal"] = caller
                if caller.factory_id is not None:
                    _services(scope).pulses.seen(caller.factory_id)
            _readable(scope)
        except Refusal as refusal:
            await problem(refusal)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _is_open(path: str) -> bool:
    return path in OPEN or path.startswith(OPEN_BELOW)


async def _caller(scope: Scope) -> Principal:
    """Find out who is calling.

    Raises:
        Unauthenticated: no token, or one that is unknown, expired or revoked.
    """
    sent = Headers(scope=scope).getlist("authorization")
    scheme, _, token = (sent[0] if len(sent) == 1 else "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > _TOKEN_MAX or not token.isascii():
        detail = "Send a token as “Authorization: Bearer …”."
        raise Unauthenticated(detail)
    return await _services(scope).doorman.authenticate(token)


def _no_secret(query: bytes) -> None:
    """Refuse a token in the address.

    Raises:
        TokenInQuery: there is one, or something that goes by the name of one.
    """
    if not query:
        return
    text = unquote_to_bytes(query.replace(b"+", b" ")).decode("utf-8", "replace")
    names = {pair.partition("=")[0].strip().lower() for pair in re.split("[&;]", text)}
    if names & _SECRET_NAMES or _SECRET_VALUE.search(text):
        detail = (
            "A token stood in the address, where logs keep it: send it as “Authorization: "
            "Bearer …”, and revoke the one that was sent."
        )
        raise TokenInQuery(detail)


def _readable(scope: Scope) -> None:
    """Refuse an address that is not text, or holds a NUL.

    Raises:
        Invalid: it names the parameter, or the path.
    """
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    places: Mapping[str, bytes] = {"path": raw_path}
    for field, raw in [*places.items(), *_parameters(scope["query_string"])]:
        try:
            unfit = "\0" in unquote_to_bytes(raw).decode()
            message = "must not contain a NUL character"
        except UnicodeDecodeError:
            unfit, message = True, "must be UTF-8"
        if unfit:
            detail = f"{field} {message}."
            raise Invalid(detail, errors=[{"field": field, "message": message}])


def _parameters(query: bytes) -> list[tuple[str, bytes]]:
    """Split a query into each parameter's readable name and its raw text, the name included."""
    parts = [part for part in query.split(b"&") if part]
    names = (unquote_to_bytes(part.partition(b"=")[0]).decode("utf-8", "replace") for part in parts)
    return [(shown(name)[:200] or "query", part) for name, part in zip(names, parts, strict=True)]


class BoundBody:
    """Refuses a body that is too large: by its declared length, else as soon as it is."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before ``app``."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on with a body that cannot grow beyond the bound."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > BODY_MAX:
            await problem(_too_large())(scope, receive, send)
            return
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > BODY_MAX:
                raise _too_large()
            return message

        await self.app(scope, bounded, send)


def _too_large() -> PayloadTooLarge:
    detail = f"A body has at most {BODY_MAX} bytes."
    return PayloadTooLarge(detail, limit_bytes=BODY_MAX)
