"""0008 tells each job of which kin it is."""

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
