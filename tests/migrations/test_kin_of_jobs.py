"""0008 tells each job of which kin it is."""

import asyncpg
import pytest

from app.store import classes
from app.store.migrate import migrate
from app.store.session import Database
from tests.strategies import make_class
from tests.support.jobs import put
from tests.support.migrating import back_to


async def test_jobs_that_were_there_get_the_kin_of_their_class(database_url: str) -> None:
    db = await Database.open(database_url)
    locked = make_class(lock="clone")
    await put(db)
    await put(db, job_class=locked)
    await back_to(database_url, "0007")
    await migrate(database_url)
    async with db.connection() as conn:
        found = await conn.fetch("select kin from job order by kin")
    assert [row["kin"] for row in found] == [b"", classes.kin(locked)]
    await db.close()


async def test_an_older_replica_goes_on_beside_it_but_for_new_jobs_with_a_lock(
    database_url: str,
) -> None:
    """While replicas are replaced; it says nothing of kin, and is told to try again."""
    db = await Database.open(database_url)
    insert = (
        "insert into job (id, class_id, state, kind, attempts_max, timeout_s, if_parent_fails)"
        " select gen_random_uuid(), id, 'ready', 'test', 3, 60, 'cancel'"
        " from job_class where lock is not distinct from $1"
    )
    async with db.connection() as conn:
        await classes.intern(conn, [make_class(), make_class(lock="clone")])
        await conn.execute(insert, None)
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await conn.execute(insert, "clone")
    await db.close()
