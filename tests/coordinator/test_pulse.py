"""Signs of life are written together, and none is forgotten because a write failed."""

from collections.abc import Iterable

import pytest

from app.coordinator.pulse import PulseBook
from app.errors import Unavailable
from app.fleet import FactoryId
from app.store.session import Database
from tests.strategies import make_factory
from tests.support.world import put_factory

F1 = FactoryId("f1")


def nobody() -> Iterable[FactoryId]:
    return ()


async def unseen(db: Database) -> None:
    async with db.transaction() as conn:
        await put_factory(conn, make_factory("f1"))
        await conn.execute("update factory_pulse set last_seen_at = now() - interval '1 hour'")


async def is_seen(db: Database) -> bool:
    async with db.connection() as conn:
        seen: bool = await conn.fetchval(
            "select last_seen_at > now() - interval '1 minute' from factory_pulse"
        )
    return seen


async def test_who_called_is_seen_though_the_first_write_failed(db: Database) -> None:
    await unseen(db)
    book = PulseBook(waiting=nobody)
    book.seen(F1)
    gone = await Database.open("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(Unavailable):
        await book.flush(gone)
    await gone.close()
    assert not await is_seen(db)
    assert await book.flush(db) == {"seen": 1}
    assert await is_seen(db)
    assert await book.flush(db) == {"seen": 0}
