"""A crowded database: a large fleet and a hundred thousand jobs, to ask for plans of statements."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from app.store.session import Database
from tests.support.plans import generic_plan, plan
from tests.support.postgres import Databases

CROWD = """
    insert into factory (id, declared_cost_ceiling, declared_seat_limit)
    select 'f' || n, 'high', 1 from generate_series(1, 5000) n;
    insert into factory_seat (factory_id, seat_limit) select id, 1 from factory;
    insert into factory_pulse (factory_id, health) select id, 'ok' from factory;
    insert into factory_repo (factory_id, repo, succeeded_at)
    select id, 'repo' || n, now() from factory, generate_series(1, 3) n;
    insert into account (name) select 'a' || n from generate_series(1, 2000) n;
    insert into job_lock (name) select 'l' || n from generate_series(1, 10000) n;
    insert into job_class (digest, cost_class, priority, lock, kin, excluded)
    select n::text::bytea, 'low', 'normal', case when n > 40 then 'l' || n end,
        case when n > 40 then ('kin' || n % 400)::bytea end,
        case when n % 100 = 0 then '{f1}'::text[] else '{}' end
    from generate_series(1, 10000) n;
    insert into job (
        id, class_id, kin, state, kind, repo, holder, attempts_max, timeout_s, if_parent_fails,
        created_at, dedupe_key, labels, finished_at, cancelled_by_parent, fence, fence_open, seated,
        claimed_at, lease_expires_at, wake_at
    )
    select
        lpad(to_hex(n), 32, '0')::uuid,
        n % 10000 + 1,
        case when n % 10000 >= 40 then ('kin' || (n % 10000 + 1) % 400)::bytea else '' end,
        case
            when n % 100 = 0 then 'dead' when n % 50 = 1 then 'leased' when n % 20 = 2 then 'ready'
            when n % 20 = 3 then 'blocked' when n % 20 = 4 then 'cancelled' else 'succeeded'
        end,
        'kind' || n % 7, 'repo' || n % 90, 'f' || n % 50 + 1, 3, 3600, 'cancel',
        now() - (100000 - n) * interval '10 seconds',
        case when n % 3 = 0 then 'key' || n end,
        jsonb_build_object('team', 't' || n % 5),
        case when n % 100 = 0 or n % 50 <> 1 and n % 20 not in (2, 3) then
            now() - n * interval '1 minute' end,
        case when n % 20 = 4 then lpad(to_hex(n - 1), 32, '0')::uuid end,
        1, n % 50 = 1, n % 50 = 1, now(), now(),
        case when n % 50 = 1 then now() + interval '1 hour' end
    from generate_series(1, 100000) n;
    insert into job_dependency (job_id, parent_id)
    select lpad(to_hex(n), 32, '0')::uuid, lpad(to_hex(n - back), 32, '0')::uuid
    from generate_series(10, 60000) n, generate_series(1, n % 3) back;
    insert into job_event (job_id, event)
    select id, 'submit' from job;
    insert into job_event (job_id, event, factory_id, fence, outcome, claimed_at)
    select id, 'complete', holder, 1, 'succeeded', now() from job;
    insert into decision (id, factory_id, job_id, fence, total, record)
    select gen_random_uuid(), holder, id, 1, 1, '{}' from job;
    insert into claim_key (factory_id, key, leases, expires_at)
    select 'f1', n::text, '[]', now() + n * interval '1 minute' from generate_series(1, 50000) n;
    analyze;
"""


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


@contextmanager
def crowded(databases: Databases) -> Iterator[Crowd]:
    """Fill a database of its own."""
    with databases.fresh() as url, asyncio.Runner() as runner:
        db = runner.run(Database.open(url))

        async def fill() -> None:
            async with db.connection() as conn:
                await conn.execute(CROWD, timeout=120)

        runner.run(fill())
        yield Crowd(db=db, runner=runner)
        runner.run(db.close())
