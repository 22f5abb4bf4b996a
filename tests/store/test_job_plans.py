"""The plans of the statements over jobs: at 100,000 of them, none is read from end to end."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from app.fleet import FactoryId, JobId, JobState
from app.runtime.ids import new_id
from app.store.listing import JobFilter, page_query
from app.store.session import Database, statement
from app.store.sql import sql
from tests.support.plans import generic_plan, plan, scanned_whole
from tests.support.postgres import Databases

CROWD = """
    insert into job_lock (name) select 'l' || n from generate_series(1, 10000) n;
    insert into job_class (digest, cost_class, priority, lock)
    select n::text::bytea, 'low', 'normal', case when n > 40 then 'l' || n end
    from generate_series(1, 10000) n;
    insert into job (
        id, class_id, state, kind, repo, holder, attempts_max, timeout_s, if_parent_fails,
        created_at, dedupe_key, labels, finished_at, cancelled_by_parent
    )
    select
        lpad(to_hex(n), 32, '0')::uuid,
        n % 10000 + 1,
        case
            when n % 100 = 0 then 'dead' when n % 50 = 1 then 'leased' when n % 20 = 2 then 'ready'
            when n % 20 = 3 then 'blocked' when n % 20 = 4 then 'cancelled' else 'succeeded'
        end,
        'kind' || n % 7, 'repo' || n % 90, 'f' || n % 50, 3, 3600, 'cancel',
        now() - (100000 - n) * interval '10 seconds',
        case when n % 3 = 0 then 'key' || n end,
        jsonb_build_object('team', 't' || n % 5),
        now(),
        case when n % 20 = 4 then lpad(to_hex(n - 1), 32, '0')::uuid end
    from generate_series(1, 100000) n;
    insert into job_dependency (job_id, parent_id)
    select lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n - back), 32, '0')::uuid
    from generate_series(10, 60000) n, generate_series(1, n % 3) back;
    insert into job_event (job_id, event, fence)
    select id, 'submit', turn from job, generate_series(1, 2) turn;
    insert into decision (id, factory_id, job_id, fence, total, record)
    select gen_random_uuid(), holder, id, 1, 1, '{}' from job;
    analyze;
"""

STATEMENTS = (
    "dependency_add",
    "dependency_ancestors",
    "dependency_blame",
    "dependency_lock_family",
    "dependency_lock_parents",
    "dependency_remove",
    "dependency_to_revive",
    "history_read",
    "job_by_dedupe_key",
    "job_edit",
    "job_insert",
    "job_read",
    "life_read",
    "life_write",
    "lock_free",
)

PAGES = (
    JobFilter(),
    JobFilter(state=JobState.DEAD),
    JobFilter(state=JobState.DEAD, kind="kind3", repo="repo7", labels={"team": "t1"}),
    JobFilter(kind="kind3"),
    JobFilter(repo="repo7"),
    JobFilter(factory_id=FactoryId("f7")),
    JobFilter(labels={"team": "t1"}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """A database with many jobs, and what runs against it."""

    db: Database
    runner: asyncio.Runner

    def plan(self, text: str, *arguments: object) -> list[dict[str, Any]]:
        """Explain a statement, with its arguments if it has any, else before it has them."""

        async def work() -> list[dict[str, Any]]:
            async with self.db.connection() as conn:
                if arguments:
                    return await plan(conn, text, *arguments)
                return await generic_plan(conn, text)

        return self.runner.run(work())


@pytest.fixture(scope="module")
def crowd(databases: Databases) -> Iterator[Crowd]:
    with databases.fresh() as url, asyncio.Runner() as runner:
        db = runner.run(Database.open(url))

        async def fill() -> None:
            async with db.connection() as conn:
                await conn.execute(CROWD, timeout=120)

        runner.run(fill())
        yield Crowd(db=db, runner=runner)
        runner.run(db.close())


@pytest.mark.parametrize("name", STATEMENTS)
def test_no_table_is_read_whole(crowd: Crowd, name: str) -> None:
    assert scanned_whole(crowd.plan(sql(name))) == set()


@pytest.mark.parametrize("after", [None, JobId(new_id())])
@pytest.mark.parametrize("wanted", PAGES)
def test_a_page_is_read_by_an_index(crowd: Crowd, wanted: JobFilter, after: JobId | None) -> None:
    text, arguments = statement(page_query(wanted, after=after, limit=51))
    assert scanned_whole(crowd.plan(text, *arguments)) == set()
