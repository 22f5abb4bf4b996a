"""A GitHub of a test's own, behind a real socket: pages, entity tags, limits, webhooks' secrets."""

import asyncio
import hashlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.forge.github import GitHub
from tests.support.api import ReadyServer

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
Refuse = Callable[[Request], Response | None]


def pull(number: int, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any member of a pull
    """A pull request as GitHub writes one, cut to size."""
    head = {"sha": f"sha{number}", "repo": {"full_name": "acme/shop"}}
    blank = {"number": number, "title": f"pull {number}", "body": None, "state": "open"}
    return {**blank, "merged_at": None, "closed_at": None, "head": head, **fields}


def issue(number: int, *labels: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """An issue as GitHub writes one, cut to size."""
    named = [{"name": each} for each in labels]
    return {"number": number, "title": f"bug {number}", "state": "open", "labels": named, **fields}


@dataclass(slots=True, kw_only=True)
class Server:
    """What the forge holds, what it was asked, and how it refuses."""

    page_size: int = 30
    pulls: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    reviews: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    remarks: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    refuse: Refuse = lambda _request: None
    asked: list[str] = field(default_factory=list)
    unchanged: int = 0
    tokens: list[str | None] = field(default_factory=list)
    url: str = ""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by every question; and the answer to it waits until it is ``open``."""
    open: asyncio.Event = field(default_factory=asyncio.Event)
    now: datetime = START

    def clock(self) -> datetime:
        return self.now

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)

    def answer(self, request: Request) -> Response:
        """Answer one request as GitHub does."""
        self.asked.append(f"{request.url.path}?{request.url.query}")
        self.tokens.append(request.headers.get("authorization"))
        refused = self.refuse(request)
        if refused is not None:
            return refused
        found = self._find(request)
        if found is None:
            return JSONResponse({"message": "Not Found"}, status_code=404)
        headers = {}
        if isinstance(found, list):
            page = int(request.query_params.get("page", 1))
            size = min(self.page_size, int(request.query_params.get("per_page", 30)))
            if len(found) > page * size:
                more = request.url.include_query_params(page=page + 1)
                headers["link"] = f'<{more}>; rel="next", <{more}>; rel="last"'
            found = found[(page - 1) * size : page * size]
        tag = f'"{hashlib.sha256(json.dumps(found).encode()).hexdigest()}"'
        headers["etag"] = tag
        if request.headers.get("if-none-match") == tag:
            self.unchanged += 1
            return Response(status_code=304, headers=headers)
        return JSONResponse(found, headers=headers)

    def _find(self, request: Request) -> Any:  # noqa: ANN401 - an object or a list
        parts = request.url.path.strip("/").split("/")[3:]
        match parts:
            case ["pulls"]:
                return [each for each in self.pulls if each["state"] == "open"]
            case ["issues"]:
                label = {"name": request.query_params["labels"]}
                open_ = [each for each in self.issues if each["state"] == "open"]
                return [each for each in open_ if label in each["labels"]]
            case ["pulls" | "issues" as noun, number]:
                all_ = self.pulls if noun == "pulls" else self.issues
                return next((each for each in all_ if each["number"] == int(number)), None)
            case ["pulls", number, "reviews" | "comments" as noun]:
                said = self.reviews if noun == "reviews" else self.remarks
                return said.get(int(number), [])
            case _:
                return None


@asynccontextmanager
async def github_server() -> AsyncIterator[Server]:
    """Serve a GitHub for as long as the block lasts."""
    server = Server()
    server.open.set()

    async def answer(request: Request) -> Response:
        server.arrived.set()
        await server.open.wait()
        return server.answer(request)

    app = Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    running = ReadyServer(uvicorn.Config(app, log_config=None, access_log=False))
    serving = asyncio.create_task(running.serve(sockets=[listening]))
    try:
        await running.ready.wait()
        yield server
    finally:
        server.open.set()
        running.should_exit = True
        await serving
        listening.close()


def eyes_on(server: Server) -> GitHub:
    """Open the server as the ticks do."""
    return GitHub(base_url=server.url, way_in="secret", label="fleet", now=server.clock)
