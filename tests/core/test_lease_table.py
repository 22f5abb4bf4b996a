"""The transition table, walked: every row of it can be reached, and nothing outside of it is."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from app import lease
from app.fleet import FINISHED, JobState
from app.life import GRACE_S_MAX, RESTING, TRANSITIONS, Change, Decision, Event, Hand, JobLife
from tests.core.lease_strategies import F1, LEAVING, NOW, ON_HOLD, after_s, assert_lawful, make_life

Triple = tuple[JobState, Event, JobState]
Move = Callable[[JobLife], Decision]

LEASE_S = 1_000
TIMEOUT_S = 2_500


def by(life: JobLife) -> Hand:
    return Hand(factory=F1, fence=life.fence)


def failing(*, retryable: bool, retry_after_s: int | None = None) -> Move:
    return lambda life: lease.fail(
        life,
        by(life),
        retryable=retryable,
        retry_after_s=retry_after_s,
        jitter_permille=0,
        now=NOW,
    )


def parents(unfinished: int, *, failed: bool = False) -> Move:
    return lambda life: lease.after_parents(
        replace(life, unfinished_parents=unfinished, parent_failed=failed), now=NOW
    )


def editing(*, wait_s: int = 0, unfinished: int = 0, failed: bool = False) -> Move:
    return lambda life: lease.edit(
        replace(
            life,
            run_after=after_s(wait_s),
            unfinished_parents=unfinished,
            parent_failed=failed,
        ),
        now=NOW,
    )


MOVES: tuple[Move, ...] = (
    lambda life: lease.claim(life, factory=F1, lease_s=LEASE_S, now=NOW),
    lambda life: lease.renew(life, by(life), now=NOW),
    lambda life: lease.complete(life, by(life)),
    failing(retryable=True),
    failing(retryable=True, retry_after_s=0),
    failing(retryable=False),
    lambda life: lease.release(life, by(life), retry_after_s=None, now=NOW),
    lambda life: lease.release(life, by(life), retry_after_s=10, now=NOW),
    lambda life: lease.sweep(life, jitter_permille=0, now=NOW),
    lambda life: lease.cancel(life, now=NOW),
    lambda life: lease.hold(life, ON_HOLD),
    lambda life: lease.unhold(life, now=NOW),
    lambda life: lease.retry(life, now=NOW),
    editing(),
    editing(wait_s=10),
    editing(unfinished=1),
    editing(failed=True),
    parents(0),
    parents(1),
    parents(0, failed=True),
)


def later(life: JobLife, wait_s: int = 0) -> JobLife:
    """Let time pass by moving the life into the past, so that ``NOW`` is always now.

    What has no bearing on the rest of the life is forgotten, which leaves few lives to visit.
    """

    def moved(at: datetime | None) -> datetime | None:
        return at and max(NOW - timedelta(seconds=TIMEOUT_S), at - timedelta(seconds=wait_s))

    runs = life.state is JobState.LEASED
    waits = life.run_after is not None and life.run_after > NOW
    return replace(
        life,
        fence=1,
        attempts=0 if life.state in FINISHED else life.attempts,
        claimed_at=moved(life.claimed_at) if life.fence_open else None,
        lease_expires_at=moved(life.lease_expires_at) if runs else None,
        run_after=moved(life.run_after) if waits or life.state is JobState.SCHEDULED else None,
        cancel_requested_at=life.cancel_requested_at and NOW if runs else None,
        cancel_deadline_at=moved(life.cancel_deadline_at) if runs else None,
    )


def walk() -> Iterator[Triple]:
    """Visit every life that can be reached from a submission, and yield each step between them."""
    start = make_life(attempts_max=2, timeout_s=TIMEOUT_S, fence=1)
    seen = {start}
    todo = [start]
    while todo:
        life = todo.pop()
        found = [later(life, wait_s) for wait_s in (LEASE_S, GRACE_S_MAX)]
        if life.state is not JobState.LEASED:
            # The lock of a lapsed lease may be taken by another job at any time.
            found.append(later(replace(life, fence_open=False)))
        if life.state is JobState.DEAD:
            # People may repair it before they retry it, and say that it must not run too soon.
            found.append(replace(life, run_after=after_s(10)))
        for move in MOVES:
            decision = move(life)
            if isinstance(decision, Change):
                assert_lawful(decision, NOW)
                yield decision.before.state, decision.event, decision.after.state
                found.append(later(decision.after))
        new = set(found) - seen
        seen |= new
        todo.extend(new)


def test_the_lives_of_a_job_walk_every_row_of_the_table_and_no_other() -> None:
    table = {(state, event, to) for (state, event), tos in TRANSITIONS.items() for to in tos}
    walked = set(walk())
    assert walked - table == set()
    assert table - walked == set()


def test_the_table_knows_every_event_and_every_state() -> None:
    assert {event for _, event in TRANSITIONS} == set(Event)
    assert {state for state, _ in TRANSITIONS} == set(JobState) - {JobState.SUCCEEDED}
    assert set().union(*TRANSITIONS.values()) == set(JobState)


def test_a_finished_state_is_left_by_a_retry_and_the_dead_letter_by_a_cancel_too() -> None:
    leaving = {(state, event) for state, event in TRANSITIONS if state in FINISHED}
    assert leaving == LEAVING
    for state, event in leaving - {(JobState.DEAD, Event.CANCEL)}:
        assert TRANSITIONS[state, event] <= RESTING - {JobState.HELD}
    assert TRANSITIONS[JobState.DEAD, Event.CANCEL] == {JobState.CANCELLED}


def test_only_a_claim_or_a_renewal_starts_a_lease() -> None:
    starts = {
        event
        for (state, event), to in TRANSITIONS.items()
        if state is not JobState.LEASED and JobState.LEASED in to
    }
    assert starts == {Event.CLAIM, Event.RENEW}


def test_anything_unfinished_can_be_cancelled() -> None:
    for state in RESTING:
        assert TRANSITIONS[state, Event.CANCEL] == {JobState.CANCELLED}
    assert TRANSITIONS[JobState.LEASED, Event.CANCEL] == {JobState.LEASED}
