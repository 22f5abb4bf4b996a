"""The law for jobs nobody runs: holds, edits, retries, parents."""

from dataclasses import replace

import pytest

from app import lease
from app.fleet import FINISHED, JobState, Standing
from app.life import RESTING, Change, Event, LockAction, Reason
from tests.core.lease_strategies import (
    F2,
    NOW,
    ON_HOLD,
    after_s,
    changed,
    hand_of,
    lapsed,
    leased,
    make_life,
    swept,
    why_not,
)


@pytest.mark.parametrize("state", sorted(RESTING))
def test_whatever_waits_can_be_held(state: JobState) -> None:
    life = changed(lease.hold(make_life(state), ON_HOLD))
    assert (life.state, life.hold) == (JobState.HELD, ON_HOLD)


@pytest.mark.parametrize("state", sorted(FINISHED | {JobState.LEASED}))
def test_what_runs_or_is_finished_cannot_be_held(state: JobState) -> None:
    assert why_not(lease.hold(make_life(state), ON_HOLD)) is Reason.IMPOSSIBLE


@pytest.mark.parametrize(
    ("parents", "wait_s", "state"),
    [(1, 0, JobState.BLOCKED), (0, 9, JobState.SCHEDULED), (0, 0, JobState.READY)],
)
def test_unhold_computes_the_state_anew(parents: int, wait_s: int, state: JobState) -> None:
    held = changed(lease.hold(make_life(), ON_HOLD))
    now_else = replace(held, unfinished_parents=parents, run_after=after_s(wait_s))
    life = changed(lease.unhold(now_else, now=NOW))
    assert (life.state, life.hold) == (state, None)


def test_a_hold_ends_by_itself_at_its_until() -> None:
    until = Standing(reason="maintenance", by="ops", until=after_s(9))
    held = changed(lease.hold(make_life(), until))
    assert why_not(lease.sweep(held, jitter_permille=0, now=after_s(8))) is Reason.NOT_DUE
    assert swept(held, 9) == make_life()


def test_only_a_hold_can_be_lifted() -> None:
    assert why_not(lease.unhold(make_life(), now=NOW)) is Reason.IMPOSSIBLE
    assert why_not(lease.unhold(leased(), now=NOW)) is Reason.IMPOSSIBLE


def test_a_hold_keeps_claims_away_and_the_open_fence_open() -> None:
    held = changed(lease.hold(lapsed(), ON_HOLD))
    decision = lease.claim(held, factory=F2, lease_s=60, now=after_s(70))
    assert why_not(decision) is Reason.IMPOSSIBLE
    assert changed(lease.complete(held, hand_of(held))).state is JobState.SUCCEEDED


def test_a_held_job_that_its_holder_resumes_is_held_again_after_it() -> None:
    held = changed(lease.hold(lapsed(), ON_HOLD))
    resumed = changed(lease.renew(held, hand_of(held), now=after_s(70)))
    assert (resumed.state, resumed.hold) == (JobState.LEASED, ON_HOLD)
    assert swept(resumed, 130).state is JobState.HELD
    released = lease.release(resumed, hand_of(held), retry_after_s=None, now=after_s(71))
    assert changed(released).state is JobState.HELD
    lifted = changed(lease.unhold(resumed, now=after_s(71)))
    assert (lifted.state, lifted.hold) == (JobState.LEASED, None)
    assert swept(lifted, 130).state is JobState.READY


def test_an_edit_of_what_is_to_run_closes_an_open_fence() -> None:
    decision = lease.edit(replace(lapsed(), run_after=after_s(500)), now=after_s(70))
    assert isinstance(decision, Change)
    assert decision.fence_closed
    assert decision.lock is LockAction.FREE
    assert decision.after.state is JobState.SCHEDULED


def test_an_edit_without_an_open_fence_touches_no_lock() -> None:
    decision = lease.edit(make_life(), now=NOW)
    assert isinstance(decision, Change)
    assert decision.lock is LockAction.KEEP


def test_an_edit_must_leave_an_attempt() -> None:
    life = make_life(attempts=2, attempts_max=2)
    assert why_not(lease.edit(life, now=NOW)) is Reason.IMPOSSIBLE


@pytest.mark.parametrize("state", sorted(FINISHED | {JobState.LEASED}))
def test_what_runs_or_is_finished_is_not_edited(state: JobState) -> None:
    assert why_not(lease.edit(make_life(state), now=NOW)) is Reason.IMPOSSIBLE


def test_an_edit_that_adds_a_failed_parent_cancels() -> None:
    life = changed(lease.edit(make_life(parent_failed=True), now=NOW))
    assert (life.state, life.cancelled_by_parent) == (JobState.CANCELLED, True)


@pytest.mark.parametrize(
    ("state", "parents", "wait_s", "to"),
    [
        (JobState.DEAD, 1, 0, JobState.BLOCKED),
        (JobState.DEAD, 0, 0, JobState.READY),
        (JobState.CANCELLED, 1, 0, JobState.BLOCKED),
        (JobState.CANCELLED, 0, 9, JobState.SCHEDULED),
        (JobState.CANCELLED, 0, 0, JobState.READY),
    ],
)
def test_a_retry_begins_again_with_fresh_attempts_and_the_next_fence(
    state: JobState, parents: int, wait_s: int, to: JobState
) -> None:
    life = make_life(
        state,
        fence=4,
        attempts=3,
        unfinished_parents=parents,
        run_after=after_s(wait_s),
        cancel_requested_at=NOW,
    )
    fresh = changed(lease.retry(life, now=NOW))
    assert (fresh.state, fresh.attempts, fresh.fence) == (to, 0, 4)
    assert fresh.cancel_requested_at is None


@pytest.mark.parametrize("state", sorted(set(JobState) - {JobState.DEAD, JobState.CANCELLED}))
def test_nothing_else_is_retried(state: JobState) -> None:
    assert why_not(lease.retry(make_life(state), now=NOW)) is Reason.IMPOSSIBLE


def test_a_retry_under_a_failed_parent_is_refused() -> None:
    life = make_life(JobState.CANCELLED, parent_failed=True)
    assert why_not(lease.retry(life, now=NOW)) is Reason.PARENT_FAILED


def test_the_last_parent_to_finish_unblocks() -> None:
    waiting = make_life(JobState.BLOCKED, unfinished_parents=1)
    assert why_not(lease.after_parents(waiting, now=NOW)) is Reason.ALREADY
    decision = lease.after_parents(replace(waiting, unfinished_parents=0), now=NOW)
    assert isinstance(decision, Change)
    assert (decision.event, decision.after.state) == (Event.PARENTS_DONE, JobState.READY)
    later = make_life(JobState.BLOCKED, run_after=after_s(9))
    assert changed(lease.after_parents(later, now=NOW)).state is JobState.SCHEDULED


@pytest.mark.parametrize("state", sorted(RESTING))
def test_a_failed_parent_cancels_whatever_waits(state: JobState) -> None:
    life = changed(lease.after_parents(make_life(state, parent_failed=True), now=NOW))
    assert (life.state, life.cancelled_by_parent) == (JobState.CANCELLED, True)


def test_a_failed_parent_asks_for_the_end_of_what_runs() -> None:
    life = changed(lease.after_parents(replace(leased(), parent_failed=True), now=after_s(1)))
    assert (life.state, life.cancel_requested_at) == (JobState.LEASED, after_s(1))
    ended = swept(life, 60)
    assert (ended.state, ended.cancelled_by_parent) == (JobState.CANCELLED, True)


def test_a_held_job_stays_held_whatever_its_parents_complete() -> None:
    held = make_life(JobState.HELD, hold=ON_HOLD)
    assert why_not(lease.after_parents(held, now=NOW)) is Reason.ALREADY


@pytest.mark.parametrize("state", [JobState.READY, JobState.SCHEDULED])
def test_the_retry_of_a_parent_blocks_a_child_that_would_have_run_without_it(
    state: JobState,
) -> None:
    decision = lease.after_parents(make_life(state, unfinished_parents=1), now=NOW)
    assert isinstance(decision, Change)
    assert (decision.event, decision.after.state) == (Event.PARENT_REVIVED, JobState.BLOCKED)


def test_the_retry_of_a_parent_lets_a_running_child_run_and_blocks_it_after() -> None:
    running = replace(leased(), unfinished_parents=1)
    assert why_not(lease.after_parents(running, now=after_s(1))) is Reason.ALREADY
    blocked = swept(running, 60)
    assert (blocked.state, blocked.fence_open) == (JobState.BLOCKED, True)
    assert changed(lease.complete(blocked, hand_of(blocked))).state is JobState.SUCCEEDED


def test_the_retry_of_a_parent_revives_what_was_cancelled_because_of_it() -> None:
    waiting = make_life(JobState.BLOCKED, unfinished_parents=1)
    orphan = changed(
        lease.after_parents(replace(waiting, unfinished_parents=0, parent_failed=True), now=NOW)
    )
    # A second parent is dead as well: nothing moves until that one is retried too.
    assert why_not(lease.after_parents(orphan, now=NOW)) is Reason.PARENT_FAILED
    decision = lease.after_parents(
        replace(orphan, unfinished_parents=1, parent_failed=False), now=NOW
    )
    assert isinstance(decision, Change)
    assert decision.event is Event.RETRY
    assert decision.after == waiting


def test_the_retry_of_a_parent_leaves_alone_what_was_cancelled_by_hand() -> None:
    by_hand = changed(lease.cancel(make_life(JobState.BLOCKED, unfinished_parents=1), now=NOW))
    assert why_not(lease.after_parents(by_hand, now=NOW)) is Reason.ALREADY
