"""The arithmetic of a job's life: where it rests, how long it waits, what time will bring."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import life as law
from app.fleet import JobState, Standing
from app.life import Event
from tests.core.lease_strategies import (
    NOW,
    ON_HOLD,
    after_s,
    jitters,
    lapsed,
    last_attempt,
    leased,
    make_life,
    swept,
)

ATTEMPTS_MAX_EVER = 100_000


def naive_longest_s(attempts: int) -> int:
    """Double step by step, and stop as soon as the cap is reached."""
    wait_s = law.BACKOFF_BASE_S
    for _ in range(attempts - 1):
        wait_s *= 2
        if wait_s >= law.BACKOFF_CAP_S:
            return law.BACKOFF_CAP_S
    return wait_s


@given(attempts=st.integers(1, ATTEMPTS_MAX_EVER), jitter=jitters)
def test_backoff_is_within_the_upper_half_of_the_naive_doubling(attempts: int, jitter: int) -> None:
    longest = timedelta(seconds=naive_longest_s(attempts))
    assert longest / 2 < law.backoff(attempts, jitter) <= longest


@given(attempts=st.integers(1, 30))
def test_without_jitter_backoff_is_the_naive_doubling(attempts: int) -> None:
    assert law.backoff(attempts, 0) == timedelta(seconds=naive_longest_s(attempts))


@given(attempts=st.integers(), jitter=st.integers())
def test_backoff_is_bounded_for_any_number_whatever(attempts: int, jitter: int) -> None:
    wait = law.backoff(attempts, jitter)
    assert timedelta(seconds=5) <= wait <= timedelta(seconds=law.BACKOFF_CAP_S)


@given(attempts=st.integers(1, 40), jitter=jitters)
def test_backoff_never_shrinks_from_attempt_to_attempt(attempts: int, jitter: int) -> None:
    assert law.backoff(attempts, jitter) <= law.backoff(attempts + 1, jitter)


@pytest.mark.parametrize(("attempts", "wait_s"), [(1, 10), (2, 20), (9, 2560), (10, 3600)])
def test_backoff_by_hand(attempts: int, wait_s: int) -> None:
    assert law.backoff(attempts, 0) == timedelta(seconds=wait_s)


@pytest.mark.parametrize("attempts", [2000, ATTEMPTS_MAX_EVER, 10**18])
def test_c35_the_exponent_is_capped_before_the_power_is_taken(attempts: int) -> None:
    assert law.backoff(attempts, 0) == timedelta(hours=1)
    assert law.backoff(attempts, 999) > timedelta(minutes=30)


@pytest.mark.parametrize(
    ("asked_s", "wait_s"), [(0, 0), (-5, 0), (7, 7), (10**18, law.RETRY_AFTER_S_MAX)]
)
def test_c35_a_wait_that_was_asked_for_is_bounded(asked_s: int, wait_s: int) -> None:
    assert law.retry_after(asked_s) == timedelta(seconds=wait_s)


@pytest.mark.parametrize(("lease_s", "beat_s"), [(5, 1), (60, 20), (86_400, 28_800), (1, 1)])
def test_a_heartbeat_is_due_after_a_third_of_the_lease(lease_s: int, beat_s: int) -> None:
    assert law.next_heartbeat_s(lease_s) == beat_s


@given(timeout_s=st.integers(1, 10**7))
def test_the_grace_is_a_quarter_of_an_hour_or_the_timeout_if_less(timeout_s: int) -> None:
    assert law.grace_s(timeout_s) <= 900
    assert law.grace_s(timeout_s) <= timeout_s
    assert law.grace_s(timeout_s) in {900, timeout_s}


@pytest.mark.parametrize(
    ("on_hold", "parents", "wait_s", "state"),
    [
        (True, 1, 5, JobState.HELD),
        (False, 1, 5, JobState.BLOCKED),
        (False, 0, 5, JobState.SCHEDULED),
        (False, 0, 0, JobState.READY),
        (False, 0, None, JobState.READY),
    ],
)
def test_where_a_job_rests(
    on_hold: bool, parents: int, wait_s: int | None, state: JobState
) -> None:
    run_after = None if wait_s is None else after_s(wait_s)
    rests = law.rest_state(
        on_hold=on_hold, unfinished_parents=parents, run_after=run_after, now=NOW
    )
    assert rests is state


def test_a_lease_is_due_at_its_end_and_then_at_its_timeout() -> None:
    life = leased(timeout_s=600)
    assert law.next_due_at(life) == after_s(60)
    assert law.due_event(life, after_s(59)) is None
    assert law.due_event(life, after_s(60)) is Event.EXPIRE
    assert law.next_due_at(swept(life, 61)) == after_s(600)


def test_a_lease_found_past_its_timeout_has_timed_out_rather_than_lapsed() -> None:
    assert law.due_event(leased(timeout_s=600), after_s(600)) is Event.TIME_OUT


def test_a_timeout_shorter_than_the_lease_comes_first() -> None:
    life = leased(timeout_s=30)
    assert law.next_due_at(life) == after_s(30)
    assert law.due_event(life, after_s(30)) is Event.TIME_OUT


def test_the_grace_runs_from_the_writing_of_the_lapse() -> None:
    # The coordinator was away for an hour: the holder still gets the whole grace.
    life = swept(last_attempt(), 3600)
    assert law.next_due_at(life) == after_s(3600 + 900)
    assert law.due_event(life, after_s(4499)) is None
    assert law.due_event(life, after_s(4500)) is Event.GRACE_OVER


def test_a_lapsed_lease_whose_lock_went_elsewhere_has_nothing_due() -> None:
    assert law.next_due_at(replace(lapsed(), fence_open=False)) is None


def test_a_scheduled_job_is_due_at_its_time() -> None:
    life = make_life(JobState.SCHEDULED, run_after=after_s(9))
    assert law.next_due_at(life) == after_s(9)
    assert law.due_event(life, after_s(9)) is Event.DUE


def test_a_hold_is_due_at_its_until_if_it_has_one() -> None:
    until = Standing(reason="maintenance", by="ops", until=after_s(9))
    assert law.next_due_at(make_life(JobState.HELD, hold=ON_HOLD)) is None
    life = make_life(JobState.HELD, hold=until)
    assert law.next_due_at(life) == after_s(9)
    assert law.due_event(life, after_s(9)) is Event.UNHOLD


@pytest.mark.parametrize(
    "state", [JobState.BLOCKED, JobState.READY, JobState.SUCCEEDED, JobState.DEAD, JobState.HELD]
)
def test_time_alone_brings_nothing_to_a_job_that_waits_for_others(state: JobState) -> None:
    life = make_life(state, run_after=NOW)
    assert law.next_due_at(life) is None
    assert law.due_event(life, after_s(10**8)) is None


def test_a_life_without_the_times_of_its_state_has_nothing_due() -> None:
    assert law.next_due_at(make_life(JobState.LEASED, fence_open=True)) is None
    assert law.next_due_at(make_life(JobState.SCHEDULED)) is None
