"""The day of a repo, over the nights when clocks change."""

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.day import day_start

MINUTE = timedelta(minutes=1)
ZONES = (
    "UTC",
    "Asia/Ho_Chi_Minh",
    "Europe/Berlin",
    "America/St_Johns",
    "America/Santiago",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days_between(zone: str, first: str, last: str) -> list[timedelta]:
    """The lengths of the days in between, with the clock fed minute by minute."""
    now, end = utc(first), utc(last)
    starts: list[datetime] = []
    while now < end:
        start = day_start(now, ZoneInfo(zone))
        if not starts or starts[-1] != start:
            starts.append(start)
        now += MINUTE
    return [later - sooner for sooner, later in pairwise(starts)]


def test_a_day_starts_at_midnight_on_the_clocks_of_the_repo() -> None:
    assert day_start(utc("2026-03-01 12:00"), UTC) == utc("2026-03-01 00:00")
    hanoi = ZoneInfo("Asia/Ho_Chi_Minh")
    assert day_start(utc("2026-03-01 16:59"), hanoi) == utc("2026-02-28 17:00")
    assert day_start(utc("2026-03-01 17:00"), hanoi) == utc("2026-03-01 17:00")


def test_one_day_a_date_over_both_nights_when_the_clocks_change() -> None:
    spring = days_between("Europe/Berlin", "2026-03-28", "2026-03-31")
    autumn = days_between("Europe/Berlin", "2026-10-24", "2026-10-27")

    assert [day / timedelta(hours=1) for day in spring] == [24, 23, 24]
    assert [day / timedelta(hours=1) for day in autumn] == [24, 25, 24]


def test_a_skipped_midnight_starts_the_day_at_the_first_moment_of_the_new_date() -> None:
    """In Santiago clocks go from 24:00 straight to 01:00."""
    zone = ZoneInfo("America/Santiago")
    start = day_start(utc("2026-09-06 12:00"), zone)

    assert start == utc("2026-09-06 04:00")
    assert start.astimezone(zone).hour == 1


def test_a_midnight_that_comes_twice_starts_the_day_the_first_time() -> None:
    """In Havana clocks go from 01:00 back to 00:00."""
    zone = ZoneInfo("America/Havana")

    assert day_start(utc("2026-11-01 05:30"), zone) == utc("2026-11-01 04:00")
    assert days_between("America/Havana", "2026-10-31 12:00", "2026-11-02 12:00") == [
        timedelta(hours=24),
        timedelta(hours=25),
    ]


class Toronto1919(tzinfo):
    """Clocks went from 23:30 straight to 00:30: the gap began before the midnight inside it."""

    CHANGE = datetime(1919, 3, 31, 4, 30, tzinfo=UTC)

    def utcoffset(self, dt: datetime | None) -> timedelta:
        assert dt is not None
        before, after = timedelta(hours=-5), timedelta(hours=-4)
        first_after = (self.CHANGE + after).replace(tzinfo=None)
        naive = dt.replace(tzinfo=None, fold=0)
        in_gap = first_after - timedelta(hours=1) <= naive < first_after
        if in_gap:
            return after if dt.fold else before
        return after if naive >= first_after else before

    def dst(self, dt: datetime | None) -> timedelta:
        return timedelta(0) * (dt is None)

    def tzname(self, dt: datetime | None) -> str:
        return "Toronto" if dt is None else "Toronto 1919"

    def fromutc(self, dt: datetime) -> datetime:
        offset = timedelta(hours=-5 if dt.replace(tzinfo=UTC) < self.CHANGE else -4)
        return dt + offset


def test_no_day_starts_later_than_now_even_if_midnight_lies_inside_a_gap() -> None:
    change = Toronto1919.CHANGE
    for minutes in range(-90, 90):
        now = change + minutes * MINUTE
        assert day_start(now, Toronto1919()) <= now


@given(st.integers(0, 40 * 365 * 24 * 60), st.sampled_from(ZONES))
def test_a_day_has_begun_and_its_start_is_its_own(minutes: int, zone: str) -> None:
    now = utc("2000-01-01") + minutes * MINUTE
    start = day_start(now, ZoneInfo(zone))

    assert timedelta(0) <= now - start <= timedelta(hours=25)
    assert start.astimezone(ZoneInfo(zone)).date() == now.astimezone(ZoneInfo(zone)).date()
    assert day_start(start, ZoneInfo(zone)) == start


@pytest.mark.parametrize("zone", ZONES)
def test_every_minute_of_a_year_belongs_to_the_day_of_its_date(zone: str) -> None:
    now = last = utc("2026-01-01")
    last -= timedelta(days=2)
    found: set[datetime] = set()
    while now < utc("2027-01-01"):
        start = day_start(now, ZoneInfo(zone))
        assert start >= last
        last = start
        found.add(start)
        now += 30 * MINUTE
    assert len(found) in {365, 366}
