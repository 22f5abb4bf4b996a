"""Who runs a job, and what ends that: the words say what the law does."""

from datetime import datetime
from uuid import UUID

import pytest

from app import lease
from app.fleet import IfParentFails, JobId, JobRecord, JobState
from app.life import JobLife
from app.tenure import Tenure, tenure_of
from tests.core.lease_strategies import F1, NOW, after_s, changed, last_attempt, leased, swept
from tests.strategies import make_class


def record(life: JobLife) -> JobRecord:
    """The job of a life as people read it."""
    return JobRecord(
        id=JobId(UUID(int=1)),
        version=1,
        kind="x",
        state=life.state,
        job_class=make_class(),
        repo=None,
        payload={},
        labels={},
        depends_on=(),
        if_parent_fails=IfParentFails.CANCEL,
        run_after=None,
        timeout_s=life.timeout_s,
        attempts=life.attempts,
        attempts_max=life.attempts_max,
        dedupe_key=None,
        hold=None,
        factory_id=life.holder,
        fence=life.fence,
        fence_open=life.fence_open,
        claimed_at=life.claimed_at,
        lease_expires_at=life.lease_expires_at,
        cancel_requested=life.cancel_requested_at is not None,
        result=None,
        error=None,
        created_at=NOW,
        updated_at=NOW,
        finished_at=None,
    )


def held(life: JobLife, now: datetime = NOW) -> Tenure:
    found = tenure_of(record(life), now)
    assert found is not None
    return found


def cancelling(life: JobLife) -> JobLife:
    return changed(lease.cancel(life, now=NOW))


def test_who_has_it_since_when_and_until_when() -> None:
    silence = "it is ready for others then, and f1 may still report until another has it"
    time = "its time to run is over at 2026-03-01 16:00:00Z, renewed or not"
    assert held(leased(fence=2)) == Tenure(
        factory_id=F1,
        fence=3,
        since=NOW,
        expires_at=after_s(60),
        times_out_at=after_s(4 * 3600),
        attempt=1,
        attempts_max=3,
        cancel_requested=False,
        ends=(
            "f1 completes, fails or releases it",
            f"no sign of life comes by 2026-03-01 12:01:00Z: {silence}",
            f"{time}: it is tried again then",
        ),
    )


def test_who_is_late_is_said_to_be() -> None:
    assert held(leased(), after_s(61)).ends[1].startswith("no sign of life came by")


@pytest.mark.parametrize("life", [swept(leased(), 61), JobLife(state=JobState.LEASED)])
def test_a_job_that_does_not_run_is_nobodys(life: JobLife) -> None:
    assert tenure_of(record(life), NOW) is None


@pytest.mark.parametrize(
    ("life", "after_silence", "silence", "after_time", "time_is_up"),
    [
        (
            leased(),
            JobState.READY,
            "it is ready for others then",
            JobState.SCHEDULED,
            "tried again",
        ),
        (
            last_attempt(),
            JobState.LEASED,
            "it is kept for f1 for another 0:15:00, and dead then",
            JobState.DEAD,
            "it is dead then",
        ),
        (
            cancelling(leased()),
            JobState.CANCELLED,
            "it is cancelled then",
            JobState.CANCELLED,
            "it is cancelled then",
        ),
        (
            cancelling(last_attempt()),
            JobState.CANCELLED,
            "it is cancelled then",
            JobState.CANCELLED,
            "it is cancelled then",
        ),
    ],
)
def test_the_words_say_what_the_law_does(
    life: JobLife,
    after_silence: JobState,
    silence: str,
    after_time: JobState,
    time_is_up: str,
) -> None:
    assert swept(life, 60).state is after_silence
    assert silence in held(life).ends[1]
    assert swept(life, 4 * 3600).state is after_time
    assert time_is_up in held(life).ends[2]


def test_a_cancel_that_was_asked_for_is_told_at_the_next_heartbeat() -> None:
    assert held(cancelling(leased())).ends[0] == (
        "f1 is told at its next heartbeat that a cancel was asked for: every end but a success is "
        "a cancellation"
    )
