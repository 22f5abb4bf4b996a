"""The reader of bodies: what it finds, where it says it is, and that it takes the rest as it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.strict_json import DEPTH_MAX, FAULTS_MAX, parse
from app.errors import Invalid

NUL = "must not contain a NUL character"
HALF = "must not contain half of a surrogate pair"
NUMBER = "must be a finite number"
LONG = "must be an integer of at most 64 bits"


def _errors(body: bytes) -> Any:  # noqa: ANN401 - whatever it found
    with pytest.raises(Invalid) as refused:
        parse(body)
    return refused.value.extensions["errors"]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        (rb'{"payload": {"a": [1, 2, 3, "x\u0000"]}}', "payload.a[3]", NUL),
        (rb'{"payload": {"\u0000": 1}}', "payload.\\u0000", f"as a name, {NUL}"),
        (rb'"\u0000"', "body", NUL),
        (rb'{"a": "\ud800"}', "a", HALF),
        (rb'{"a": "\udc00\ud800"}', "a", HALF),
        (b'{"a": NaN}', "a", NUMBER),
        (b'{"a": [[-Infinity]]}', "a[0][0]", NUMBER),
        (b'{"a": 1e999}', "a", NUMBER),
        (b'{"a": 18446744073709551616}', "a", LONG),
        (b'{"a": -9223372036854775809}', "a", LONG),
        (b'{"a": ' + b"9" * 5000 + b"}", "a", LONG),
    ],
)
def test_what_cannot_be_held_is_named(body: bytes, field: str, message: str) -> None:
    assert _errors(body) == [{"field": field, "message": message}]


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"a": 1,}', b"\xff", b"\xef\xbb\xbf{}", b'{"a": "\x00"}', b"nope"]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    assert [each["field"] for each in _errors(body)] == ["body"]


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 20_000, 500_000])
def test_what_is_nested_too_deep_is_refused(depth: int) -> None:
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        inner = b"1" if closing == b"}" else b""
        (only,) = _errors(opening * depth + inner + closing * depth)
        assert only["message"] == f"must not be nested more than {DEPTH_MAX} levels deep"
        assert len(_errors(opening * depth)) == 1


def test_what_is_nested_just_so_deep_is_read() -> None:
    assert parse(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX) is not None


def test_every_fault_is_named_up_to_a_bound() -> None:
    errors = _errors(json.dumps({"a": "\0", "b": ["\0"], "c": {"d": "\0"}}).encode())
    assert [each["field"] for each in errors] == ["a", "b[0]", "c.d"]
    many = json.dumps([["\0"] for _ in range(1000)]).encode()
    assert len(_errors(many)) == FAULTS_MAX


_fine_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_fine = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _fine_text,
    lambda inner: st.lists(inner) | st.dictionaries(_fine_text, inner),
    max_leaves=20,
)


@given(_fine)
def test_everything_else_is_read_as_it_is(value: object) -> None:
    assert parse(json.dumps(value).encode()) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value
