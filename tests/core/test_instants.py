from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.instants import taken

_zones = st.integers(-14 * 60 + 1, 14 * 60 - 1).map(
    lambda minutes: timezone(timedelta(minutes=minutes))
)


FIRST, END = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


@given(st.datetimes(timezones=_zones))
def test_what_lies_within_the_years_is_taken_as_the_same_time_in_utc(named: datetime) -> None:
    found = taken(named)
    assert found == (named if FIRST <= named < END else None)
    if found is not None:
        assert found.tzinfo is UTC
        assert found + timedelta(days=365) > found


@pytest.mark.parametrize(
    ("named", "is_taken"),
    [
        ("1970-01-01T00:00:00+00:00", True),
        ("1969-12-31T14:00:00-10:00", True),
        ("1970-01-01T00:00:00+00:01", False),
        ("9998-12-31T23:59:59.999999+00:00", True),
        ("9999-01-01T13:00:00+14:00", True),
        ("9998-12-31T23:59:59-00:01", False),
        ("0001-01-01T00:00:00+14:00", False),
        ("9999-12-31T23:59:59-14:00", False),
        ("2026-03-01T09:30:00", False),
    ],
)
def test_the_year_in_utc_counts_and_a_zone_must_be_named(named: str, *, is_taken: bool) -> None:
    assert (taken(datetime.fromisoformat(named)) is not None) is is_taken
