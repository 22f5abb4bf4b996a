"""The oldest jobs of a kin are the same, whether they are found on the walk or class by class."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fleet import Job, JobClass, JobId, LockHolder
from app.heads import Group
from app.shapes import shape_of
from app.store import classes, heads
from app.store.session import Connection, Database, Limits
from app.store.sql import sql
from tests.strategies import MANY_LOCKS, NOW, job_id, kin_queues, make_class, make_job, ready_jobs
from tests.support.clean import Clean, clean
from tests.support.plans import work_of
from tests.support.postgres import Databases
from tests.support.world import put_jobs, put_locks

QUEUES = st.lists(
    ready_jobs(st.sampled_from([make_class(lock=name) for name in MANY_LOCKS])),
    min_size=8,
    max_size=25,
    unique_by=lambda job: job.id,
)
"""Queues of one kin, long enough for a walk to end before they do."""

HELD = st.one_of(
    st.dictionaries(st.sampled_from(MANY_LOCKS), st.booleans()),
    st.sampled_from(MANY_LOCKS).map(lambda free: dict.fromkeys({*MANY_LOCKS} - {free}, False)),
)
"""Locks that somebody holds, and whether he has lapsed; often they are all but one."""


FEW, MANY = 20, 200
"""Locks of a kin; both are more than the four jobs of the shortest walk."""


class Asked(NamedTuple):
    """How much of a group is asked for, and how far the walk goes beside that."""

    depth: int = 1
    of_each: int = 1
    walked: int = 0


class Store:
    """What is read of a queue, which is gone again afterwards."""

    def __init__(self, clean: Clean) -> None:
        self.clean = clean

    def read(
        self, queue: list[Job], held: dict[str, bool], group: Group, asked: Asked
    ) -> list[tuple[JobId, str | None]]:
        async def ask(conn: Connection) -> list[tuple[JobId, str | None]]:
            await put_jobs(conn, queue)
            await conn.executemany(
                "insert into job_lock (name, holder_job, holder_fence, lapsed)"
                " values ($1, $2, 1, $3) on conflict (name) do update"
                " set holder_job = $2, holder_fence = 1, lapsed = $3",
                [(name, job_id(99), lapsed) for name, lapsed in held.items()],
            )
            found = await heads.heads(
                conn, {group: asked.depth}, asked.of_each, {group.of: JobClass()}, asked.walked
            )
            return [(job.id, job.job_class.lock) for each in found.values() for job in each.jobs]

        return self.clean.ask(ask)


@pytest.fixture(scope="module")
def store(databases: Databases) -> Iterator[Store]:
    with clean(databases) as empty:
        yield Store(empty)


def by_definition(
    queue: list[Job], held: dict[str, bool], shape: JobClass, repo: str | None, of_each: int
) -> list[tuple[JobId, str | None]]:
    seen: Counter[JobClass] = Counter()
    found: list[tuple[JobId, str | None]] = []
    for job in sorted(queue, key=lambda each: (each.created_at, each.id)):
        lock = job.job_class.lock
        if lock is None or shape_of(job.job_class) != shape or repo not in (None, job.repo):
            continue
        seen[job.job_class] += 1
        if seen[job.job_class] <= of_each and held.get(lock, True):
            found.append((job.id, lock))
    return found


@given(
    queue=st.one_of(kin_queues, QUEUES),
    held=HELD,
    asked=st.builds(
        Asked, st.sampled_from([1, 1, 2, 6]), st.integers(1, 3), st.sampled_from([0, 0, 0, 60])
    ),
    data=st.data(),
)
def test_the_walk_finds_what_the_definition_says(
    store: Store,
    queue: list[Job],
    held: dict[str, bool],
    asked: Asked,
    data: st.DataObject,
) -> None:
    locked = [job for job in queue if job.job_class.lock is not None]
    if not locked:
        return
    some = data.draw(st.sampled_from(locked))
    repo = data.draw(st.sampled_from([None, some.repo]))
    kin = classes.kin(some.job_class)
    assert kin is not None
    found = store.read(queue, held, Group(kin, repo), asked)
    expected = by_definition(queue, held, shape_of(some.job_class), repo, asked.of_each)
    assert found == expected[: asked.depth]


@pytest.mark.parametrize("repo", [None, "shop"])
@pytest.mark.parametrize("hidden", [3, 4, 5, 40])
def test_what_lies_behind_a_held_lock_is_found(store: Store, repo: str | None, hidden: int) -> None:
    """However many wait for one lock: a walk of four ends before the fifth."""
    busy, free = make_class(lock="busy"), make_class(lock="free")
    queue = [make_job(number, job_class=busy, repo="shop") for number in range(1, hidden + 1)]
    behind = make_job(hidden + 1, job_class=free, repo="shop")
    kin = classes.kin(busy)
    assert kin is not None
    found = store.read([*queue, behind], {"busy": False}, Group(kin, repo), Asked())
    assert found == [(behind.id, "free")]


async def test_no_job_can_be_of_another_kin_than_its_class(db: Database) -> None:
    async with db.connection() as conn:
        await put_jobs(conn, [make_job(1, job_class=make_class(lock="x"), created_at=NOW)])
        for kin in (b"", b"other"):
            with pytest.raises(asyncpg.ForeignKeyViolationError):
                await conn.execute("update job set kin = $1", kin)


async def work_of_finding_one(
    database_url: str, locks: int, repo: str | None, *, held: int = 0
) -> int:
    """Count the rows that are handled to find a job, one waiting for each lock, the first held."""
    job_classes = [make_class(lock=f"lock-{number}") for number in range(locks)]
    kin = classes.kin(job_classes[0])
    assert kin is not None
    queue = [make_job(n, job_class=each, repo="shop") for n, each in enumerate(job_classes, 1)]
    of = f"array['\\x{kin.hex()}'::bytea]"
    statement, keys = (
        ("claim_heads_kin", (of,))
        if repo is None
        else ("claim_heads_kin_repo", (of, f"array['{repo}']"))
    )
    db = await Database.open(database_url, Limits(steady_plans=True))
    async with db.connection() as conn:
        transaction = conn.transaction()
        await transaction.start()
        await put_jobs(conn, queue)
        holder = LockHolder(job_id=job_id(99))
        await put_locks(conn, {f"lock-{number}": holder for number in range(held)})
        work = await work_of(conn, sql(statement), *keys, "array[1]", "1", "0")
        await transaction.rollback()
    await db.close()
    return work


@pytest.mark.parametrize("repo", [None, "shop"])
async def test_no_class_is_looked_into_while_the_walk_finds_enough(
    database_url: str, repo: str | None
) -> None:
    few = await work_of_finding_one(database_url, FEW, repo)
    assert await work_of_finding_one(database_url, MANY, repo) == few
    assert await work_of_finding_one(database_url, MANY, repo, held=FEW) > MANY
