"""Signs of life: many in one statement, and seldom."""

import asyncio
from datetime import timedelta

from app.fleet import FactoryId, Health
from app.store import factories, pulses
from app.store.pulses import Pulse
from app.store.session import Connection, Database
from app.store.wake import CHANNEL
from tests.support.factories import register

F1 = FactoryId("f1")


async def age(conn: Connection, name: str = "f1") -> timedelta:
    """How long ago the factory was last seen."""
    ago: timedelta = await conn.fetchval(
        "select now() - last_seen_at from factory_pulse where factory_id = $1", name
    )
    return ago


async def grow_older(conn: Connection, seconds: int) -> None:
    await conn.execute(
        "update factory_pulse set last_seen_at = now() - make_interval(secs => $1)", seconds
    )


async def test_a_mere_sign_of_life_is_written_once_per_pause(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn)
        await grow_older(conn, pulses.TOUCH_PAUSE_S - 5)
        await pulses.touch(conn, [Pulse(factory_id=F1)])
        assert await age(conn) > timedelta(seconds=pulses.TOUCH_PAUSE_S - 6)
        await grow_older(conn, pulses.TOUCH_PAUSE_S + 1)
        await pulses.touch(conn, [Pulse(factory_id=F1)])
        assert await age(conn) < timedelta(seconds=5)


async def test_news_are_written_at_once_and_the_rest_stays(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn)
        await pulses.touch(
            conn,
            [
                Pulse(factory_id=F1, external_load=2),
                Pulse(factory_id=FactoryId("nobody")),
                Pulse(factory_id=F1, warm_repos=("shop", "blog")),
            ],
        )
        await pulses.touch(conn, [Pulse(factory_id=F1, health=Health.DEGRADED)])
        await pulses.touch(conn, [])
        (record,) = await factories.records(conn, [F1])
        assert record.spec.health is Health.DEGRADED
        assert record.spec.external_load == 2
        assert record.spec.warm_repos == ("shop", "blog")
        await pulses.touch(conn, [Pulse(factory_id=F1, warm_repos=())])
        (record,) = await factories.records(conn, [F1])
        assert record.spec.warm_repos == ()


async def test_word_from_others_is_no_sign_of_life(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn)
        await grow_older(conn, 3600)
        await pulses.touch(conn, [Pulse(factory_id=F1, seen=False)])
        await pulses.touch(conn, [Pulse(factory_id=F1, seen=False, health=Health.DOWN)])
        assert await age(conn) > timedelta(seconds=3500)
        (record,) = await factories.records(conn, [F1])
        assert record.health is Health.DOWN


async def test_a_factory_that_is_up_again_wakes_the_desks(db: Database) -> None:
    calls: asyncio.Queue[str] = asyncio.Queue()
    listener = await db.dedicated()
    await listener.add_listener(CHANNEL, lambda *call: calls.put_nowait(call[3]))
    async with db.connection() as conn:
        await register(conn, health=Health.DOWN)
        await pulses.touch(conn, [Pulse(factory_id=F1, health=Health.DOWN, external_load=1)])
        await pulses.touch(conn, [Pulse(factory_id=F1, health=Health.OK)])
        await pulses.touch(conn, [Pulse(factory_id=F1, health=Health.DEGRADED)])
        await conn.execute("select pg_notify($1, 'the last')", CHANNEL)
    assert [await calls.get(), await calls.get()] == ["*", "the last"]
    await listener.close()


async def test_crossing_batches_wait_for_each_other_and_never_in_a_ring(db: Database) -> None:
    names = [FactoryId(f"f{number}") for number in range(40)]
    async with db.connection() as conn:
        for name in names:
            await register(conn, name)

    async def beat(order: list[FactoryId], load: int) -> None:
        async with db.connection() as conn:
            await pulses.touch(conn, [Pulse(factory_id=name, external_load=load) for name in order])

    await asyncio.gather(*(beat(names if load % 2 else names[::-1], load) for load in range(1, 31)))
    async with db.connection() as conn:
        loads = await conn.fetch("select distinct external_load from factory_pulse")
    assert len(loads) == 1
