"""Whatever is sent to whatever route: never a fault of ours, and every refusal is a problem.

The state machine of the application does not matter here, so all examples meet one coordinator.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from string import Formatter
from typing import Any, get_args

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from app.api.application import application
from app.api.document import routes_of
from tests.support.api import Fleet, fleet_in_process
from tests.support.postgres import Databases

JOB = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"

WORDS = ("f1", JOB, "low", "high", "cancel", "ops", "factory", "ok", "2030-01-01T00:00:00Z", "\0")

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(0, 60)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(WORDS)
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=12,
)


def _models() -> dict[tuple[str, str], type[BaseModel] | None]:
    """Find the model of the body of each writing route."""
    found: dict[tuple[str, str], type[BaseModel] | None] = {}
    for route in routes_of(application()):
        for method in (route.methods or set()) & {"POST", "PUT", "PATCH"}:
            taken = None if route.body_field is None else route.body_field.field_info.annotation
            models = [each for each in (taken, *get_args(taken)) if isinstance(each, type)]
            found[method, route.path] = next(
                (each for each in models if issubclass(each, BaseModel)), None
            )
    return dict(sorted(found.items()))


MODELS = _models()


@st.composite
def _bodies(draw: st.DrawFn, model: type[BaseModel] | None) -> bytes:
    """Draw a body that is nearly right: examples of the contract, with noise among them."""
    if model is None or draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=60) | _values.map(lambda value: json.dumps(value).encode()))
    body: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        examples = st.sampled_from(field.examples or [None])
        wanted = draw(st.sampled_from(["example", "example", "noise", "nothing"]))
        if wanted != "nothing" or (field.is_required() and draw(st.booleans())):
            body[name] = draw(_values if wanted == "noise" else examples)
    if body.get("wait_s"):
        body["wait_s"] = 0
    return json.dumps(body).encode()


_headers = st.dictionaries(
    st.sampled_from(["If-Match", "Idempotency-Key", "Content-Type", "Prefer"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
    | st.sampled_from(['"1"', "1", "application/json", '"k"']),
    max_size=3,
)


class Loop:
    """A coordinator with an event loop of its own, for examples that are not asynchronous."""

    def __init__(self, database_url: str) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()
        self.ids = {"factory_id": ["f1"], "number": ["7"], "job_id": [JOB]}
        self.fleet: Fleet = self._runner.run(self._begin(database_url))

    async def _begin(self, database_url: str) -> Fleet:
        fleet = await self._stack.enter_async_context(fleet_in_process(database_url))
        await fleet.factory("f1")
        project = await fleet.ops.post("/projects", json={"name": "noisy"})
        self.ids["project_id"] = [project.json()["id"]]
        wanted = {"project_id": project.json()["id"], "title": "noisy"}
        workflow = await fleet.ops.post("/workflows", json=wanted)
        self.ids["workflow_id"] = [workflow.json()["id"], JOB]
        return fleet

    def send(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401
        client = self.fleet.by(who)
        return self._runner.run(client.request(method, path, **more))

    def close(self) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()


@pytest.fixture(scope="module")
def loop(databases: Databases) -> Iterator[Loop]:
    with databases.fresh() as url:
        running = Loop(url)
        yield running
        running.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), route=st.sampled_from(list(MODELS)), headers=_headers)
def test_noise_is_never_a_fault_of_ours(
    loop: Loop, data: st.DataObject, route: tuple[str, str], headers: dict[str, str]
) -> None:
    method, template = route
    body = data.draw(_bodies(MODELS[route]))
    names = [name for _, name, _, _ in Formatter().parse(template) if name]
    drawn = {name: data.draw(st.sampled_from(loop.ids.get(name, [JOB]))) for name in names}
    path = template.format(**drawn)
    for who in ("ops", "f1"):
        response = loop.send(who, method, path, content=body, headers=headers)
        _must_be_fine(response)
        if path == "/jobs" and response.is_success:
            loop.ids["job_id"].append(response.json()["id"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    path=st.sampled_from(
        [
            *("/jobs", "/factories", "/tokens", "/explain", f"/explain/jobs/{JOB}"),
            *("/projects", "/workflows", "/ticks", "/explain/workflows"),
        ]
    ),
    query=st.dictionaries(
        st.sampled_from(["state", "kind", "label", "cursor", "limit", "since", "factory_id"]),
        st.text(max_size=12)
        | st.sampled_from(["WyIyMDI2LTAxLTAxIiwxLDEsMV0", "IngiOg", "Mw", "bnVsbA", "e30"]),
        max_size=3,
    ),
)
def test_noise_in_queries_is_never_a_fault_of_ours(
    loop: Loop, path: str, query: dict[str, str]
) -> None:
    _must_be_fine(loop.send("ops", "GET", path, params=query))


def _must_be_fine(response: httpx.Response) -> None:
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert response.headers["content-type"] == "application/problem+json"
        problem = response.json()
        assert problem["type"].startswith("/problems/")
        if response.status_code == 422:
            assert problem["errors"]
            assert all({"field", "message"} <= each.keys() for each in problem["errors"])
    elif response.status_code != 204:
        assert isinstance(response.json(), dict)
