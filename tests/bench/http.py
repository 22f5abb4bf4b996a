"""A client that costs next to nothing: requests are ready-made bytes, of answers little is read.

A *script* is a generator that yields requests and is sent the answers; one drives one keep-alive
connection. Between an answer and the next request nothing is awaited, so that the machine's time
goes to the server, and how much went to the client is measured and reported.
"""

import asyncio
from collections.abc import Callable, Generator
from time import perf_counter
from typing import NamedTuple, TypeAlias, cast

import orjson

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class Answer(NamedTuple):
    """An answer, and how many seconds after its request it was whole."""

    status: int
    body: bytes
    seconds: float


Script: TypeAlias = Generator[bytes, Answer, None]


def get(path: str, token: str) -> bytes:
    """Write a GET as it goes over the wire."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def post(path: str, token: str, body: bytes) -> bytes:
    """Write a POST as it goes over the wire."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


class Exchange(asyncio.Protocol):
    """One keep-alive connection with at most one request under way."""

    def __init__(
        self, answered: Callable[[Answer], None], failed: Callable[[Exception], None]
    ) -> None:
        self._answered = answered
        self._failed = failed
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._pieces: list[bytes] = []
        self._missing = 0
        self._sent_at = 0.0
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are of no class of asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def send(self, request: bytes) -> float:
        """Send a request; returns when that was."""
        assert self._transport is not None
        self._sent_at = perf_counter()
        self._transport.write(request)
        return self._sent_at

    def close(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._missing > len(data):
            # A long body: put together once, when all of it is there.
            self._pieces.append(data)
            self._missing -= len(data)
            return
        if self._received or self._pieces:
            data = b"".join([self._received, *self._pieces, data])
            self._pieces.clear()
            self._missing = 0
        head = data.find(_HEAD_END)
        if head < 0:
            self._received = data
            return
        at = data.find(_LENGTH, 0, head)
        length = 0 if at < 0 else int(data[at + len(_LENGTH) : data.find(b"\r", at)])
        body = head + len(_HEAD_END)
        if len(data) - body < length:
            self._received = data
            self._missing = length - (len(data) - body)
            return
        self._received = b""
        self._answered(Answer(int(data[9:12]), data[body:], perf_counter() - self._sent_at))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._closing:
            self._failed(exc or ConnectionResetError("the server closed the connection"))


class Caller:
    """A connection for code that awaits each answer; for what is not counted in microseconds."""

    def __init__(self) -> None:
        self._exchange = Exchange(self._answered, self._failed)
        self._answer: asyncio.Future[Answer] | None = None

    @classmethod
    async def connect(cls, port: int) -> "Caller":
        caller = cls()
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: caller._exchange, "127.0.0.1", port)
        return caller

    async def call(self, request: bytes, *, expect: int) -> Answer:
        """Send a request and await its answer, which must have this status."""
        self._answer = asyncio.get_running_loop().create_future()
        self._exchange.send(request)
        return expected(await self._answer, expect)

    def close(self) -> None:
        self._exchange.close()

    def _answered(self, answer: Answer) -> None:
        if self._answer is not None:
            self._answer.set_result(answer)

    def _failed(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def expected(answer: Answer, *statuses: int) -> Answer:
    """Return the answer if its status is one of these.

    Raises:
        UnexpectedAnswerError: it is another.
    """
    if answer.status not in statuses:
        raise UnexpectedAnswerError(answer)
    return answer


class UnexpectedAnswerError(RuntimeError):
    """A measurement got an answer that it should not get, so it measures something else."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"answered {answer.status}: {answer.body[:500].decode(errors='replace')}")


class Lease(NamedTuple):
    """What a report on a job needs to name."""

    job_id: str
    fence: int


def leases_of(answer: Answer) -> list[Lease]:
    """Read the leases out of an answer that carries claims."""
    return [
        Lease(each["job"]["id"], each["lease"]["fence"])
        for each in orjson.loads(answer.body)["claims"]
    ]


class Voice:
    """Writes the requests of one factory."""

    def __init__(self, name: str, token: str) -> None:
        self.name = name
        self._token = token
        self._headers = (
            f" HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )

    def claim(self, *, max_jobs: int = 1, wait_s: int = 0) -> bytes:
        body = {"factory_id": self.name, "max_jobs": max_jobs, "wait_s": wait_s}
        return post("/claim", self._token, orjson.dumps(body))

    def complete(self, lease: Lease, *, claim_next: int = 0) -> bytes:
        body = f'{{"fence":{lease.fence},"claim_next":{claim_next}}}'
        path = f"POST /jobs/{lease.job_id}/complete"
        return f"{path}{self._headers}{len(body)}\r\n\r\n{body}".encode()

    def complete_all(self, leases: list[Lease], *, claim_next: int) -> bytes:
        reports = [{"job_id": job_id, "fence": fence} for job_id, fence in leases]
        body = {"leases": reports, "claim_next": claim_next}
        return post("/leases/complete", self._token, orjson.dumps(body))
