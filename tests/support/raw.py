"""HTTP by hand: cheap enough for thousands of calls, and it may hang up whenever it likes."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

BODY_LIMIT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was answered
        """Read the body."""
        return json.loads(self.body)


def request(
    path: str, token: str | None, body: object, *, method: str = "POST", key: str | None = None
) -> bytes:
    """Write a whole request."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: fleet", f"Content-Length: {len(content)}"]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    if key is not None:
        lines.append(f"Idempotency-Key: {key}")
    return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect to a server."""
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=BODY_LIMIT)
        return cls(reader=reader, writer=writer)

    def send(self, data: bytes) -> None:
        """Write, without waiting for anything."""
        self.writer.write(data)

    async def receive(self) -> Answer:
        """Read one answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (each.split(":", 1) for each in head[1:] if each)
        headers = {name.lower(): value.strip() for name, value in pairs}
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(status=int(head[0].split(" ")[1]), headers=headers, body=body)

    async def ask(self, data: bytes) -> Answer:
        """Send a request and read its answer."""
        self.send(data)
        return await self.receive()

    async def hang_up(self) -> None:
        """Close, whatever the server is doing."""
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


@asynccontextmanager
async def lines(url: str, count: int) -> AsyncIterator[list[Line]]:
    """Open several connections."""
    opened = await asyncio.gather(*(Line.open(url) for _ in range(count)))
    try:
        yield opened
    finally:
        await asyncio.gather(*(each.hang_up() for each in opened))
