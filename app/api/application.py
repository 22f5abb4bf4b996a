"""The application: every route, behind the door, with one way to say no."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api import (
    claims,
    decisions,
    explain,
    factories,
    job_orders,
    jobs,
    leases,
    projects,
    repo_item,
    repo_items,
    repos,
    service,
    ticks,
    tokens,
    webhooks,
    what_if,
    workflow_orders,
    workflows,
)
from app.api.document import DESCRIPTION, TAGS, complete, routes_of
from app.api.middleware import BoundBody, Guard, Observe
from app.api.problems import MethodNotAllowed, of_status, of_validation, problem
from app.api.shortcut import Shortcut
from app.errors import NotFound, Refusal

VERSION = "0.1.0"
_NOT_FOUND = 404
_METHOD_NOT_ALLOWED = 405

_NOUNS = (
    claims,
    leases,
    jobs,
    job_orders,
    factories,
    projects,
    workflows,
    workflow_orders,
    repos,
    repo_items,
    repo_item,
    webhooks,
    explain,
    decisions,
    what_if,
    ticks,
    tokens,
    service,
)

HOT = (*claims.HOT, *leases.HOT, *factories.HOT, *jobs.HOT)
"""The routes that are served in the short way, too."""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def application(lifespan: Lifespan | None = None) -> FastAPI:
    """Put the API together; ``lifespan`` gives it its services as ``app.state.services``."""
    app = Application(
        title="Fleet coordinator",
        version=VERSION,
        summary="One queue, one lease, one explain.",
        description=DESCRIPTION,
        openapi_tags=TAGS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        middleware=[Middleware(Observe), Middleware(Guard), Middleware(BoundBody)],
        exception_handlers={
            Refusal: _refused,
            RequestValidationError: _not_valid,
            HTTPException: _framework_said_no,
        },
    )
    for noun in _NOUNS:
        app.router.routes.extend(noun.router.routes)
    complete(app)
    return app


class Application(FastAPI):
    """The application, with the short way for hot routes before all else."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of FastAPI
        """Make it as FastAPI does."""
        super().__init__(**settings)
        self._shortcut = Shortcut(HOT, self.full_way)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or the lifespan."""
        scope["app"] = self
        await self._shortcut(scope, receive, send)

    async def full_way(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without the short way."""
        await super().__call__(scope, receive, send)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)  # noqa: S101 - registered for these alone
    return problem(error)


async def _not_valid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for these alone
    return problem(of_validation(error))


async def _framework_said_no(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for these alone
    if error.status_code == _NOT_FOUND:
        return problem(NotFound("There is nothing under this path."))
    if error.status_code == _METHOD_NOT_ALLOWED:
        methods = _methods_of(request)
        detail = f"This path takes {' and '.join(methods)}."
        return problem(MethodNotAllowed(detail), {"Allow": ", ".join(methods)})
    return problem(of_status(error.status_code, str(error.detail)))


def _methods_of(request: Request) -> list[str]:
    """Name every method that the path takes, whichever route has it."""
    path = request.scope["path"]
    found: set[str] = set()
    for each in routes_of(request.app):
        if each.path_regex.match(path):
            found |= each.methods or set()
    return sorted(found)
