"""The short way takes nothing that the full way would refuse, and reads the same out of it."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final, get_args

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.application import HOT, Application, application
from app.api.calls import Hot
from app.api.document import routes_of
from app.api.shortcut import Shortcut, taken
from app.api.strict_json import DEPTH_MAX, parse
from app.errors import Invalid
from tests.support.api import Fleet, problem_of

JOB: Final = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"

_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([0, 1, 60, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 1.0])
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["f1", JOB, JOB.upper(), "ok", "\0", "\ud800", "2030-01-01T00:00:00Z", "1"])
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.just("\0"), inner, max_size=3)
    ),
    max_leaves=8,
)
_odd_texts = st.sampled_from(
    ["NaN", "-Infinity", "1e400", "1E5", "-0", "01", '"\\ud83d\\ude00"', '"\\ud83d"', '"\\u0000"']
    + ["[" * depth + "]" * depth for depth in (DEPTH_MAX - 2, DEPTH_MAX - 1, DEPTH_MAX, 300)]
    + ['"é"', '"\t"', "tru", "1 ", "{}", '{"a":1,"a":NaN}', "9" * 400, "0.1e-400", "[,]", "[1,]"]
)


@st.composite
def _objects(draw: st.DrawFn, model: type[BaseModel]) -> str:
    """Draw the text of an object that is nearly right."""
    members: list[str] = []
    for name, field in model.model_fields.items():
        kind = draw(st.sampled_from(["right", "right", "right", "none", "odd", "value"]))
        if kind == "right" and name in {"leases", "jobs"}:
            (of,) = get_args(field.annotation)
            objects = draw(st.lists(_objects(of), min_size=1, max_size=3))
            members.append(f'"{name}": [{",".join(objects)}]')
        elif kind == "right":
            example = draw(st.sampled_from([None, *(field.examples or [])]))
            members.append(f"{json.dumps(name)}: {json.dumps(example)}")
        elif kind == "odd":
            members.append(f"{json.dumps(name)}: {draw(_odd_texts)}")
        elif kind == "value":
            ascii_only = draw(st.booleans())
            members.append(
                f"{json.dumps(name)}: {json.dumps(draw(_values), ensure_ascii=ascii_only)}"
            )
    if draw(st.integers(0, 9)) == 0:
        members.append(draw(st.sampled_from(['"more": 1', *members])))
    return "{" + ",".join(draw(st.permutations(members))) + "}"


@st.composite
def _bodies(draw: st.DrawFn, model: type[BaseModel]) -> bytes:
    text = draw(_objects(model)).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 4)) == 0:
        place = draw(st.integers(0, len(text)))
        noise = draw(st.sampled_from([b"\0", b"\xff", b"\xef\xbb\xbf", b" ", b"}", b",", b'"']))
        return text[:place] + noise + text[place:]
    return text


def _in_full(model: type[BaseModel], body: bytes) -> BaseModel | None:
    """Read a body as the full way does: strictly first, then by the model."""
    try:
        return model.model_validate(parse(body))
    except (Invalid, ValidationError):
        return None


@given(data=st.data(), hot=st.sampled_from(HOT))
def test_both_ways_read_the_same(data: st.DataObject, hot: Hot[Any]) -> None:
    body = data.draw(_bodies(hot.model))
    short = taken(hot, body)
    full = _in_full(hot.model, body)
    assert (short is None) == (full is None)
    if short is not None and full is not None:
        assert short == full
        assert short.model_fields_set == full.model_fields_set


def test_every_hot_route_is_in_the_contract_with_its_model() -> None:
    posts = [route for route in routes_of(application()) if route.methods == {"POST"}]
    routes = {route.path: route for route in posts}
    for hot in HOT:
        body = routes[hot.path].body_field
        assert body is not None
        assert body.field_info.annotation is hot.model


AWKWARD: Final[tuple[tuple[str, dict[str, str], bytes], ...]] = (
    ("/claim", {}, b'{"factory_id": "f2"}'),
    ("/claim", {}, b'{"factory_id": "f1", "max_jobs": 0}'),
    ("/claim", {}, b'{"factory_id": "f1", "odd": 0}'),
    ("/claim", {}, b'{"factory_id": "f1"'),
    ("/claim", {}, b""),
    ("/claim", {"Idempotency-Key": ""}, b'{"factory_id": "f1"}'),
    ("/claim", {"Authorization": "Bearer nobody"}, b'{"factory_id": "f1"}'),
    ("/claim", {"Authorization": "Basic f1"}, b'{"factory_id": "f1"}'),
    ("/claim", {"Content-Type": "text/plain"}, b'{"factory_id": "f1"}'),
    ("/claim?token=1", {}, b'{"factory_id": "f1"}'),
    ("/claim?odd=1", {}, b'{"factory_id": "f1"}'),
    ("/claim/", {}, b'{"factory_id": "f1"}'),
    (f"/jobs/{JOB}/complete", {}, b'{"fence": 1}'),
    (f"/jobs/{JOB.upper()}/complete", {}, b'{"fence": 1}'),
    (f"/jobs/{JOB}/complete", {}, b'{"fence": 1, "result": "\\u0000"}'),
    (f"/jobs/{JOB}/complete", {}, b'{"fence": 1, "result": NaN}'),
    ("/jobs/no-uuid/complete", {}, b'{"fence": 1}'),
    (f"/jobs/{JOB}/renew", {}, b'{"fence": 1}'),
    (f"/jobs/{JOB}/renew", {}, b'{"fence": "1"}'),
    ("/leases/complete", {}, b'{"leases": []}'),
    ("/jobs", {}, b'{"kind": "test"}'),
    ("/leases/complete", {}, b'{"leases": [{"job_id": "%s", "fence": 1}]}' % JOB.encode()),
    ("/factories/f2/heartbeat", {}, b"{}"),
    ("/factories/%66%31/heartbeat", {}, b'{"health": "odd"}'),
    ("/factories/f%00/heartbeat", {}, b"{}"),
    ("/factories/./heartbeat", {}, b"{}"),
)


@pytest.mark.parametrize(("path", "headers", "body"), AWKWARD)
async def test_both_ways_answer_the_same(
    fleet: Fleet, path: str, headers: dict[str, str], body: bytes
) -> None:
    f1 = await fleet.factory("f1")
    sent = {"Content-Type": "application/json", **f1.headers, **headers}
    short = await f1.post(path, content=body, headers=sent)
    assert isinstance(fleet.app, Application)
    async with _client(fleet, fleet.app.full_way) as client:
        full = await client.post(path, content=body, headers=sent)
    assert (short.status_code, short.content) == (full.status_code, full.content)
    assert short.headers == full.headers


async def test_what_is_plainly_right_goes_the_short_way(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    job = await fleet.submit()
    lease = {"job_id": job["id"], "fence": 1}
    passed_on: list[str] = []

    async def full_way(scope: Scope, receive: Receive, send: Send) -> None:
        passed_on.append(scope["path"])
        await fleet.app(scope, receive, send)

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        await Shortcut(HOT, full_way)({**scope, "app": fleet.app}, receive, send)

    async with _client(fleet, watched) as client:
        for path, body in (
            ("/claim", {"factory_id": "f1"}),
            (f"/jobs/{job['id']}/renew", {"fence": 1}),
            ("/factories/f1/heartbeat", {"leases": [lease]}),
            (f"/jobs/{job['id']}/complete", {"fence": 1, "result": {"a": [1]}}),
            ("/leases/complete", {"leases": [lease]}),
        ):
            answer = await client.post(path, json=body, headers=f1.headers)
            assert answer.status_code == 200
            assert passed_on == []
        for path, body in (
            ("/jobs", {"kind": "test"}),
            ("/jobs/batch", {"jobs": [{"kind": "test"}]}),
        ):
            answer = await client.post(path, json=body, headers=fleet.client.headers)
            assert answer.status_code == 201
        assert passed_on == []
        headers = {**fleet.client.headers, "Idempotency-Key": "k"}
        for replayed in (None, "true"):
            answer = await client.post("/jobs", json={"kind": "test"}, headers=headers)
            assert answer.status_code == 201
            assert answer.headers.get("idempotent-replayed") == replayed
            assert passed_on.pop() == "/jobs"
        answer = await client.post("/claim", json={}, headers=f1.headers)
        problem_of(answer, 422, "invalid-request")
        assert passed_on == ["/claim"]


async def test_a_body_that_comes_in_pieces_or_is_large(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1", seat_limit=2)
    for result in ("x" * 10, "x" * 100_000):
        job = await fleet.submit()
        assert (await f1.post("/claim", json={"factory_id": "f1"})).status_code == 200
        report = json.dumps({"fence": 1, "result": result}).encode()
        done = await f1.post(
            f"/jobs/{job['id']}/complete",
            content=_pieces(report),
            headers={"Content-Type": "application/json"},
        )
        assert done.status_code == 200
    much = json.dumps({"fence": 1, "result": "x" * 2_000_000}).encode()
    problem_of(await f1.post(f"/jobs/{JOB}/complete", content=much), 413, "payload-too-large")


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), 1000):
        yield body[at : at + 1000]


def _client(fleet: Fleet, app: ASGIApp) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=fleet.url, transport=httpx.ASGITransport(app=app))
