"""Pages of long lists: by keyset, so that nothing is skipped or shown twice while rows come in.

A cursor is opaque to the caller: where the last page ended, as base64url of JSON. It names no
offset, and stays good whatever is added or removed meanwhile.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson

from app.errors import Invalid
from app.fleet import Json

T = TypeVar("T")
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some items of a list; ``next_cursor`` leads to those after them, if there are any."""

    items: tuple[T, ...]
    next_cursor: str | None


def page_of(found: Sequence[T], limit: int, key: Callable[[T], Json]) -> Page[T]:
    """Cut a page from what was found by asking for one more than ``limit``.

    Args:
        found: the items in order, at most ``limit + 1``.
        limit: how many a page has.
        key: the place of an item in the order, as :func:`place` gives it back.
    """
    items = tuple(found[:limit])
    more = len(found) > limit
    return Page(items=items, next_cursor=_encode(key(items[-1])) if more else None)


def place(cursor: str | None, read: Callable[[Json], Key]) -> Key | None:
    """Return where a page begins: after the place in ``cursor``; None for the first page.

    Raises:
        Invalid: the cursor is none of ours; ``read`` says so by a ValueError or TypeError.
    """
    if cursor is None:
        return None
    try:
        # The padding is left off in what we hand out; too much of it does no harm.
        return read(orjson.loads(base64.urlsafe_b64decode(cursor.encode() + b"==")))
    except (ValueError, TypeError, OverflowError) as error:
        detail = "The cursor is not one that this list has given."
        raise Invalid(detail, errors=[{"field": "cursor", "message": detail}]) from error


def _encode(key: Json) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(key)).decode().rstrip("=")
