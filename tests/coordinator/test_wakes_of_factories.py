"""Whatever makes a factory able wakes it: a seat, a change of what it is, a time that comes."""

from datetime import datetime, timedelta

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.enlist import dismiss
from app.coordinator.expire import sweep
from app.coordinator.finish import Failure, Release, fail, release
from app.coordinator.heartbeat import Beat, heartbeat
from app.coordinator.hold import hold
from app.coordinator.standing import drain, pause, resume
from app.fleet import FactorySpec, Health, JobClass
from app.store.session import Database
from tests.support.factories import OPS
from tests.support.jobs import put
from tests.support.leases import age, claim_one
from tests.support.scenes import (
    AHEAD,
    F1,
    F2,
    GPU,
    Cause,
    Scene,
    declare,
    enroll,
    play,
    soon,
    succeed,
)

CAUSES: list[Cause] = []


def cause(act: Cause) -> Cause:
    """Note a cause."""
    CAUSES.append(act)
    return act


# A seat is freed, or added.


@cause
async def a_completion_frees_the_seat(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db)
    ref = await claim_one(db, F1)
    job = await put(db)
    yield None
    await succeed(db, F1, ref)
    yield job.id


@cause
async def a_failure_frees_the_seat(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db)
    ref = await claim_one(db, F1)
    job = await put(db)
    yield None
    await fail(db, F1, ref, Failure(error="no", retryable=False))
    yield job.id


@cause
async def a_release_frees_the_seat(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db)
    ref = await claim_one(db, F1)
    job = await put(db)
    yield None
    await release(db, F1, ref, Release(reason="no disk", retry_after_s=3600))
    yield job.id


@cause
async def an_expiry_frees_the_seat(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db, attempts_max=1)
    ref = await claim_one(db, F1)
    job = await put(db)
    yield None
    # A last attempt that has lapsed is not handed out again: only its seat is free.
    await age(db, ref.job_id, 61)
    await sweep(db)
    yield job.id


@cause
async def the_time_of_an_attempt_is_over(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db, timeout_s=30, attempts_max=1)
    ref = await claim_one(db, F1)
    job = await put(db)
    yield None
    await age(db, ref.job_id, 31)
    await sweep(db)
    yield job.id


@cause
async def a_cancelled_lease_is_revoked(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db)
    ref = await claim_one(db, F1)
    job = await put(db)
    await cancel(db, ref.job_id, reason=None, by=OPS)
    yield None
    await age(db, ref.job_id, 121)
    await sweep(db)
    yield job.id


@cause
async def the_factory_has_another_seat(db: Database) -> Scene:
    await enroll(db, "f1")
    await put(db)
    await claim_one(db, F1)
    job = await put(db)
    yield None
    await declare(db, FactorySpec(id=F1, seat_limit=2))
    yield job.id


# The factory changes.


@cause
async def the_factory_is_registered_anew(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db, job_class=GPU)
    yield None
    await dismiss(db, F1, by=OPS)
    await declare(db, FactorySpec(id=F1, capabilities=frozenset({"gpu"})))
    yield job.id


@cause
async def the_factory_offers_more(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db, job_class=GPU)
    yield None
    await declare(db, FactorySpec(id=F1, capabilities=frozenset({"gpu"})))
    yield job.id


@cause
async def the_factory_has_another_engine(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db, job_class=JobClass(required=frozenset({"engine:codex"})))
    yield None
    await declare(db, FactorySpec(id=F1, engines=frozenset({"codex"})))
    yield job.id


@cause
async def the_factory_is_up_again(db: Database) -> Scene:
    await enroll(db, "f1")
    await heartbeat(db, F1, Beat(health=Health.DOWN))
    job = await put(db)
    yield None
    await heartbeat(db, F1, Beat(health=Health.OK))
    yield job.id


@cause
async def the_drain_is_lifted(db: Database) -> Scene:
    await enroll(db, "f1")
    await drain(db, F1, reason="disk", until=None, by=OPS)
    job = await put(db)
    yield None
    await resume(db, F1, by=OPS)
    yield job.id


@cause
async def the_pause_is_lifted(db: Database) -> Scene:
    await enroll(db, "f1")
    await pause(db, F1, reason="disk", until=None, by=OPS)
    job = await put(db)
    yield None
    await resume(db, F1, by=OPS)
    yield job.id


@cause
async def the_pause_comes_to_its_end(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await pause(db, F1, reason="disk", until=await soon(db), by=OPS)
    yield None
    yield job.id


@cause
async def the_drain_comes_to_its_end(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await drain(db, F1, reason="disk", until=await soon(db), by=OPS)
    yield None
    yield job.id


@cause
async def the_account_has_cooled_down(db: Database) -> Scene:
    await enroll(db, "f1", "f2", account="max")
    await heartbeat(db, F2, Beat(cooldown_until=await soon(db)))
    job = await put(db)
    yield None
    yield job.id


@cause
async def the_cool_down_of_the_account_is_lifted(db: Database) -> Scene:
    await enroll(db, "f1", "f2", account="max")
    await heartbeat(db, F2, Beat(cooldown_until=AHEAD))
    job = await put(db)
    yield None
    await resume(db, F2, by=OPS)
    yield job.id


@cause
async def the_factory_changes_its_account(db: Database) -> Scene:
    await enroll(db, "f1", account="max")
    await heartbeat(db, F1, Beat(cooldown_until=AHEAD))
    job = await put(db)
    yield None
    await declare(db, FactorySpec(id=F1, account="team"))
    yield job.id


async def quarantined(db: Database, until: datetime) -> None:
    async with db.connection() as conn:
        await conn.execute("update factory set quarantined_until = $1", until)


@cause
async def the_quarantine_comes_to_its_end(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await quarantined(db, await soon(db))
    yield None
    yield job.id


@cause
async def the_quarantine_is_lifted(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await quarantined(db, await soon(db) + timedelta(hours=1))
    yield None
    await resume(db, F1, by=OPS)
    yield job.id


# Nobody was told.


@cause
async def the_listening_connection_is_replaced(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await hold(db, job.id, reason="wait", until=None, by=OPS)
    yield None
    async with db.connection() as conn:
        await conn.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'fleet listener' and datname = current_database()"
        )
        # Without a word to anybody, as if it had been said in the gap.
        await conn.execute("update job set state = 'ready', hold_reason = null")
    yield job.id


@pytest.mark.parametrize("act", CAUSES, ids=lambda each: each.__name__)
async def test_it_wakes_who_waits(
    db: Database, monkeypatch: pytest.MonkeyPatch, act: Cause
) -> None:
    await play(db, act, monkeypatch)
