"""The application under test: in this process, or on a port of its own."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from app.coordinator.tokens import mint, mint_each
from app.fleet import FactoryId, Role
from app.main import create_app
from app.runtime.settings import Settings
from app.store.session import Database, Limits

NEVER_S = 3600.0


def settings_for(database_url: str, **changes: Any) -> Settings:  # noqa: ANN401 - any setting
    """Settings under which only the test moves time; ``pooled_url`` names a way by a pooler."""
    if pooled_url := changes.pop("pooled_url", None):
        pooled = {"listen_url": database_url, "database_statement_cache": 0}
        return settings_for(pooled_url, **pooled, **changes)
    return Settings(**{"database_url": database_url, "lease_loop_interval_s": NEVER_S, **changes})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A coordinator, with a token of each role and clients that use them."""

    app: FastAPI
    url: str
    database_url: str
    tokens: dict[str, str]
    anonymous: httpx.AsyncClient
    _stack: AsyncExitStack
    _clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)

    @property
    def ops(self) -> httpx.AsyncClient:
        return self.by("ops")

    @property
    def client(self) -> httpx.AsyncClient:
        return self.by("client")

    @property
    def cron(self) -> httpx.AsyncClient:
        return self.by("cron")

    def by(self, who: str) -> httpx.AsyncClient:
        """A client of somebody whose token was made."""
        if who not in self._clients:
            self._clients[who] = _client(self.app, self.url, self.tokens[who])
            self._stack.push_async_callback(self._clients[who].aclose)
        return self._clients[who]

    async def factory(self, name: str = "f1", **settings: Any) -> httpx.AsyncClient:  # noqa: ANN401
        """Make a token for a factory, register it, and return its client."""
        self.tokens[name] = await token_of(self.database_url, name)
        client = self.by(name)
        response = await client.put(f"/factories/{name}", json=settings)
        assert response.status_code in {200, 201}, response.text
        return client

    async def submit(self, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any field of a job
        """Submit a job."""
        response = await self.client.post("/jobs", json={"kind": "test", **fields})
        assert response.status_code == 201, response.text
        return body_of(response)


def body_of(response: httpx.Response) -> dict[str, Any]:
    """Read a body that must be one JSON object, strictly."""

    def refuse(name: str) -> None:
        message = f"{name} is no JSON"
        raise ValueError(message)

    body = json.loads(response.content, parse_constant=refuse)
    assert isinstance(body, dict)
    return body


def problem_of(response: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """Read a body that must be this problem."""
    assert response.status_code == status, (response.status_code, response.text)
    assert response.headers["content-type"] == "application/problem+json"
    body = body_of(response)
    assert body["type"] == f"/problems/{slug}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


async def token_of(database_url: str, factory: str) -> str:
    """Make a token for a factory straight in the database."""
    db = await Database.open(database_url, Limits(size=1))
    try:
        async with db.transaction() as conn:
            return (await mint(conn, role=Role.FACTORY, factory_id=FactoryId(factory))).secret
    finally:
        await db.close()


async def _tokens(database_url: str) -> dict[str, str]:
    db = await Database.open(database_url, Limits(size=1))
    try:
        minted = await mint_each(db, Role.OPS, Role.CLIENT, Role.CRON)
    finally:
        await db.close()
    return {role.value: each.secret for role, each in minted.items()}


@asynccontextmanager
async def fleet_in_process(database_url: str, **changes: Any) -> AsyncIterator[Fleet]:  # noqa: ANN401
    """Run the application without a port: requests are function calls."""
    app = create_app(settings_for(database_url, **changes))
    async with app.router.lifespan_context(app), _fleet(app, "http://fleet", database_url) as fleet:
        yield fleet


@asynccontextmanager
async def fleet_on_port(database_url: str, **changes: Any) -> AsyncIterator[Fleet]:  # noqa: ANN401
    """Run the application behind a real server on a port of its own."""
    app = create_app(settings_for(database_url, **changes))
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = ReadyServer(
        uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await server.ready.wait()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with _fleet(app, url, database_url) as fleet:
            yield fleet
    finally:
        server.should_exit = True
        await serving
        listening.close()


class ReadyServer(uvicorn.Server):
    """A server that says when it serves."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@asynccontextmanager
async def _fleet(app: FastAPI, url: str, database_url: str) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as stack:
        anonymous = await stack.enter_async_context(_client(app, url, None))
        yield Fleet(
            app=app,
            url=url,
            database_url=database_url,
            tokens=await _tokens(database_url),
            anonymous=anonymous,
            _stack=stack,
        )


def _client(app: FastAPI, url: str, token: str | None) -> httpx.AsyncClient:
    over_a_port = url.startswith("http://127.0.0.1")
    return httpx.AsyncClient(
        base_url=url,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        transport=None if over_a_port else httpx.ASGITransport(app=app),
        trust_env=False,
        timeout=30,
    )
