"""0007 repairs what older builds counted wrong."""

from app.store.migrate import migrate
from app.store.session import Database
from tests.support.factories import register
from tests.support.jobs import lease, put
from tests.support.leases import seats_used
from tests.support.migrating import back_to


async def test_seats_are_counted_anew(database_url: str) -> None:
    db = await Database.open(database_url)
    async with db.transaction() as conn:
        ids = [await register(conn, name, seat_limit=5) for name in ("f1", "f2", "f3")]
    for holder in ("f1", "f2"):
        await lease(db, (await put(db)).id, holder)
    await back_to(database_url, "0006")
    async with db.connection() as conn:
        await conn.execute("update factory_seat set used = -1 where factory_id in ('f1', 'f3')")
    await migrate(database_url)
    assert [await seats_used(db, each) for each in ids] == [1, 1, 0]
    await db.close()
