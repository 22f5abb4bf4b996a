"""Who has a running job, since when, and what ends that: the law of leases in sentences.

What is said here is what :mod:`app.life` does; the words are for people who ask why a job that
runs does not end, or what would become of it if its factory fell silent.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from app.fleet import FactoryId, JobRecord, JobState
from app.life import grace_s
from app.sentences import moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """The lease of a running job: whose it is, its attempt, and the times at which it may end."""

    factory_id: FactoryId
    fence: int
    since: datetime
    expires_at: datetime
    times_out_at: datetime
    attempt: int
    attempts_max: int
    cancel_requested: bool
    ends: tuple[str, ...]


def tenure_of(job: JobRecord, now: datetime) -> Tenure | None:
    """Say who has a job; nobody, unless it runs."""
    holder, since, expires_at = job.factory_id, job.claimed_at, job.lease_expires_at
    if job.state is not JobState.LEASED or holder is None or since is None or expires_at is None:
        return None
    times_out_at = since + timedelta(seconds=job.timeout_s)
    return Tenure(
        factory_id=holder,
        fence=job.fence,
        since=since,
        expires_at=expires_at,
        times_out_at=times_out_at,
        attempt=job.attempts,
        attempts_max=job.attempts_max,
        cancel_requested=job.cancel_requested,
        ends=(
            _settled(job, holder),
            _silence(job, holder, expires_at, now),
            _time_is_up(job, times_out_at),
        ),
    )


def _settled(job: JobRecord, holder: FactoryId) -> str:
    if job.cancel_requested:
        return (
            f"{holder} is told at its next heartbeat that a cancel was asked for: "
            "every end but a success is a cancellation"
        )
    return f"{holder} completes, fails or releases it"


def _silence(job: JobRecord, holder: FactoryId, expires_at: datetime, now: datetime) -> str:
    late = expires_at <= now
    said = (
        f"no sign of life came by {moment(expires_at)}"
        if late
        else f"no sign of life comes by {moment(expires_at)}"
    )
    if job.cancel_requested:
        return f"{said}: it is cancelled then"
    if job.attempts >= job.attempts_max:
        kept = timedelta(seconds=grace_s(job.timeout_s))
        return (
            f"{said}: this is its last attempt, so it is kept for {holder} for another {kept}, "
            "and dead then"
        )
    return (
        f"{said}: it is ready for others then, and {holder} may still report until another has it"
    )


def _time_is_up(job: JobRecord, times_out_at: datetime) -> str:
    then = "dead" if job.attempts >= job.attempts_max else "tried again"
    if job.cancel_requested:
        then = "cancelled"
    return f"its time to run is over at {moment(times_out_at)}, renewed or not: it is {then} then"
