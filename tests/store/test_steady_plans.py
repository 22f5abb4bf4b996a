"""Plans that are made once: whatever the tables held then, they read by keys what is asked for.

A claim's plan is kept for as long as its connection. Made while a table was empty, or while nothing
was leased, a plan that reads all of an index is as good as any; a day later that is a million rows.
"""

import pytest

from app.store.session import Database, Limits
from app.store.sql import sql
from tests.support.plans import generic_plan, read_without_key

STATEMENTS = (
    "claim_commit",
    "claim_heads_all",
    "claim_key_read",
    "claim_read",
    "claim_standing",
    "factory_touch",
    "finish_complete",
    "lease_receipt",
    "lease_renew",
    "seat_await",
)

HELD_LOCKS = {"ix_job_lock_held"}
"""What is read whole on purpose: the locks that are held now."""


@pytest.mark.parametrize("name", STATEMENTS)
async def test_a_plan_made_of_empty_tables_reads_by_keys(database_url: str, name: str) -> None:
    db = await Database.open(database_url, Limits(steady_plans=True))
    async with db.connection() as conn:
        await conn.execute("vacuum analyze")
        nodes = await generic_plan(conn, sql(name))
    await db.close()
    assert read_without_key(nodes) <= HELD_LOCKS
