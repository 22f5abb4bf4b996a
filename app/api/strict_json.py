"""Bodies of requests: JSON that everything behind the door can hold, or a refusal by field name.

PostgreSQL cannot store a NUL, nothing can store half of a surrogate pair, a NaN has no place in an
order, and JSON writers refuse what Python's reader lets in. So the one reader of this service finds
all of that, and says where.
"""

import json
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from app.errors import Invalid
from app.fleet import Json

DEPTH_MAX = 64
INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**64 - 1
FAULTS_MAX = 20
"""So many faults are named; who sends more gets the idea."""

_DIGITS_MAX = len(str(INTEGER_MAX)) + 1
_PATH_MAX = 200

Fault: TypeAlias = "dict[str, Json]"


@dataclass(frozen=True, slots=True)
class _Unfit:
    """Stands where the text had a number that cannot be held."""

    message: str


_NO_NUMBER = _Unfit("must be a finite number")
_TOO_LONG = _Unfit("must be an integer of at most 64 bits")
_TOO_DEEP = f"must not be nested more than {DEPTH_MAX} levels deep"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands: a key or an index, inside another place."""

    parent: "_Place | None"
    key: str | int
    depth: int

    def path(self) -> str:
        parts: list[str] = []
        place: _Place | None = self
        while place is not None:
            parts.append(f"[{place.key}]" if isinstance(place.key, int) else f".{shown(place.key)}")
            place = place.parent
        return "".join(reversed(parts)).removeprefix(".")[:_PATH_MAX]


def shown(key: str) -> str:
    """Write a key so that it can be read in a log line: control characters as escapes."""
    if key.isprintable():
        return key
    return json.dumps(key)[1:-1]


def parse(body: bytes) -> Json:
    """Read a body.

    Raises:
        Invalid: it is not JSON, or holds what cannot be held; ``errors`` names the places.
    """
    try:
        value = json.loads(
            body.decode(), parse_constant=_constant, parse_float=_float, parse_int=_int
        )
    except UnicodeDecodeError as error:
        raise _refused([_fault("body", "must be UTF-8")]) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused([_fault("body", f"is not JSON: {error.msg} at {where}")]) from error
    except RecursionError as error:
        raise _refused([_fault("body", _TOO_DEEP)]) from error
    faults = _faults(value)
    if faults:
        raise _refused(faults)
    checked: Json = value
    return checked


def text_fault(text: str) -> str | None:
    """Say what makes a text unfit to be stored, if anything does."""
    if "\0" in text:
        return "must not contain a NUL character"
    if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
        return "must not contain half of a surrogate pair"
    return None


def has_escapes(body: bytes) -> bool:
    """Tell whether a text in a body may hold a NUL or half of a surrogate pair.

    They stand in JSON only as an escape: where there is none, texts need not be looked at.
    """
    return b"\\u" in body


def all_fit(values: Iterable[object], depth: int, *, texts: bool) -> bool:
    """Tell whether values that a lenient reader made are such as :func:`parse` lets through.

    Args:
        values: what stood in a body.
        depth: how deep they stand there: 0 for a body that is nothing else.
        texts: whether to look at texts, too.
    """
    for value in values:
        if (texts or type(value) is not str) and not _fits(value, depth, texts=texts):
            return False
    return True


def _fits(value: object, depth: int, *, texts: bool) -> bool:
    match value:
        case str():
            return not texts or text_fault(value) is None
        case dict():
            return (
                depth < DEPTH_MAX
                and not (texts and any(text_fault(key) for key in value))
                and all_fit(value.values(), depth + 1, texts=texts)
            )
        case list():
            return depth < DEPTH_MAX and all_fit(value, depth + 1, texts=texts)
        case int():
            return INTEGER_MIN <= value <= INTEGER_MAX
        case float():
            return math.isfinite(value)
        case _:
            return value is None


def _constant(_name: str) -> _Unfit:
    return _NO_NUMBER


def _float(text: str) -> float | _Unfit:
    value = float(text)
    return value if math.isfinite(value) else _NO_NUMBER


def _int(text: str) -> int | _Unfit:
    if len(text) > _DIGITS_MAX:
        return _TOO_LONG
    value = int(text)
    return value if INTEGER_MIN <= value <= INTEGER_MAX else _TOO_LONG


def _faults(value: object) -> list[Fault]:
    """Walk the whole value, without recursion, and name what is unfit."""
    if not isinstance(value, dict | list):
        message = _unfit(value)
        return [] if message is None else [_fault("body", message)]
    faults: list[Fault] = []
    todo: _Todo = deque([(value, None)])
    while todo and len(faults) < FAULTS_MAX:
        container, place = todo.popleft()
        depth = 1 if place is None else place.depth + 1
        if depth > DEPTH_MAX:
            faults.append(_fault(place.path() if place else "body", _TOO_DEEP))
            continue
        # Places are made only for what needs one: most of a large body are plain scalars.
        for where, each in _members(container, place, depth, faults):
            if isinstance(each, dict | list):
                todo.append((each, _Place(place, where, depth)))
            elif type(each) in _UNSURE and (message := _unfit(each)) is not None:
                faults.append(_fault(_Place(place, where, depth).path(), message))
    return faults


def _members(
    container: dict[str, object] | list[object],
    place: _Place | None,
    depth: int,
    faults: list[Fault],
) -> Iterable[tuple[str | int, object]]:
    if isinstance(container, list):
        return enumerate(container)
    for key in container:
        message = text_fault(key)
        if message is not None:
            faults.append(_fault(_Place(place, key, depth).path(), f"as a name, {message}"))
    return container.items()


_UNSURE = frozenset({str, _Unfit})
_Todo: TypeAlias = "deque[tuple[dict[str, object] | list[object], _Place | None]]"


def _unfit(value: object) -> str | None:
    if isinstance(value, _Unfit):
        return value.message
    return text_fault(value) if isinstance(value, str) else None


def _fault(field: str, message: str) -> Fault:
    return {"field": field, "message": message}


def _refused(faults: list[Fault]) -> Invalid:
    errors: list[Json] = [*faults]
    first = faults[0]
    return Invalid(f"{first['field']} {first['message']}.", errors=errors)
