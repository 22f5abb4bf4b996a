"""Keyset pages: every item that is there all the time is shown exactly once."""

from hypothesis import given
from hypothesis import strategies as st

from app.coordinator.paging import page_of, place
from app.fleet import Json

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 999)), unique=True, max_size=40)


def read_place(key: Json) -> tuple[int, int]:
    assert isinstance(key, list)
    major, minor = key
    assert isinstance(major, int)
    assert isinstance(minor, int)
    return (major, minor)


@given(rows=ROWS, limit=st.integers(1, 9), arriving=st.lists(ROWS, max_size=20))
def test_nothing_is_skipped_or_shown_twice_among_ties(
    rows: list[tuple[int, int]], limit: int, arriving: list[list[tuple[int, int]]]
) -> None:
    stored, seen = set(rows), list[tuple[int, int]]()
    cursor: str | None = None
    while True:
        after = place(cursor, read_place)
        left = sorted(row for row in stored if after is None or row > after)
        page = page_of(left[: limit + 1], limit, lambda row: [*row])
        assert len(page.items) == min(limit, len(left))
        seen += page.items
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
        stored |= set(arriving.pop()) if arriving else set()
    assert seen == sorted(set(seen))
    assert set(rows) <= set(seen) <= stored
