"""The floor for the client: a server that reads nothing and always says the same.

``python -m tests.bench.static_server``. Its answer is as long as that to a claim. What the client
gets out of it is what the client could get out of a server that costs nothing.
"""

import asyncio
from typing import cast

import typer
import uvloop

_BODY = b"{" + b" " * 1_298 + b"}"
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    b"content-length: " + str(len(_BODY)).encode() + b"\r\n\r\n" + _BODY
)


class Static(asyncio.Protocol):
    """Answers whatever arrives; a request is small enough to arrive whole."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        del data
        self._transport.write(_ANSWER)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Static, "127.0.0.1", 0)
    typer.echo(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve())
