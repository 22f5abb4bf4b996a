"""Whatever makes a job possible for somebody wakes who waits: it becomes ready, or changes."""

import pytest

from app.coordinator.cancel import cancel
from app.coordinator.edit import JobPatch, edit
from app.coordinator.enlist import dismiss
from app.coordinator.expire import sweep
from app.coordinator.finish import Failure, Release, fail, release
from app.coordinator.hold import hold, unhold
from app.coordinator.retry import retry
from app.fleet import IfParentFails, JobId, JobRecord, JobState
from app.store.session import Database
from tests.support.factories import OPS
from tests.support.jobs import get, make_spec, put, put_all
from tests.support.leases import age, claim_one
from tests.support.scenes import (
    AHEAD,
    F1,
    F2,
    FAR_S,
    GPU,
    MERGE,
    Cause,
    Scene,
    enroll,
    held_by,
    play,
    succeed,
)

CAUSES: list[Cause] = []


def cause(act: Cause) -> Cause:
    """Note a cause."""
    CAUSES.append(act)
    return act


# A job becomes ready.


@cause
async def a_job_is_submitted(db: Database) -> Scene:
    await enroll(db, "f1")
    yield None
    yield (await put(db)).id


@cause
async def a_batch_is_submitted(db: Database) -> Scene:
    await enroll(db, "f1")
    yield None
    yield (await put_all(db, make_spec(), make_spec(job_class=GPU)))[0].id


@cause
async def the_last_parent_succeeds(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    parent = await put(db)
    ref = await claim_one(db, F2)
    child = await put(db, depends_on=(parent.id,))
    yield None
    await succeed(db, F2, ref)
    yield child.id


@cause
async def a_parent_dies_of_a_job_that_runs_nevertheless(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    parent = await put(db)
    ref = await claim_one(db, F2)
    child = await put(db, depends_on=(parent.id,), if_parent_fails=IfParentFails.RUN)
    yield None
    await fail(db, F2, ref, Failure(error="no", retryable=False))
    yield child.id


@cause
async def a_parent_is_cancelled_of_a_job_that_runs_nevertheless(db: Database) -> Scene:
    await enroll(db, "f1")
    parent = await put(db, job_class=GPU)
    child = await put(db, depends_on=(parent.id,), if_parent_fails=IfParentFails.RUN)
    yield None
    await cancel(db, parent.id, reason=None, by=OPS)
    yield child.id


@cause
async def the_time_of_a_job_comes(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db, run_after=AHEAD)
    yield None
    await age(db, job.id, FAR_S)
    await sweep(db)
    yield job.id


@cause
async def the_wait_after_a_failure_is_over(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    job = await put(db)
    ref = await claim_one(db, F2)
    await fail(db, F2, ref, Failure(error="no", retry_after_s=3600))
    yield None
    await age(db, job.id, FAR_S)
    await sweep(db)
    yield job.id


@cause
async def a_job_is_given_back(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    job = await put(db)
    ref = await claim_one(db, F2)
    yield None
    await release(db, F2, ref, Release(reason="shutting down"))
    yield job.id


@cause
async def a_lease_runs_out(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    job = await put(db)
    await claim_one(db, F2)
    yield None
    await age(db, job.id, 61)
    await sweep(db)
    yield job.id


@cause
async def a_hold_is_lifted(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await hold(db, job.id, reason="wait", until=None, by=OPS)
    yield None
    await unhold(db, job.id, by=OPS)
    yield job.id


@cause
async def a_hold_comes_to_its_end(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await hold(db, job.id, reason="wait", until=AHEAD, by=OPS)
    yield None
    await age(db, job.id, FAR_S)
    await sweep(db)
    yield job.id


@cause
async def a_cancelled_job_is_retried(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db)
    await cancel(db, job.id, reason=None, by=OPS)
    yield None
    await retry(db, job.id, by=OPS)
    yield job.id


# A job changes.


async def edited(db: Database, job: JobRecord, patch: JobPatch) -> JobId:
    before = await get(db, job.id)
    await edit(db, job.id, patch, if_match=before.version, by=OPS)
    return job.id


@cause
async def a_job_requires_less(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db, job_class=GPU)
    yield None
    yield await edited(db, job, JobPatch(required=frozenset()))


@cause
async def a_job_needs_the_lock_no_more(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    await held_by(db, F2)
    job = await put(db, job_class=MERGE)
    yield None
    yield await edited(db, job, JobPatch(lock=None))


@cause
async def a_job_waits_for_nobody_any_more(db: Database) -> Scene:
    await enroll(db, "f1")
    parent = await put(db, job_class=GPU)
    job = await put(db, depends_on=(parent.id,))
    yield None
    yield await edited(db, job, JobPatch(depends_on=()))


@cause
async def a_job_may_begin_at_once(db: Database) -> Scene:
    await enroll(db, "f1")
    job = await put(db, run_after=AHEAD)
    yield None
    yield await edited(db, job, JobPatch(run_after=None))


@cause
async def a_job_runs_though_its_parent_failed(db: Database) -> Scene:
    await enroll(db, "f1")
    parent = await put(db, job_class=GPU)
    job = await put(db, depends_on=(parent.id,), if_parent_fails=IfParentFails.RUN)
    await hold(db, job.id, reason="wait", until=None, by=OPS)
    await cancel(db, parent.id, reason=None, by=OPS)
    yield None
    await unhold(db, job.id, by=OPS)
    yield job.id


@cause
async def a_job_may_go_back_to_the_only_factory_that_is_left(db: Database) -> Scene:
    await enroll(db, "f1", "f2")
    job = await put(db)
    ref = await claim_one(db, F1)
    await fail(db, F1, ref, Failure(error="no", retry_after_s=0))
    await age(db, job.id, 1)
    await sweep(db)
    assert (await get(db, job.id)).state is JobState.READY
    assert (await get(db, job.id)).job_class.excluded == {F1}
    yield None
    await dismiss(db, F2, by=OPS)
    await sweep(db)
    yield job.id


# A lock is freed.


@cause
async def a_completion_frees_the_lock(db: Database) -> Scene:
    await enroll(db, "f1", "f2", seats=5)
    ref = await held_by(db, F2)
    job = await put(db, job_class=MERGE)
    yield None
    await succeed(db, F2, ref)
    yield job.id


@cause
async def a_failure_frees_the_lock(db: Database) -> Scene:
    await enroll(db, "f1", "f2", seats=5)
    ref = await held_by(db, F2)
    job = await put(db, job_class=MERGE)
    yield None
    await fail(db, F2, ref, Failure(error="no", retryable=False))
    yield job.id


@cause
async def a_release_frees_the_lock(db: Database) -> Scene:
    await enroll(db, "f1", "f2", seats=5)
    ref = await held_by(db, F2)
    job = await put(db, job_class=MERGE)
    yield None
    await release(db, F2, ref, Release(reason="no disk", retry_after_s=3600))
    yield job.id


@cause
async def an_expiry_lets_the_lock_be_taken(db: Database) -> Scene:
    await enroll(db, "f1", "f2", seats=5)
    ref = await held_by(db, F2)
    job = await put(db, job_class=MERGE)
    await hold(db, job.id, reason="second", until=None, by=OPS)
    await unhold(db, job.id, by=OPS)
    yield None
    await age(db, ref.job_id, 61)
    await sweep(db)
    # The older one, whose lease has run out, is ready as well, and goes first.
    yield ref.job_id


@cause
async def the_holder_of_the_lock_dies(db: Database) -> Scene:
    await enroll(db, "f1", "f2", seats=5)
    ref = await held_by(db, F2, attempts_max=1)
    job = await put(db, job_class=MERGE)
    await age(db, ref.job_id, 61)
    await sweep(db)
    assert (await get(db, ref.job_id)).state is JobState.LEASED
    yield None
    await age(db, ref.job_id, 3600)
    await sweep(db)
    yield job.id


@cause
async def the_holder_of_the_lock_is_revoked(db: Database) -> Scene:
    await enroll(db, "f1", "f2", seats=5)
    ref = await held_by(db, F2)
    job = await put(db, job_class=MERGE)
    await cancel(db, ref.job_id, reason=None, by=OPS)
    yield None
    await age(db, ref.job_id, 121)
    await sweep(db)
    yield job.id


@pytest.mark.parametrize("act", CAUSES, ids=lambda each: each.__name__)
async def test_it_wakes_who_waits(
    db: Database, monkeypatch: pytest.MonkeyPatch, act: Cause
) -> None:
    await play(db, act, monkeypatch)
