"""Bulk submission: jobs that have nothing to do with each other, stored while they are read."""

import asyncio
from datetime import UTC, datetime

import asyncpg
import pytest

from app.coordinator.reads import job_events
from app.coordinator.submit import Shown, Submitted, View, as_inserted
from app.coordinator.submit_apart import Apart, submit_apart
from app.fleet import JobSpec, JobState
from app.store import classes, jobs
from app.store.newcomers import STEP
from app.store.retrying import settled
from app.store.session import Database
from tests.strategies import make_class
from tests.support.jobs import CLIENT, count_jobs, make_spec, put

LATER = datetime(2030, 1, 1, tzinfo=UTC)
COUNT = 5 * STEP + 7
AS_RECORDS = View(
    new=lambda job, now, warnings: Submitted(
        job=as_inserted(job, now), created=True, warnings=warnings
    ),
    stored=lambda job: Submitted(job=job, created=False),
)


def apart(specs: list[JobSpec]) -> Apart:
    return Apart(job_classes=[spec.job_class for spec in specs], spec=specs.__getitem__)


async def take_in(db: Database, specs: list[JobSpec]) -> Shown[Submitted]:
    return await settled(
        db, lambda conn: submit_apart(conn, apart(specs), by=CLIENT, view=AS_RECORDS)
    )


def some_specs(count: int) -> list[JobSpec]:
    some = [make_class(lock=f"l{number}") for number in range(3)]
    return [
        make_spec(
            payload={"number": number},
            job_class=some[number % 3],
            run_after=LATER if number % 5 == 0 else None,
        )
        for number in range(count)
    ]


async def test_what_is_answered_is_what_is_stored_in_its_order(db: Database) -> None:
    taken = await take_in(db, some_specs(COUNT))
    assert (taken.any_new, taken.all_new) == (True, True)
    answered = [each.job for each in taken.answers]
    assert [job.payload["number"] for job in answered] == list(range(COUNT))
    assert all("No factory is registered" in each.warnings[0] for each in taken.answers)
    async with db.connection() as conn:
        assert await jobs.by_ids(conn, [job.id for job in answered]) == {
            job.id: job for job in answered
        }
    states = [job.state for job in answered]
    assert states == [
        JobState.SCHEDULED if number % 5 == 0 else JobState.READY for number in range(COUNT)
    ]
    (first,) = (await job_events(db, answered[-1].id, None, 10)).items
    assert (first.event, first.by) == ("submit", CLIENT.name)


async def test_one_that_cannot_be_stored_keeps_all_out(db: Database) -> None:
    odd = make_spec(kind="a\0b")
    for place in (0, STEP + 1, 3 * STEP, COUNT - 1):
        specs = some_specs(COUNT)
        specs[place] = odd
        with pytest.raises(asyncpg.DataError):
            await take_in(db, specs)
    assert await count_jobs(db) == 0
    # The connection is fit for what comes next.
    assert (await put(db)).version == 1


async def test_one_that_cannot_be_read_keeps_all_out(db: Database) -> None:
    specs = some_specs(COUNT)

    def spec(number: int) -> JobSpec:
        if number == COUNT - 1:
            message = "odd"
            raise ValueError(message)
        return specs[number]

    job_classes = [each.job_class for each in specs]
    with pytest.raises(ValueError, match="odd"):
        async with db.transaction() as conn:
            await submit_apart(
                conn, Apart(job_classes=job_classes, spec=spec), by=CLIENT, view=AS_RECORDS
            )
    assert await count_jobs(db) == 0
    assert (await put(db)).version == 1


async def test_who_hangs_up_in_the_middle_has_submitted_nothing(db: Database) -> None:
    specs = some_specs(COUNT)

    def spec(number: int) -> JobSpec:
        if number == STEP:
            submitting.cancel()
        return specs[number]

    async def whole() -> None:
        job_classes = [each.job_class for each in specs]
        async with db.transaction() as conn:
            await submit_apart(
                conn, Apart(job_classes=job_classes, spec=spec), by=CLIENT, view=AS_RECORDS
            )

    submitting = asyncio.create_task(whole())
    with pytest.raises(asyncio.CancelledError):
        await submitting
    assert await count_jobs(db) == 0
    assert (await put(db)).version == 1


async def test_a_class_that_is_pruned_in_between_is_made_again(db: Database) -> None:
    specs = some_specs(COUNT)
    turns = []

    def spec(number: int) -> JobSpec:
        turns.append(number)
        return specs[number]

    async with db.connection() as other:
        await classes.intern(other, {each.job_class for each in specs})

        def pruned_first(number: int) -> JobSpec:
            if not turns:
                pruned.append(asyncio.ensure_future(other.execute("delete from job_class")))
            return spec(number)

        pruned: list[asyncio.Future[str]] = []
        job_classes = [each.job_class for each in specs]
        jobs_apart = Apart(job_classes=job_classes, spec=pruned_first)
        taken = await settled(
            db, lambda conn: submit_apart(conn, jobs_apart, by=CLIENT, view=AS_RECORDS)
        )
        await asyncio.gather(*pruned, return_exceptions=True)
    assert len(taken.answers) == COUNT == await count_jobs(db)
