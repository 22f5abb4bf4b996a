"""Health from outcomes: degraded, quarantined, and how many at once."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fleet import Health, Outcome
from app.health import PastLease, derived_health, quarantine, quarantine_room, worse
from tests import strategies as some
from tests.strategies import HOUR, NOW, make_past

FAST = timedelta(seconds=60)
MINUTE = timedelta(minutes=1)
BAD = (Outcome.FAILED, Outcome.EXPIRED, Outcome.TIMED_OUT)


def history(*outcomes: Outcome, took: timedelta = HOUR) -> list[PastLease]:
    """Outcomes, the newest first, a minute apart, the newest of them just now."""
    return [
        make_past(outcome, ended_ago=number * MINUTE, took=took)
        for number, outcome in enumerate(outcomes)
    ]


@given(st.lists(some.past_leases, max_size=20))
def test_derived_health_agrees_with_a_second_statement(outcomes: list[PastLease]) -> None:
    counted = [
        past
        for past in sorted(outcomes, key=lambda past: (past.ended_at, past.claimed_at))
        if past.outcome in {*BAD, Outcome.SUCCEEDED} and past.ended_at >= NOW - 24 * HOUR
    ][-10:]
    bad = [past for past in counted if past.outcome in BAD]
    ambiguous = len(set(outcomes)) != len({(past.ended_at, past.claimed_at) for past in outcomes})
    degraded = len(counted) >= 4 and len(bad) / len(counted) >= 0.5

    assert ambiguous or (derived_health(outcomes, NOW) is Health.DEGRADED) == degraded


@pytest.mark.parametrize("bad", BAD)
def test_degraded_at_half_of_at_least_four(bad: Outcome) -> None:
    good = Outcome.SUCCEEDED

    assert derived_health(history(bad, bad, bad), NOW) is Health.OK
    assert derived_health(history(bad, bad, good, good), NOW) is Health.DEGRADED
    assert derived_health(history(bad, bad, good, good, good), NOW) is Health.OK


def test_only_the_last_ten_within_a_day_count() -> None:
    bad, good = Outcome.FAILED, Outcome.SUCCEEDED
    old = [make_past(bad, ended_ago=24 * HOUR + MINUTE)] * 4

    assert derived_health(history(*[good] * 6, *[bad] * 20), NOW) is Health.OK
    assert derived_health(history(*[good] * 5, *[bad] * 20), NOW) is Health.DEGRADED
    assert derived_health(old, NOW) is Health.OK
    assert derived_health([make_past(bad, ended_ago=24 * HOUR)] * 4, NOW) is Health.DEGRADED


@pytest.mark.parametrize("neutral", [Outcome.RELEASED, Outcome.CANCELLED])
def test_released_and_cancelled_say_nothing_about_a_machine(neutral: Outcome) -> None:
    failed = [Outcome.FAILED, neutral]

    assert derived_health(history(Outcome.FAILED, *[neutral] * 9), NOW) is Health.OK
    assert derived_health(history(*failed * 4), NOW) is Health.DEGRADED
    assert quarantine(history(*failed * 5, took=FAST), NOW, 0) is not None
    assert quarantine(history(*[neutral] * 5, took=FAST), NOW, 0) is None


@given(st.sampled_from(Health), st.sampled_from(Health))
def test_worse_is_the_worse_whoever_says_it(one: Health, other: Health) -> None:
    order = [Health.DOWN, Health.DEGRADED, Health.OK]

    assert worse(one, other) is worse(other, one)
    assert worse(one, other) is next(health for health in order if health in {one, other})


def test_quarantine_takes_five_fast_failures_in_a_row() -> None:
    fast = history(*[Outcome.FAILED] * 5, took=FAST)

    assert quarantine(fast, NOW, 0) == NOW + timedelta(minutes=10)
    assert quarantine(fast[:4], NOW, 0) is None
    assert quarantine(history(*[Outcome.FAILED] * 5, took=FAST + MINUTE), NOW, 0) is None
    assert quarantine(history(*[Outcome.EXPIRED] * 5, took=FAST), NOW, 0) is None
    mixed = [Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED, Outcome.FAILED, Outcome.FAILED]
    assert quarantine(history(*mixed, took=FAST), NOW, 0) is None
    older_success = [*fast, make_past(Outcome.SUCCEEDED, ended_ago=HOUR, took=FAST)]
    assert quarantine(older_success, NOW, 0) == NOW + timedelta(minutes=10)


def test_quarantine_counts_from_the_newest_failure_and_is_over_by_itself() -> None:
    fast = history(*[Outcome.FAILED] * 5, took=FAST)

    assert quarantine(fast, NOW + 9 * MINUTE, 0) == NOW + 10 * MINUTE
    assert quarantine(fast, NOW + 10 * MINUTE, 0) is None


@pytest.mark.parametrize(
    ("strikes", "minutes"), [(0, 10), (1, 20), (2, 40), (3, 80), (4, 160), (5, 240), (10**9, 240)]
)
def test_quarantine_doubles_up_to_four_hours(strikes: int, minutes: int) -> None:
    fast = history(*[Outcome.FAILED] * 5, took=FAST)

    assert quarantine(fast, NOW, strikes) == NOW + timedelta(minutes=minutes)


@given(st.integers(0, 200), st.integers(0, 200))
def test_at_most_a_third_is_in_quarantine_at_once(registered: int, quarantined: int) -> None:
    room = quarantine_room(registered, quarantined)

    assert room >= 0
    assert room == 0 or 3 * (quarantined + room) <= registered


def test_a_factory_alone_or_one_of_two_is_never_in_quarantine() -> None:
    assert [quarantine_room(registered, 0) for registered in range(7)] == [0, 0, 0, 1, 1, 1, 2]
