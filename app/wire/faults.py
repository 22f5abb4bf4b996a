"""What is wrong with a field, in words for people.

The models find faults and word them for programmers (``Input should be greater than or equal to
1``). Here each kind of fault gets the words that a person at a terminal, or an agent, is to read.
They repeat no value that was sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from app.wire.values import SPELLINGS

Found = Mapping[str, Any]
"""A fault as pydantic lists it: ``type``, ``loc``, ``msg`` and perhaps ``ctx``."""

_PLAIN: Final[Mapping[str, str]] = {
    "missing": "is required",
    "extra_forbidden": "is not known here",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "uuid_type": "must be an id, which is a UUID",
    "uuid_parsing": "must be an id, which is a UUID",
    "timezone_aware": "must be a time with its zone, such as 2026-03-01T09:30:00Z",
    "json_invalid": "is not JSON",
}

_BY_LIMIT: Final[Mapping[str, Callable[[Found], str]]] = {
    "enum": lambda ctx: f"must be {_choice(ctx['expected'])}",
    "literal_error": lambda ctx: f"must be {_choice(ctx['expected'])}",
    "string_too_short": lambda ctx: _at_least(ctx["min_length"], "character"),
    "string_too_long": lambda ctx: f"must have at most {_counted(ctx['max_length'], 'character')}",
    "too_short": lambda ctx: _at_least(ctx["min_length"], "item"),
    "too_long": lambda ctx: f"must have at most {_counted(ctx['max_length'], 'item')}",
    "greater_than_equal": lambda ctx: f"must be at least {ctx['ge']}",
    "greater_than": lambda ctx: f"must be more than {ctx['gt']}",
    "less_than_equal": lambda ctx: f"must be at most {ctx['le']}",
    "less_than": lambda ctx: f"must be less than {ctx['lt']}",
    "string_pattern_mismatch": lambda ctx: SPELLINGS.get(ctx["pattern"], "has not the right form"),
    "value_error": lambda ctx: str(ctx["error"]),
}


def message_of(found: Found) -> str:
    """Say what is wrong, such that it goes on from the name of the field."""
    kind = str(found["type"])
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _BY_LIMIT and "ctx" in found:
        return _BY_LIMIT[kind](found["ctx"])
    return str(found["msg"]).removeprefix("Value error, ")


def path_of(location: Sequence[str | int]) -> str:
    """Write the place of a fault as people do: ``payload.a[3]``."""
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in location)
    return "".join(parts).removeprefix(".")


def faults_of(error: ValidationError, named: Callable[[str], str] = str) -> Iterable[str]:
    """Say each fault with its field; ``named`` is how the fields are called elsewhere."""
    for each in error.errors(include_url=False, include_input=False):
        path = path_of(each["loc"])
        yield f"{named(path)}: {message_of(each)}" if path else message_of(each)


def _choice(expected: str) -> str:
    """Write ``'low', 'medium' or 'high'`` without its quotes."""
    return expected.replace("'", "")


def _at_least(least: int, what: str) -> str:
    return "must not be empty" if least == 1 else f"must have at least {_counted(least, what)}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else what + 's'}"
