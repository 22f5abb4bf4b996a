"""Batches: ten times as large, they cost about ten times as much, and not a hundred times.

Plans are made before it is known how much they will be given, for a few rows; a join of two steps
compares each row of one with each of the other. Counted are the rows that the steps handle.
"""

from collections.abc import Iterable, Sequence

import pytest

from app.runtime.ids import new_id
from app.store.pulses import TOUCHED_AT_ONCE
from app.store.session import Connection, Database, Limits
from app.store.sql import sql
from tests.strategies import job_id, make_class, make_job
from tests.support.factories import register
from tests.support.plans import work_of
from tests.support.world import put_jobs

SMALL, LARGE = 20, 200
GROWTH_MAX = 2 * LARGE / SMALL
CREW = 10
OTHERS = 5_000


def array(of: str, values: Iterable[object]) -> str:
    """Write an array as SQL does."""
    listed = ", ".join("null" if each is None else f"'{each}'" for each in values)
    return f"array[{listed}]::{of}[]"


def holders(jobs: Sequence[str]) -> list[str]:
    return [f"f{number * CREW // len(jobs)}" for number in range(len(jobs))]


def claims(jobs: Sequence[str]) -> Sequence[str]:
    count = len(jobs)
    return (
        array("int", range(count)),
        array("text", holders(jobs)),
        array("bigint", [1] * count),
        array("uuid", jobs),
        array("bigint", [1] * count),
        array("text", [f"lock-{job}" for job in jobs]),
        array("text", [None] * count),
        array("int", [60] * count),
        array("uuid", (new_id() for _ in jobs)),
        array("int", [1] * count),
        array("jsonb", ["{}"] * count),
    )


def reports(jobs: Sequence[str]) -> Sequence[str]:
    fences, results = array("bigint", [1] * len(jobs)), array("text", ["{}"] * len(jobs))
    of = (array("uuid", jobs), fences, array("text", holders(jobs)), results)
    return (*of, "'wake'", "'lock:'", "'seat:'", "false")


def renewals(jobs: Sequence[str]) -> Sequence[str]:
    fences, lengths = array("bigint", [1] * len(jobs)), array("int", [90] * len(jobs))
    return (array("uuid", jobs), fences, array("text", holders(jobs)), lengths)


def touches(names: Sequence[str]) -> Sequence[str]:
    silent = [None] * len(names)
    seen = array("boolean", [True] * len(names))
    of = (array("text", silent), array("int", silent), array("text", silent))
    return (array("text", names), seen, *of, "0")


async def stored(conn: Connection, count: int) -> list[str]:
    """Have so many ready jobs, with a lock each, in a table that is not small."""
    jobs = [
        make_job(number, job_class=make_class(lock=f"lock-{job_id(number)}"))
        for number in range(1, count + 1)
    ]
    await put_jobs(conn, jobs)
    await conn.execute(
        "insert into job (id, class_id, kin, state, kind, attempts_max, timeout_s, if_parent_fails)"
        " select gen_random_uuid(), class_id, kin, 'succeeded', 'test', 3, 60, 'cancel'"
        " from (select class_id, kin from job limit 1) one, generate_series(1, $1)",
        OTHERS,
    )
    await conn.execute("analyze job")
    return [str(job.id) for job in jobs]


@pytest.mark.parametrize("then", ["claim_commit", "finish_complete", "lease_renew"])
async def test_the_work_on_leases_grows_with_their_number(database_url: str, then: str) -> None:
    works = []
    db = await Database.open(database_url, Limits(steady_plans=True))
    for count in (SMALL, LARGE):
        async with db.connection() as conn:
            transaction = conn.transaction()
            await transaction.start()
            for number in range(CREW):
                await register(conn, f"f{number}", seat_limit=count)
            jobs = await stored(conn, count)
            work = await work_of(conn, sql("claim_commit"), *claims(jobs))
            assert await conn.fetchval("select count(*) from job where state = 'leased'") == count
            if then == "finish_complete":
                work = await work_of(conn, sql(then), *reports(jobs))
                assert await conn.fetchval("select count(*) from job_lock where holder_job is null")
            elif then == "lease_renew":
                work = await work_of(conn, sql(then), *renewals(jobs))
                assert await conn.fetchval("select count(*) from job where lease_s = 90") == count
            works.append(work)
            await transaction.rollback()
    await db.close()
    small, large = works
    assert large <= GROWTH_MAX * small


async def test_signs_of_life_of_a_large_fleet_are_written_a_few_at_a_time(db: Database) -> None:
    """What grows with the square of a batch has a bound on it."""
    async with db.transaction() as conn:
        names = [await register(conn, f"f{number}") for number in range(TOUCHED_AT_ONCE)]
        work = await work_of(conn, sql("factory_touch"), *touches(names))
    assert work < 600 * TOUCHED_AT_ONCE
