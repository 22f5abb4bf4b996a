"""A job that changes its class changes its kin with it: claims would not meet it elsewhere."""

from dataclasses import replace

import pytest

from app.coordinator import dead_ends
from app.coordinator.edit import JobPatch, edit
from app.coordinator.finish import Failure, fail
from app.fleet import FactoryId, JobClass, JobId, Priority
from app.store import classes
from app.store.session import Database
from tests.support.factories import OPS, register
from tests.support.jobs import get, put
from tests.support.leases import claim_one, row_of

F1, F2 = FactoryId("f1"), FactoryId("f2")
LOCKED = JobClass(lock="main")


async def kin_and_class(db: Database, job_id: JobId) -> tuple[bytes, JobClass]:
    return ((await row_of(db, job_id))["kin"], (await get(db, job_id)).job_class)


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (JobClass(), JobPatch(lock="main"), LOCKED),
        (LOCKED, JobPatch(lock=None), JobClass()),
        (LOCKED, JobPatch(lock="other"), JobClass(lock="other")),
        (LOCKED, JobPatch(priority=Priority.LOW), replace(LOCKED, priority=Priority.LOW)),
    ],
)
async def test_an_edit_moves_a_job_to_the_kin_of_its_new_class(
    db: Database, before: JobClass, patch: JobPatch, after: JobClass
) -> None:
    job = await put(db, job_class=before)
    await edit(db, job.id, patch, if_match=job.version, by=OPS)
    assert await kin_and_class(db, job.id) == (classes.kin(after) or b"", after)


async def test_exclusions_that_come_and_go_move_a_job_to_the_kin_of_its_class(
    db: Database,
) -> None:
    async with db.connection() as conn:
        await register(conn, F1)
        await register(conn, F2)
    job_id = (await put(db, job_class=LOCKED)).id
    await fail(db, F1, await claim_one(db, F1), Failure(error="x", retry_after_s=0))
    without = replace(LOCKED, excluded=frozenset({F1}))
    assert classes.kin(without) != classes.kin(LOCKED)
    assert await kin_and_class(db, job_id) == (classes.kin(without), without)
    async with db.connection() as conn:
        await conn.execute("delete from factory where id = $1", F2)
    assert await dead_ends.clear(db) == 1
    assert await kin_and_class(db, job_id) == (classes.kin(LOCKED), LOCKED)
