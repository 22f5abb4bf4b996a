"""The contract as a document: OpenAPI, made from the routes and completed with what they share."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from app import errors
from app.api import problems
from app.api.deps import Allow
from app.errors import Refusal
from app.wire.problems import FieldError, Problem

Responses: TypeAlias = dict[int | str, dict[str, Any]]

_EVERYWHERE: tuple[type[Refusal], ...] = (
    problems.TokenInQuery,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.Invalid,
    errors.Unavailable,
)
_WITH_BODY: tuple[type[Refusal], ...] = (problems.PayloadTooLarge, problems.UnsupportedMediaType)
_SCHEMA = {"$ref": "#/components/schemas/Problem"}
_HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"WWW-Authenticate": "Always `Bearer`."},
    503: {"Retry-After": "In how many seconds to try again."},
}
_METHODS = frozenset({"get", "put", "post", "patch", "delete"})

DESCRIPTION = """\
Hands every coding-agent machine (“factory”) its best next job, guarantees that nobody else got it,
and can always say why.

**Calls.** JSON in snake_case; times in RFC 3339, UTC; ids of jobs are UUIDv7, those of factories
are chosen by people. Unknown fields and parameters are refused. A body has at most 1 MiB.

**Tokens.** Every call carries `Authorization: Bearer …`, save `/healthz`, `/readyz`,
`/problems/*` and webhooks, which are signed. Each operation names the roles that may call it.

**Problems.** Every answer that says no is `application/problem+json` (RFC 9457); its `type` is an
address here, with a page that explains it.

**Versions.** Rows carry `version`, also as a strong `ETag`; a PATCH names the one it means as
`If-Match`.

**Repeating.** A creating POST may carry an `Idempotency-Key`; keys live for 24 hours. Reports on a
lease are repeated under their fence.

**Lists** come as `{"items": […], "next_cursor": …}`; pass `next_cursor` as `cursor` to go on.
"""

TAGS = [
    {"name": "claims", "description": "Getting work, and reporting on it: for factories."},
    {"name": "jobs", "description": "What is to be done."},
    {"name": "factories", "description": "Who does it."},
    {"name": "workflows", "description": "Work in stages, which a tick moves on."},
    {"name": "repos", "description": "What a chain of features works on, by a tick."},
    {"name": "webhooks", "description": "What the forge tells by itself."},
    {"name": "explain", "description": "Why, and why not."},
    {"name": "ticks", "description": "What time moves on."},
    {"name": "tokens", "description": "Who may call."},
    {"name": "service", "description": "The service itself."},
]


def refusals(*kinds: type[Refusal]) -> Responses:
    """Describe the problems that an operation can answer, beside those that all can."""
    return _described(kinds)


def complete(app: FastAPI) -> None:
    """Make the application show its document with everything that the routes have in common."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def text(app: FastAPI) -> str:
    """Write the document as it is stored in the repository."""
    return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


def routes_of(app: FastAPI) -> Iterator[APIRoute]:
    """List the routes of the API."""
    for each in app.routes:
        if isinstance(each, APIRoute):
            yield each


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        tags=app.openapi_tags,
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for model in (FieldError, Problem):
        schemas[model.__name__] = model.model_json_schema(
            ref_template="#/components/schemas/{model}"
        )
        schemas[model.__name__].pop("$defs", None)
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "One of our tokens."}
    }
    by_place = {
        (each.path, method.lower()): each
        for each in routes_of(app)
        for method in each.methods or ()
    }
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in _METHODS:
                _complete_operation(operation, by_place[path, method])
    return document


def _complete_operation(operation: dict[str, Any], route: APIRoute) -> None:
    operation["operationId"] = route.name
    _describe_success(operation, route)
    roles = [role for each in _guards(route) for role in each.roles]
    if not roles:
        operation["security"] = []
        operation["responses"].pop("422", None)
        return
    operation["security"] = [{"token": []}]
    operation["description"] += f"\n\nRoles: {', '.join(roles)}."
    operation["x-roles"] = list(roles)
    kinds = _EVERYWHERE + (_WITH_BODY if route.body_field is not None else ())
    own: Responses = operation["responses"]
    for status, described in _described(kinds).items():
        if status in own and "application/problem+json" in own[status].get("content", {}):
            own[status]["description"] += "; " + described["description"]
        else:
            own[status] = described
    operation["responses"] = dict(sorted(own.items()))


def headers_of(described: Mapping[str, str]) -> dict[str, Any]:
    """Describe headers of an answer."""
    return {
        name: {"description": told, "schema": {"type": "string"}}
        for name, told in described.items()
    }


def _describe_success(operation: dict[str, Any], route: APIRoute) -> None:
    if "version" in getattr(route.response_model, "model_fields", {}):
        tag = headers_of({"ETag": 'The version as a strong entity tag, such as `"7"`.'})
        for status in operation["responses"].keys() & {"200", "201"}:
            operation["responses"][status].setdefault("headers", {}).update(tag)
    told = (getattr(route.response_model, "__doc__", None) or route.summary or "").strip()
    for described in operation["responses"].values():
        if described["description"] == "Successful Response":
            described["description"] = told.partition("\n")[0].rstrip(".")


def _guards(route: APIRoute) -> list[Allow]:
    return [each.call for each in route.dependant.dependencies if isinstance(each.call, Allow)]


def _described(kinds: tuple[type[Refusal], ...]) -> Responses:
    by_status: dict[int, list[type[Refusal]]] = {}
    for kind in kinds:
        by_status.setdefault(problems.status_of(kind), []).append(kind)
    return {
        str(status): {
            "description": "; ".join(f"`{kind.slug}`: {kind.title}" for kind in same),
            "content": {problems.MEDIA_TYPE: {"schema": _SCHEMA}},
            **({"headers": headers_of(_HEADERS[status])} if status in _HEADERS else {}),
        }
        for status, same in by_status.items()
    }
