"""Builders of job lives at the points where the law has something to say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from app import lease
from app.fleet import FINISHED, FactoryId, JobState, Standing
from app.life import (
    BACKOFF_CAP_S,
    RESTING,
    RETRY_AFTER_S_MAX,
    TRANSITIONS,
    Change,
    Decision,
    Event,
    Hand,
    JobLife,
    Reason,
    Refused,
    next_due_at,
    rest_state,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
F1 = FactoryId("f1")
F2 = FactoryId("f2")
ON_HOLD = Standing(reason="not before the release", by="ops")

LEAVING = {
    (JobState.DEAD, Event.RETRY),
    (JobState.CANCELLED, Event.RETRY),
    (JobState.DEAD, Event.CANCEL),
}
"""How a finished state is left: begun again, or taken off the dead letter."""

waits_s = st.one_of(
    st.integers(0, 90), st.sampled_from([60, 600, 899, 900, 901, 3_600, 4 * 3_600, 5 * 86_400])
)
waits_asked_for_s = st.one_of(st.none(), st.integers(0, 90), st.integers(-(10**18), 10**18))
jitters = st.integers(0, 999)
factories = st.sampled_from([F1, F2])


def after_s(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def changed(decision: Decision) -> JobLife:
    """Return what a job became, for tests that care about the next step only."""
    assert isinstance(decision, Change), decision
    return decision.after


def why_not(decision: Decision) -> Reason:
    assert isinstance(decision, Refused), decision
    return decision.reason


# The fields of a life are of many types, and replace checks their names.
def make_life(state: JobState = JobState.READY, **fields: Any) -> JobLife:  # noqa: ANN401
    return replace(JobLife(state=state), **fields)


def leased(**fields: Any) -> JobLife:  # noqa: ANN401
    """Return a job that F1 claimed at ``NOW`` for a minute."""
    life = make_life(**fields)
    return changed(lease.claim(life, factory=F1, lease_s=60, now=NOW))


def swept(life: JobLife, at_s: float) -> JobLife:
    return changed(lease.sweep(life, jitter_permille=0, now=after_s(at_s)))


def lapsed(**fields: Any) -> JobLife:  # noqa: ANN401
    """Return that job a second after its lease ran out, as the sweep left it."""
    return swept(leased(**fields), 61)


def last_attempt(**fields: Any) -> JobLife:  # noqa: ANN401
    return leased(attempts=2, attempts_max=3, **fields)


def hand_of(life: JobLife) -> Hand:
    """Return the hand that holds the newest lease of a job."""
    assert life.holder is not None
    return Hand(factory=life.holder, fence=life.fence)


def assert_lawful(change: Change, now: datetime) -> None:
    """Check what holds for every step of every life, whatever led to it."""
    before, after = change.before, change.after
    assert after.state in TRANSITIONS[before.state, change.event]
    assert after.fence == before.fence + (change.event is Event.CLAIM)
    assert before.state not in FINISHED or (before.state, change.event) in LEAVING
    assert 0 <= after.attempts <= after.attempts_max
    assert_consistent(after)
    if after.state in RESTING:
        assert after.attempts < after.attempts_max
        assert change.event is Event.TIME_OUT or after.state is rest_state(
            on_hold=after.hold is not None,
            unfinished_parents=after.unfinished_parents,
            run_after=after.run_after,
            now=now,
        )
    if before.cancel_requested_at is not None and before.state is JobState.LEASED:
        exit_to = JobState.SUCCEEDED if change.event is Event.COMPLETE else JobState.CANCELLED
        assert after.state in {JobState.LEASED, exit_to}
    if change.event in {Event.FAIL, Event.TIME_OUT} and after.state is JobState.SCHEDULED:
        cap_s = RETRY_AFTER_S_MAX if change.event is Event.FAIL else BACKOFF_CAP_S
        assert after.run_after is not None
        assert now < after.run_after <= now + timedelta(seconds=cap_s)


def assert_consistent(life: JobLife) -> None:
    """Check that the facts of a life agree with each other."""
    assert not life.seated or life.state is JobState.LEASED
    assert not life.fence_open or life.state in RESTING - {JobState.SCHEDULED} | {JobState.LEASED}
    assert life.cancel_requested_at is None or life.state not in RESTING
    assert life.cancel_deadline_at is None or life.cancel_requested_at is not None
    assert life.hold is None or life.state in {JobState.HELD, JobState.LEASED}
    if life.state is JobState.LEASED:
        assert life.fence_open
    elif life.state is JobState.HELD:
        assert life.hold is not None
    elif life.state in FINISHED:
        assert next_due_at(life) is None
    if life.state in {JobState.LEASED, JobState.SCHEDULED}:
        assert next_due_at(life) is not None
