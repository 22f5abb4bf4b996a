"""The plans of the statements over workflows and ticks: what is finished costs nothing."""

from datetime import timedelta

import pytest

from app.runtime.ids import new_id
from app.store.session import Database, statement
from app.store.sql import sql
from app.store.workflows import Place, WorkflowFilter, page_query
from app.workflow import ProjectId, WorkflowId
from tests.support.plans import generic_plan, plan, scanned_whole

CROWD = """
    insert into project (id, name, priority, cost_class, timeout_s, attempts_max)
    select lpad(to_hex(n), 32, '0')::uuid, 'p' || n, 'normal', 'low', 3600, 3
    from generate_series(1, 1000) n;
    insert into workflow (
        id, project_id, kind, title, prompt, position, status, review, finished_at
    )
    select gen_random_uuid(), lpad(to_hex(n % 1000 + 1), 32, '0')::uuid, 'development', 't', '', n,
        case when n % 500 = 0 then 'implementing' else 'closed' end, 'pending',
        case when n % 500 <> 0 then now() end
    from generate_series(1, 30000) n;
    insert into tick (id, kind, "window", at)
    select gen_random_uuid(), case when n % 4 = 0 then 'repos' else 'workflows' end, n::text,
        now() - n * interval '3 minutes'
    from generate_series(1, 30000) n;
    analyze;
"""

STATEMENTS = (
    "project_read",
    "project_remove",
    "project_unfinished",
    "project_write",
    "tick_served",
    "workflow_board",
    "workflow_last_position",
    "workflow_read",
    "workflow_remove",
    "workflow_write",
)


async def test_no_table_is_read_whole(db: Database) -> None:
    first = Place(position=5, id=WorkflowId(new_id()))
    pages = (
        (WorkflowFilter(), None),
        (WorkflowFilter(), first),
        (WorkflowFilter(project_id=ProjectId(new_id())), first),
    )
    async with db.connection() as conn:
        await conn.execute(CROWD)
        read_whole = {
            name: found
            for name in STATEMENTS
            if (found := scanned_whole(await generic_plan(conn, sql(name))))
        }
        assert read_whole == {}
        for wanted, after in pages:
            text, arguments = statement(page_query(wanted, after=after, limit=51))
            assert scanned_whole(await plan(conn, text, *arguments)) == set()
        ticks = await plan(conn, sql("tick_page"), "workflows", None, 51)
        assert scanned_whole(ticks) == set()
        newest = await plan(conn, sql("tick_newest"), ["workflows", "repos"])
        assert scanned_whole(newest) == set()
        assert "Sort" not in {node["Node Type"] for node in newest}


@pytest.mark.parametrize("kind", ["workflows", "repos"])
async def test_old_reports_are_pruned_but_the_newest_of_each_kind_stays(
    db: Database, kind: str
) -> None:
    async with db.connection() as conn:
        for _ in range(3):
            await conn.execute(
                "insert into tick (id, kind, at) values ($1, $2, now() - interval '40 days')",
                new_id(),
                kind,
            )
        await conn.execute(sql("tick_prune"), timedelta(days=30), 100)
        assert await conn.fetchval("select count(*) from tick") == 1
