"""One call over HTTP: headers, time limits, and when to try again.

A call is *repeatable* if doing it twice is doing it once: reads, reports under a fence, and
whatever carries an ``Idempotency-Key``. Those are tried again after a lost answer, a gateway's
excuse or a 503, after the pause the coordinator asks for or a growing one with jitter. A call that
is not repeatable is tried again only if it was never sent, since the connection was refused.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from app.masking import mask
from app.sdk.errors import NotAFleet, Problem, Unreachable, retry_after_s
from app.wire.faults import faults_of

R = TypeVar("R", bound=BaseModel)
Params = Mapping[str, str | int | float | bool | Sequence[str] | None]

_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_TRY_AGAIN: Final = frozenset({502, 503, 504})
_SENT: Final = "http11.send_request_body.complete"
_CHANCE: Final = secrets.SystemRandom().random

# Shorter than servers keep an idle connection, so that none is used just as it is closed.
_KEEPALIVE_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a call is tried, and how long the pauses grow."""

    attempts: int = 4
    first_s: float = 0.2
    longest_s: float = 10.0

    def pause_s(self, attempt: int) -> float:
        """Draw the pause after the ``attempt``-th try: doubled each time, half of it chance."""
        bound = min(self.longest_s, self.first_s * 2.0 ** min(attempt - 1, 16))
        return bound * (0.5 + 0.5 * _CHANCE())


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: what is asked, and whether it may be asked twice."""

    method: str
    path: str
    params: Params = field(default_factory=dict)
    body: BaseModel | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    wait_s: float = 0.0
    """How long the coordinator was asked to wait with its answer."""
    on_sent: Callable[[], None] | None = None
    """Told when the whole request has left for the coordinator."""


class Transport:
    """Sends calls to one coordinator under one token."""

    def __init__(self, http: httpx.AsyncClient, *, timeout_s: float, retries: Retries) -> None:
        """Use :class:`app.sdk.FleetClient`, which makes the HTTP client and closes it."""
        self._http = http
        self._timeout_s = timeout_s
        self.retries = retries

    async def reply(self, call: Call, model: type[R]) -> R:
        """Send the call and read its answer.

        Raises:
            Problem: the coordinator refused.
            Unreachable: no answer came.
            NotAFleet: the answer is none that a coordinator gives.
        """
        return read(await self.send(call), model)

    async def send(self, call: Call) -> httpx.Response:
        """Send the call, again if that is right, until it succeeds or is refused.

        Raises:
            Problem: the coordinator refused.
            Unreachable: no answer came.
            NotAFleet: what came cannot even be read.
        """
        attempt = 0
        while True:
            attempt += 1
            last = attempt >= self.retries.attempts
            try:
                response = await self._once(call)
            except httpx.TransportError as error:
                if last or not (call.repeatable or isinstance(error, _NEVER_SENT)):
                    raise Unreachable(str(self._http.base_url), error) from error
                await asyncio.sleep(self.retries.pause_s(attempt))
                continue
            except httpx.RequestError as error:
                message = f"the answer of {self._http.base_url} cannot be read: {error}"
                raise NotAFleet(mask(message)) from error
            if response.is_success:
                return response
            pause_s = self._pause_s(response, attempt)
            if last or pause_s is None or not call.repeatable:
                raise Problem.of(response)
            await asyncio.sleep(pause_s)

    def _pause_s(self, response: httpx.Response, attempt: int) -> float | None:
        """Tell how long to wait before the next try; None if there should be none."""
        if response.status_code not in _TRY_AGAIN:
            return None
        asked_s = retry_after_s(response)
        if asked_s is None:
            return self.retries.pause_s(attempt)
        if asked_s > self.retries.longest_s:
            return None
        return asked_s + self.retries.first_s * _CHANCE()

    async def _once(self, call: Call) -> httpx.Response:
        headers = dict(call.headers)
        content = None
        if call.body is not None:
            content = call.body.model_dump_json(exclude_unset=True)
            headers["Content-Type"] = "application/json"
        params = {name: value for name, value in call.params.items() if value is not None}
        return await self._http.request(
            call.method,
            call.path,
            params=params,
            content=content,
            headers=headers,
            timeout=httpx.Timeout(self._timeout_s, read=self._timeout_s + call.wait_s),
            extensions={"trace": _tracer(call.on_sent)} if call.on_sent else None,
        )


def open_http(url: str, token: str | None) -> httpx.AsyncClient:
    """Make the HTTP client of one coordinator; a loopback address never goes by a proxy.

    Raises:
        ValueError: the token cannot be one.
    """
    if token is not None and not (token.isascii() and token.isprintable()):
        message = "a token must be of printable ASCII characters"
        raise ValueError(message)
    base = httpx.URL(url)
    return httpx.AsyncClient(
        base_url=base,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        trust_env=base.host not in {"127.0.0.1", "localhost", "::1"},
        limits=httpx.Limits(max_connections=None, keepalive_expiry=_KEEPALIVE_S),
    )


def new_key() -> str:
    """Make an ``Idempotency-Key``."""
    return secrets.token_hex(16)


def key_header(key: str) -> dict[str, str]:
    """Write an ``Idempotency-Key`` as the header wants it: a quoted string.

    Raises:
        ValueError: it is not of printable ASCII.
    """
    if not (key.isascii() and key.isprintable()):
        message = "an idempotency key must be of printable ASCII characters"
        raise ValueError(message)
    key = key.replace("\\", "\\\\").replace('"', '\\"')
    return {"Idempotency-Key": f'"{key}"'}


def read(response: httpx.Response, model: type[R]) -> R:
    """Read the body of a success.

    Raises:
        NotAFleet: it is none that a coordinator gives.
    """
    try:
        return model.model_validate_json(response.content)
    except ValidationError as error:
        first = next(iter(faults_of(error)))
        message = f"the answer of {response.url} is not what was expected: {first}"
        raise NotAFleet(mask(message)) from error


def _tracer(on_sent: Callable[[], None]) -> Callable[[str, object], Awaitable[None]]:
    async def trace(event: str, info: object) -> None:
        del info
        if event == _SENT:
            on_sent()

    return trace
