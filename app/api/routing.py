"""How every route of the API takes a request: who, then what, and nothing unchecked.

The order is the same everywhere: the role may call, no unknown parameter, the body's type, the body
itself (:mod:`app.api.strict_json`), and only then the models.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app.api.calls import SMALL_MAX
from app.api.deps import Allow, principal
from app.api.problems import UnsupportedMediaType
from app.api.strict_json import parse, shown
from app.errors import Invalid
from app.fleet import Json

_FORM = "application/x-www-form-urlencoded"

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class CheckedRequest(Request):
    """A request whose body was read by the strict reader."""

    async def json(self) -> Json:
        """Read the body as JSON.

        Raises:
            Invalid: it is not JSON, or holds what cannot be held.
        """
        if not hasattr(self, "_checked"):
            body = await self.body()
            # In a thread, so that one large body does not hold up all the others.
            large = len(body) > SMALL_MAX
            self._checked = await asyncio.to_thread(parse, body) if large else parse(body)
        return self._checked


class CheckedRoute(APIRoute):
    """A route that checks a request before the models see it."""

    def get_route_handler(self) -> Handler:
        """Put the checks before what FastAPI does."""
        inner = super().get_route_handler()
        guards = [each.call for each in self.dependant.dependencies if isinstance(each.call, Allow)]
        known = _parameters(self.dependant)
        has_body = self.body_field is not None

        async def handle(request: Request) -> Response:
            for guard in guards:
                guard.check(principal(request))
            _only_known(request, known)
            if has_body:
                request = CheckedRequest(_as_json(request), request.receive)
                if await request.body():
                    await request.json()
            return await inner(request)

        return handle


def _parameters(dependant: Dependant) -> set[str]:
    """Name the query parameters of a route, those of what it depends on included."""
    own = {each.alias for each in dependant.query_params}
    return own.union(*(_parameters(each) for each in dependant.dependencies))


def _only_known(request: Request, known: set[str]) -> None:
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        errors: list[Json] = [
            {"field": shown(each)[:200], "message": "is not a parameter of this call"}
            for each in unknown
        ]
        detail = f"This call takes no parameter {shown(unknown[0])[:200]}."
        raise Invalid(detail, errors=errors)


def _as_json(request: Request) -> dict[str, Any]:
    """Return the request's scope with its body declared as JSON, if that is what it may be.

    A body without a type is read as JSON, and so is one that claims to be a form: that is what
    ``curl -d`` says of everything. Other types are taken at their word.

    Raises:
        UnsupportedMediaType: the body says that it is something else.
    """
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared in {"", _FORM, "application/json"} or declared.endswith("+json"):
        kept = [each for each in request.scope["headers"] if each[0] != b"content-type"]
        return {**request.scope, "headers": [*kept, (b"content-type", b"application/json")]}
    detail = "The body must be JSON: send “Content-Type: application/json”."
    raise UnsupportedMediaType(detail)
