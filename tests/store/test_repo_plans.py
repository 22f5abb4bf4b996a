"""The plans of the statements over repos: one repo's cycle costs what that repo has."""

from app.store.session import Database
from app.store.sql import sql
from tests.support.plans import generic_plan, scanned_whole

CROWD = """
    insert into repo (id, explore_level, daily_run_cap, cooldown_s, timezone, github)
    select 'r' || n, 'low', 10, 0, 'UTC', 'acme/r' || n from generate_series(1, 5000) n;
    insert into repo_run (id, repo_id, kind, status, started_at)
    select gen_random_uuid(), 'r' || n % 5000 + 1, 'spawn', 'succeeded',
        now() - n * interval '1 minute'
    from generate_series(1, 30000) n;
    insert into repo_candidate (id, repo_id, focus, score, status)
    select gen_random_uuid(), 'r' || n % 5000 + 1, 'f', 1, 'done' from generate_series(1, 30000) n;
    insert into repo_issue (repo_id, number, title, score, solutions_wanted, status)
    select 'r' || n % 5000 + 1, n, 't', 1, 1, 'solved' from generate_series(1, 30000) n;
    insert into repo_pull (repo_id, number, head_sha, status)
    select 'r' || n % 5000 + 1, n, 's', 'verified' from generate_series(1, 30000) n;
    insert into webhook_delivery (id, event, received_at)
    select n::text, 'push', now() - n * interval '1 minute' from generate_series(1, 30000) n;
    analyze;
"""

STATEMENTS = (
    "candidate_read",
    "candidate_remove",
    "candidate_write",
    "delivery_take",
    "issue_read",
    "issue_remove",
    "issue_write",
    "pull_read",
    "pull_remove",
    "prune_runs",
    "pull_write",
    "repo_by_github",
    "repo_keep_cycle",
    "repo_lock",
    "repo_page",
    "repo_read",
    "repo_remove",
    "repo_write",
    "run_active",
    "run_count",
    "run_page",
    "run_write",
)


async def test_no_table_is_read_whole(db: Database) -> None:
    async with db.connection() as conn:
        await conn.execute(CROWD)
        read_whole = {
            name: found
            for name in STATEMENTS
            if (found := scanned_whole(await generic_plan(conn, sql(name))))
        }
    assert read_whole == {}
