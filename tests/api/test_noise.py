"""Whatever is sent to whatever route: never a fault of ours, and every refusal is a problem.

What was taken must be readable: after each success its thing and the list of such things are read.
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
from pydantic.fields import FieldInfo

from app.api.application import application
from app.api.document import routes_of
from tests.support.api import Fleet, fleet_in_process
from tests.support.postgres import Databases

JOB = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"

WORDS = ("f1", JOB, "low", "high", "cancel", "ops", "factory", "ok", "2030-01-01T00:00:00Z", "\0")
TIMES = (
    *("9998-12-31T23:59:59-14:00", "9999-01-01T13:59:59+14:00", "9999-12-31T23:59:59-14:00"),
    *("1970-01-01T00:00:00+14:00", "1969-12-31T23:00:00-01:00", "0001-01-01T00:00:00+14:00"),
    *("2030-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2030-06-30T23:59:60Z", "2030-01-01"),
)
"""Times at every border, some of them within only by the clock of some place."""

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
        if _is_time(field):
            examples |= st.sampled_from(TIMES)
        wanted = draw(st.sampled_from(["example", "example", "noise", "nothing"]))
        if wanted != "nothing" or (field.is_required() and draw(st.booleans())):
            body[name] = draw(_values if wanted == "noise" else examples)
    if body.get("wait_s"):
        body["wait_s"] = 0
    return json.dumps(body).encode()


def _is_time(field: FieldInfo) -> bool:
    return "AwareDatetime" in str(field.annotation) or "AwareDatetime" in str(field.metadata)


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
        await fleet.ops.put("/repos/shop", json={})
        await fleet.ops.post("/repos/shop/issues", json={"number": 7, "title": "noisy"})
        self.ids["repo_id"] = ["shop"]
        self.ids["job_id"].append((await fleet.submit())["id"])
        return fleet

    def send(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:  # noqa: ANN401
        client = self.fleet.by(who)
        return self._runner.run(client.request(method, path, **more))

    def known(self, name: str) -> str:
        """The id of a thing that is there."""
        return next(each for each in self.ids[name] if each != JOB)

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
        if response.is_success:
            if path == "/jobs":
                loop.ids["job_id"].append(response.json()["id"])
            _must_be_readable(loop, path, response)


TIMED = [
    (method, path, name)
    for (method, path), model in MODELS.items()
    for name, field in (model.model_fields.items() if model else ())
    if _is_time(field)
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(timed=st.sampled_from(TIMED), at=st.sampled_from(TIMES))
def test_a_border_time_is_refused_or_can_be_read(
    loop: Loop, timed: tuple[str, str, str], at: str
) -> None:
    """All else of the request is right, so that nothing but the time can be refused."""
    method, template, name = timed
    model = MODELS[method, template]
    assert model is not None
    names = {name for _, name, _, _ in Formatter().parse(template) if name}
    path = template.format(**{each: loop.known(each) for each in names})
    body = {
        each: [loop.known(each)] if each in loop.ids else field.examples
        for each, field in model.model_fields.items()
        if field.is_required()
    }
    sent = {each: values[0] for each, values in body.items() if values} | {name: at}
    headers: dict[str, str] = {}
    if method == "PATCH":
        headers["If-Match"] = loop.send("ops", "GET", path).headers["etag"]
    who = "f1" if loop.send("ops", method, path, content=b"").status_code == 403 else "ops"
    response = loop.send(who, method, path, json=sent, headers=headers)
    _must_be_fine(response)
    if response.is_success:
        _must_be_readable(loop, path, response)


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


def _must_be_readable(loop: Loop, path: str, response: httpx.Response) -> None:
    """Read the thing that was made or changed, if it is still there, and all lists above it."""
    made = response.headers.get("location")
    for name in {made, *_above(path)} - {None}:
        read = loop.send("ops", "GET", name)
        _must_be_fine(read)
        if name == made and response.status_code == 201:
            assert read.status_code == 200, (name, read.text)


def _above(path: str) -> list[str]:
    """Name what a path leads through: a thing and its list, and where they stand."""
    parts = path.strip("/").split("/")
    return ["/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


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
