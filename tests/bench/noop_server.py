"""The floor for requests: a plain FastAPI application, served exactly as the service is.

``python -m tests.bench.noop_server``. One route takes the body of a claim, has it validated by the
model that claims have, and answers a small object. No middleware, no token, no database.
"""

import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import typer
from fastapi import FastAPI
from starlette.responses import JSONResponse

from app.launch.serving import first, run, serving_app
from app.runtime.listening import bound, url_of
from app.runtime.signals import told_to_stop
from app.wire.claims import ClaimRequest


@asynccontextmanager
async def frozen(_app: FastAPI) -> AsyncIterator[None]:
    """Spare the collector what is alive now, as the service does."""
    gc.collect()
    gc.freeze()
    yield


async def noop(_body: ClaimRequest) -> JSONResponse:
    """Do nothing."""
    return JSONResponse({"ok": True})


async def _serve(listener: socket.socket) -> None:
    app = FastAPI(lifespan=frozen)
    app.post("/noop")(noop)
    with told_to_stop() as stop:
        async with serving_app(app, listener) as server:
            typer.echo(url_of(listener))
            await first(stop, server)


if __name__ == "__main__":
    with bound("127.0.0.1", 0) as its_socket:
        run(_serve(its_socket))
