"""What is wrong with a field is said in words for people, never in those of the library."""

import importlib
import pkgutil
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

import app.wire
from app.wire.claims import ClaimRequest, FailRequest
from app.wire.factories import FactoryPut
from app.wire.faults import faults_of, message_of
from app.wire.jobs import JobBatch, JobSubmit
from app.wire.repos import RepoPut
from app.wire.values import Request

OF_THE_LIBRARY = (
    "Input should",
    "should have",
    "should be",
    "should match",
    "Value error",
    "Field ",
)


def fault(model: type[BaseModel], given: object) -> str:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(given)
    return "; ".join(faults_of(caught.value))


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (JobSubmit, {}, "kind: is required"),
        (JobSubmit, {"kind": ""}, "kind: must not be empty"),
        (JobSubmit, {"kind": "x" * 129}, "kind: must have at most 128 characters"),
        (JobSubmit, {"kind": "a\nb"}, "kind: must be one line, without control characters"),
        (JobSubmit, {"kind": 1}, "kind: must be a text"),
        (JobSubmit, {"kind": "x", "kinds": 1}, "kinds: is not known here"),
        (
            JobSubmit,
            {"kind": "x", "priority": "urgent"},
            "priority: must be critical, high, normal or low",
        ),
        (JobSubmit, {"kind": "x", "max_attempts": 0}, "max_attempts: must be at least 1"),
        (JobSubmit, {"kind": "x", "max_attempts": "1"}, "max_attempts: must be a whole number"),
        (JobSubmit, {"kind": "x", "payload": 1}, "payload: must be an object"),
        (
            JobSubmit,
            {"kind": "x", "depends_on": ["7"]},
            "depends_on[0]: must be an id, which is a UUID",
        ),
        (
            JobSubmit,
            {"kind": "x", "run_after": "soon"},
            "run_after: must be a time in RFC 3339, such as 2026-03-01T09:30:00Z",
        ),
        (JobBatch, {"jobs": []}, "jobs: must not be empty"),
        (JobBatch, {"jobs": [3]}, "jobs[0]: must be an object"),
        (ClaimRequest, {"factory_id": "f1", "wait_s": 61}, "wait_s: must be at most 60"),
        (
            ClaimRequest,
            {"factory_id": "a/b"},
            "factory_id: must have no slash and no control character, and no space at either end",
        ),
        (
            FailRequest,
            {"fence": 1, "error": "e", "retryable": 1},
            "retryable: must be true or false",
        ),
        (FactoryPut, {"engines": "claude"}, "engines: must be a list"),
        (RepoPut, {"github": "acme"}, "github: must be owner/name"),
    ],
)
def test_a_fault_in_words(model: type[BaseModel], given: object, said: str) -> None:
    assert fault(model, given) == said


def _models() -> list[type[Request]]:
    for each in pkgutil.iter_modules(app.wire.__path__):
        importlib.import_module(f"app.wire.{each.name}")
    return sorted(Request.__subclasses__(), key=lambda model: model.__name__)


_values: st.SearchStrategy[object] = st.recursive(
    st.sampled_from(
        [None, True, 0, -1, 2**70, 1.5, "", "a\0", "a/b", "x" * 9000, "1", float("nan")]
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner, max_size=1),
    max_leaves=3,
)


@given(st.data())
def test_no_request_is_refused_in_the_words_of_the_library(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(_models()))
    names = st.sampled_from([*model.model_fields, "more"])
    try:
        model.model_validate(data.draw(st.dictionaries(names, _values, min_size=1)))
    except ValidationError as error:
        said = list(faults_of(error))
        assert said
        assert [each for each in said if any(odd in each for odd in OF_THE_LIBRARY)] == []


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Annotated[int, Field(gt=0)], 0, "must be more than 0"),
        (Annotated[int, Field(lt=3)], 3, "must be less than 3"),
        (Annotated[list[int], Field(min_length=2)], [], "must have at least 2 items"),
        (Annotated[list[int], Field(max_length=1)], [1, 2], "must have at most 1 item"),
        (Annotated[str, Field(pattern="^a$")], "b", "has not the right form"),
        (bytes, 7, "Input should be a valid bytes"),
    ],
)
def test_what_no_request_has_today(kind: Any, value: object, said: str) -> None:  # noqa: ANN401
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert message_of(caught.value.errors()[0]) == said
