"""The law of leases, rule by rule, and the reported failures of others that it answers."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app import lease
from app.fleet import JobState, Outcome
from app.life import RETRY_AFTER_S_MAX, Change, Decision, Event, Hand, JobLife, LockAction, Reason
from tests.core.lease_strategies import (
    F1,
    F2,
    NOW,
    after_s,
    changed,
    hand_of,
    lapsed,
    last_attempt,
    leased,
    make_life,
    swept,
    why_not,
)

FROM_F1 = Hand(factory=F1, fence=1)
HOLDERS_CALLS = ["renew", "complete", "fail", "release"]


def call(name: str, life: JobLife, by: Hand, at_s: float) -> Decision:
    now = after_s(at_s)
    if name == "renew":
        return lease.renew(life, by, now=now)
    if name == "complete":
        return lease.complete(life, by)
    if name == "release":
        return lease.release(life, by, retry_after_s=None, now=now)
    return lease.fail(life, by, retryable=True, retry_after_s=None, jitter_permille=0, now=now)


def failed(life: JobLife, *, retryable: bool = True, retry_after_s: int | None = None) -> Change:
    decision = lease.fail(
        life,
        hand_of(life),
        retryable=retryable,
        retry_after_s=retry_after_s,
        jitter_permille=0,
        now=after_s(30),
    )
    assert isinstance(decision, Change)
    return decision


def test_a_claim_opens_the_next_fence_and_takes_seat_and_lock() -> None:
    decision = lease.claim(make_life(fence=6), factory=F1, lease_s=60, now=NOW)
    assert isinstance(decision, Change)
    life = decision.after
    assert (life.state, life.fence, life.fence_open, life.holder) == (JobState.LEASED, 7, True, F1)
    assert (life.attempts, life.claimed_at, life.lease_expires_at) == (1, NOW, after_s(60))
    assert (decision.seat_delta, decision.lock) == (1, LockAction.TAKE)
    assert not decision.finished
    assert not decision.fence_closed


@pytest.mark.parametrize("state", sorted(set(JobState) - {JobState.READY}))
def test_only_a_ready_job_is_claimed(state: JobState) -> None:
    decision = lease.claim(make_life(state), factory=F1, lease_s=60, now=NOW)
    assert why_not(decision) is Reason.IMPOSSIBLE


def test_a_job_without_attempts_left_is_not_claimed() -> None:
    life = make_life(attempts=3, attempts_max=3)
    assert why_not(lease.claim(life, factory=F1, lease_s=60, now=NOW)) is Reason.IMPOSSIBLE


@pytest.mark.parametrize("name", HOLDERS_CALLS)
def test_c01_a_late_worker_is_refused_once_another_has_the_job(name: str) -> None:
    second = changed(lease.claim(lapsed(), factory=F2, lease_s=60, now=after_s(62)))
    assert second.fence == 2
    assert why_not(call(name, second, FROM_F1, 63)) is Reason.STALE_FENCE
    done = changed(lease.complete(second, Hand(factory=F2, fence=2)))
    assert done.attempts == 2
    assert why_not(call(name, done, FROM_F1, 64)) is Reason.STALE_FENCE


@pytest.mark.parametrize("name", HOLDERS_CALLS)
def test_c01_before_that_the_end_of_the_lease_refuses_nothing(name: str) -> None:
    # One rule for renew, complete, fail and release: swept or not, an open fence may write.
    for life in (leased(), lapsed()):
        assert isinstance(call(name, life, FROM_F1, 62), Change)


@pytest.mark.parametrize("name", HOLDERS_CALLS)
def test_a_fence_taken_with_the_lock_or_named_by_another_is_stale(name: str) -> None:
    lock_taken = replace(lapsed(), fence_open=False)
    assert why_not(call(name, lock_taken, FROM_F1, 62)) is Reason.STALE_FENCE
    assert why_not(call(name, leased(), Hand(factory=F2, fence=1), 9)) is Reason.STALE_FENCE
    assert why_not(call(name, leased(), Hand(factory=F1, fence=2), 9)) is Reason.STALE_FENCE


def test_an_expiry_frees_the_seat_and_lets_the_lock_lapse_but_closes_nothing() -> None:
    decision = lease.sweep(leased(), jitter_permille=0, now=after_s(60))
    assert isinstance(decision, Change)
    assert decision.after.state is JobState.READY
    assert decision.after.fence_open
    assert decision.after.attempts == 1
    assert (decision.seat_delta, decision.lock) == (-1, LockAction.LAPSE)
    assert decision.outcome is Outcome.EXPIRED
    assert not decision.fence_closed


def test_a_lease_that_was_renewed_meanwhile_is_not_expired() -> None:
    renewed = changed(call("renew", leased(), FROM_F1, 59))
    decision = lease.sweep(renewed, jitter_permille=0, now=after_s(61))
    assert why_not(decision) is Reason.NOT_DUE


def test_a_late_renewal_takes_the_seat_again_and_counts_no_attempt() -> None:
    decision = call("renew", lapsed(), FROM_F1, 100)
    assert isinstance(decision, Change)
    assert (decision.seat_delta, decision.lock) == (1, LockAction.TAKE)
    life = decision.after
    assert (life.state, life.fence, life.attempts) == (JobState.LEASED, 1, 1)
    assert (life.claimed_at, life.lease_expires_at) == (NOW, after_s(160))


def test_a_timely_renewal_touches_neither_seat_nor_lock() -> None:
    decision = call("renew", leased(), FROM_F1, 20)
    assert isinstance(decision, Change)
    assert (decision.seat_delta, decision.lock) == (0, LockAction.KEEP)


def test_a_late_completion_ends_the_job() -> None:
    decision = call("complete", lapsed(), FROM_F1, 100)
    assert isinstance(decision, Change)
    assert decision.finished
    assert decision.fence_closed
    assert (decision.after.state, decision.seat_delta) == (JobState.SUCCEEDED, 0)
    assert (decision.lock, decision.outcome) == (LockAction.FREE, Outcome.SUCCEEDED)


def test_c07_a_stuck_job_that_heartbeats_is_ended_by_its_timeout() -> None:
    life = leased(timeout_s=120)
    for at_s in range(20, 120, 20):
        life = changed(call("renew", life, FROM_F1, at_s))
    assert why_not(call("renew", life, FROM_F1, 120)) is Reason.OVERDUE
    decision = lease.sweep(life, jitter_permille=0, now=after_s(120))
    assert isinstance(decision, Change)
    assert (decision.event, decision.outcome) == (Event.TIME_OUT, Outcome.TIMED_OUT)
    assert (decision.seat_delta, decision.lock) == (-1, LockAction.FREE)
    assert decision.fence_closed
    assert decision.after.state is JobState.SCHEDULED
    assert decision.after.run_after == after_s(130)
    assert why_not(call("renew", decision.after, FROM_F1, 121)) is Reason.STALE_FENCE


def test_c07_the_timeout_of_a_last_attempt_is_death() -> None:
    assert swept(last_attempt(timeout_s=120), 120).state is JobState.DEAD


def test_until_the_timeout_is_written_a_completion_counts() -> None:
    life = leased(timeout_s=50)
    assert changed(call("complete", life, FROM_F1, 55)).state is JobState.SUCCEEDED


def test_the_timeout_of_a_lapsed_lease_closes_its_fence_and_leaves_the_job_ready() -> None:
    decision = lease.sweep(lapsed(timeout_s=120), jitter_permille=0, now=after_s(120))
    assert isinstance(decision, Change)
    assert decision.event is Event.TIME_OUT
    assert decision.fence_closed
    assert decision.after.state is JobState.READY
    assert (decision.outcome, decision.lock) == (None, LockAction.FREE)


def test_c09_a_job_released_by_a_drain_is_claimable_at_once_and_uncounted() -> None:
    decision = call("release", leased(), FROM_F1, 5)
    assert isinstance(decision, Change)
    life = decision.after
    assert (life.state, life.attempts, life.run_after) == (JobState.READY, 0, None)
    assert (decision.seat_delta, decision.lock) == (-1, LockAction.FREE)
    assert decision.outcome is Outcome.RELEASED
    assert why_not(call("renew", life, FROM_F1, 6)) is Reason.STALE_FENCE
    again = changed(lease.claim(life, factory=F2, lease_s=60, now=after_s(7)))
    assert (again.fence, again.attempts) == (2, 1)


def test_a_late_release_closes_the_fence_and_gives_the_attempt_back() -> None:
    life = changed(lease.release(lapsed(), FROM_F1, retry_after_s=30, now=after_s(70)))
    assert (life.state, life.run_after, life.attempts) == (JobState.SCHEDULED, after_s(100), 0)
    assert not life.fence_open
    assert changed(call("release", lapsed(), FROM_F1, 70)).state is JobState.READY


def test_a_lapsed_last_attempt_keeps_job_and_lock_but_no_seat() -> None:
    decision = lease.sweep(last_attempt(), jitter_permille=0, now=after_s(61))
    assert isinstance(decision, Change)
    life = decision.after
    assert (life.state, life.fence_open, life.seated) == (JobState.LEASED, True, False)
    assert (decision.seat_delta, decision.lock) == (-1, LockAction.KEEP)
    assert decision.outcome is Outcome.EXPIRED


def test_a_lapsed_last_attempt_may_come_back_within_its_grace() -> None:
    life = swept(last_attempt(), 61)
    resumed = call("renew", life, hand_of(life), 61 + 899)
    assert isinstance(resumed, Change)
    assert resumed.seat_delta == 1
    assert changed(lease.complete(life, hand_of(life))).state is JobState.SUCCEEDED
    assert changed(call("release", life, hand_of(life), 99)).state is JobState.READY
    assert changed(call("fail", life, hand_of(life), 99)).state is JobState.DEAD


def test_the_end_of_the_grace_is_death_which_the_holder_is_not_charged_for_twice() -> None:
    decision = lease.sweep(swept(last_attempt(), 61), jitter_permille=0, now=after_s(61 + 900))
    assert isinstance(decision, Change)
    assert (decision.event, decision.after.state) == (Event.GRACE_OVER, JobState.DEAD)
    assert (decision.seat_delta, decision.lock) == (0, LockAction.FREE)
    assert decision.outcome is None
    assert decision.fence_closed


def test_a_failure_waits_with_backoff_while_attempts_are_left() -> None:
    decision = failed(leased())
    assert decision.after.state is JobState.SCHEDULED
    assert decision.after.run_after == after_s(40)
    assert decision.outcome is Outcome.FAILED
    assert failed(last_attempt()).after.state is JobState.DEAD
    assert failed(leased(), retryable=False).after.state is JobState.DEAD
    assert failed(lapsed(), retryable=False).after.state is JobState.DEAD
    assert swept(decision.after, 40).state is JobState.READY


@pytest.mark.parametrize(("asked_s", "wait_s"), [(90, 90), (-5, 0), (10**18, RETRY_AFTER_S_MAX)])
def test_c35_a_wait_asked_for_replaces_the_backoff_within_its_bounds(
    asked_s: int, wait_s: int
) -> None:
    life = failed(leased(), retry_after_s=asked_s).after
    assert life.run_after == after_s(30 + wait_s)


def test_c35_no_wait_at_all_is_ready_at_once() -> None:
    assert failed(leased(), retry_after_s=0).after.state is JobState.READY


def test_c35_the_two_thousandth_failure_waits_an_hour() -> None:
    life = failed(leased(attempts=1999, attempts_max=100_000)).after
    assert life.run_after == after_s(30) + timedelta(hours=1)


def test_c33_a_completion_before_the_cancel_has_won() -> None:
    done = changed(lease.complete(leased(), FROM_F1))
    assert why_not(lease.cancel(done, now=after_s(1))) is Reason.ALREADY
    assert done.state is JobState.SUCCEEDED


def test_c33_a_completion_after_the_request_wins_and_shows_that_there_was_one() -> None:
    asked = changed(lease.cancel(leased(), now=after_s(1)))
    assert (asked.state, asked.fence_open) == (JobState.LEASED, True)
    done = changed(lease.complete(asked, FROM_F1))
    assert done.state is JobState.SUCCEEDED
    assert done.cancel_requested_at == after_s(1)


def test_c33_a_completion_after_the_job_was_cancelled_is_stale() -> None:
    cancelled = changed(lease.cancel(lapsed(), now=after_s(70)))
    assert cancelled.state is JobState.CANCELLED
    assert why_not(call("complete", cancelled, FROM_F1, 71)) is Reason.STALE_FENCE


@pytest.mark.parametrize("name", ["fail", "release"])
def test_after_a_cancel_every_exit_but_complete_ends_in_cancelled(name: str) -> None:
    asked = changed(lease.cancel(leased(), now=after_s(1)))
    decision = call(name, asked, FROM_F1, 2)
    assert isinstance(decision, Change)
    assert (decision.after.state, decision.outcome) == (JobState.CANCELLED, Outcome.CANCELLED)


@pytest.mark.parametrize("at_s", [60, 4 * 3600])
def test_after_a_cancel_lease_end_and_timeout_end_in_cancelled_too(at_s: float) -> None:
    asked = changed(lease.cancel(leased(), now=after_s(1)))
    decision = lease.sweep(asked, jitter_permille=0, now=after_s(at_s))
    assert isinstance(decision, Change)
    assert (decision.after.state, decision.outcome) == (JobState.CANCELLED, Outcome.CANCELLED)
    assert decision.lock is LockAction.FREE


def test_the_renewal_that_tells_of_the_cancel_is_the_last_to_prolong_the_lease() -> None:
    asked = changed(lease.cancel(leased(), now=after_s(30)))
    told = changed(call("renew", asked, FROM_F1, 40))
    assert told.lease_expires_at == after_s(100)
    later = changed(call("renew", told, FROM_F1, 90))
    assert later.lease_expires_at == after_s(100)
    assert why_not(call("renew", later, FROM_F1, 100)) is Reason.OVERDUE
    assert swept(later, 100).state is JobState.CANCELLED


def test_a_cancel_during_the_grace_leaves_one_more_lease() -> None:
    life = swept(last_attempt(), 61)
    asked = changed(lease.cancel(life, now=after_s(70)))
    assert asked.state is JobState.LEASED
    back = changed(call("renew", asked, hand_of(asked), 100))
    assert back.lease_expires_at == after_s(130)
    assert swept(asked, 130).state is JobState.CANCELLED
    assert swept(back, 130).state is JobState.CANCELLED


def test_a_second_cancel_changes_nothing() -> None:
    asked = changed(lease.cancel(leased(), now=after_s(1)))
    assert why_not(lease.cancel(asked, now=after_s(2))) is Reason.ALREADY


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.CANCELLED])
def test_a_finished_job_is_not_cancelled(state: JobState) -> None:
    assert why_not(lease.cancel(make_life(state), now=NOW)) is Reason.ALREADY


def test_a_dead_job_is_cancelled_without_moving_its_dependants_again() -> None:
    dead = make_life(JobState.DEAD, attempts=3)
    decision = lease.cancel(dead, now=NOW)
    assert isinstance(decision, Change)
    assert decision.after == replace(dead, state=JobState.CANCELLED)
    assert (decision.lock, decision.outcome, decision.finished) == (LockAction.KEEP, None, False)


@pytest.mark.parametrize(
    ("closed_by", "again", "reason"),
    [
        (Event.COMPLETE, Event.COMPLETE, Reason.ALREADY),
        (Event.FAIL, Event.FAIL, Reason.ALREADY),
        (Event.RELEASE, Event.RELEASE, Reason.ALREADY),
        (Event.COMPLETE, Event.FAIL, Reason.STALE_FENCE),
        (Event.RENEW, Event.RENEW, Reason.STALE_FENCE),
        (Event.TIME_OUT, Event.COMPLETE, Reason.STALE_FENCE),
        (None, Event.COMPLETE, Reason.STALE_FENCE),
    ],
)
def test_only_the_call_that_closed_a_fence_may_be_repeated(
    closed_by: Event | None, again: Event, reason: Reason
) -> None:
    assert lease.repeated(closed_by, again).reason is reason
