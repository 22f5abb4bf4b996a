"""Factories register, ops decide over their heads, and neither undoes the other's word."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypedDict, Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.coordinator import enlist as enlisting
from app.coordinator.enlist import Enlisted, dismiss, enlist, get_factory, list_factories
from app.coordinator.standing import drain
from app.errors import FactoryBusy, Invalid, NotFound, VersionMismatch
from app.fleet import CostClass, FactoryId, FactorySpec, Health
from app.store import factories
from app.store.session import Database
from app.store.wake import CHANNEL
from tests.support.factories import OPS, factory_principal, register

F1 = FactoryId("f1")
WAITING = """
    select count(*) from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()
"""
ALL = frozenset(FactorySpec.__dataclass_fields__) - {"id"}


class Said(TypedDict, total=False):
    """What a PUT may say."""

    capabilities: frozenset[str]
    engines: frozenset[str]
    warm_repos: tuple[str, ...]
    cost_ceiling: CostClass
    seat_limit: int
    health: Health
    external_load: int
    account: str | None
    labels: dict[str, str]


async def put(db: Database, **said: Unpack[Said]) -> Enlisted:
    """The factory's own PUT."""
    spec = replace(FactorySpec(id=F1), **said)
    return await enlist(db, spec, fields_set=frozenset(said), by=factory_principal("f1"))


async def ops_put(db: Database, *, cleared: tuple[str, ...] = (), **said: Unpack[Said]) -> Enlisted:
    """A PUT of ops to f1."""
    spec = replace(FactorySpec(id=F1), **said)
    named = frozenset(said) | set(cleared)
    return await enlist(db, spec, fields_set=named, by=OPS, cleared=frozenset(cleared))


async def epoch(db: Database) -> int:
    async with db.connection() as conn:
        (facts,) = (await factories.snapshot(conn, [F1])).factories
    return facts.epoch


@asynccontextmanager
async def woken(db: Database) -> AsyncIterator[asyncio.Queue[str]]:
    """Listen for wake-up calls."""
    calls: asyncio.Queue[str] = asyncio.Queue()
    conn = await db.dedicated()
    await conn.add_listener(CHANNEL, lambda *call: calls.put_nowait(call[3]))
    yield calls
    await conn.close()


async def test_a_factory_registers_with_all_it_says(db: Database) -> None:
    enlisted = await put(
        db,
        capabilities=frozenset({"gpu"}),
        engines=frozenset({"claude"}),
        warm_repos=("shop", "blog"),
        cost_ceiling=CostClass.MEDIUM,
        seat_limit=3,
        health=Health.DEGRADED,
        external_load=2,
        account="team-a",
        labels={"rack": "b2"},
    )
    assert enlisted.created
    record = enlisted.record
    assert record.spec == FactorySpec(
        id=F1,
        capabilities=frozenset({"gpu"}),
        engines=frozenset({"claude"}),
        warm_repos=("shop", "blog"),
        cost_ceiling=CostClass.MEDIUM,
        seat_limit=3,
        health=Health.DEGRADED,
        external_load=2,
        account="team-a",
        labels={"rack": "b2"},
    )
    assert (record.version, record.health, record.stale) == (1, Health.DEGRADED, False)
    assert await get_factory(db, F1) == record


async def test_saying_the_same_again_moves_nothing(db: Database) -> None:
    first = await put(db, seat_limit=3, labels={"a": "b"})
    again = await put(db, seat_limit=3, labels={"a": "b"})
    assert not again.created
    assert (again.record.version, await epoch(db)) == (first.record.version, 1)


async def test_a_changed_setting_moves_version_and_epoch_and_wakes(db: Database) -> None:
    await put(db)
    async with woken(db) as calls:
        changed = await put(db, capabilities=frozenset({"gpu"}), seat_limit=4)
        assert await calls.get() == "*"
    assert (changed.record.version, await epoch(db)) == (2, 2)
    async with db.connection() as conn:
        assert (await factories.snapshot(conn, [F1])).factories[0].factory.seats_free == 4


async def test_what_a_factory_leaves_out_takes_its_default(db: Database) -> None:
    await put(db, capabilities=frozenset({"gpu"}), warm_repos=("shop",), health=Health.DOWN)
    async with woken(db) as calls:
        record = (await put(db)).record
        assert await calls.get() == "*"
    assert record.spec == FactorySpec(id=F1)


async def test_news_of_health_move_no_version(db: Database) -> None:
    await put(db)
    record = (await put(db, health=Health.DEGRADED, warm_repos=("shop",), external_load=1)).record
    assert (record.version, await epoch(db)) == (1, 1)
    assert (record.health, record.spec.warm_repos) == (Health.DEGRADED, ("shop",))


async def test_an_override_of_ops_stands_until_they_take_it_back(db: Database) -> None:
    await put(db, seat_limit=2, cost_ceiling=CostClass.MEDIUM)
    record = (await ops_put(db, seat_limit=5, cost_ceiling=CostClass.LOW)).record
    assert (record.seat_limit_override, record.cost_ceiling_override) == (5, CostClass.LOW)
    record = (await put(db, seat_limit=3)).record
    assert (record.spec.seat_limit, record.seat_limit_override) == (3, 5)
    async with db.connection() as conn:
        factory = (await factories.snapshot(conn, [F1])).factories[0].factory
    assert (factory.seat_limit, factory.cost_ceiling) == (5, CostClass.LOW)
    record = (await ops_put(db, cleared=("seat_limit",))).record
    assert (record.seat_limit_override, record.cost_ceiling_override) == (None, CostClass.LOW)
    async with db.connection() as conn:
        assert (await factories.snapshot(conn, [F1])).factories[0].factory.seat_limit == 3


async def test_ops_change_what_they_name_and_nothing_else(db: Database) -> None:
    before = (await put(db, capabilities=frozenset({"gpu"}), seat_limit=2, account="a")).record
    after = (await ops_put(db, labels={"rack": "b2"})).record
    assert after.spec == replace(before.spec, labels={"rack": "b2"})
    assert (await ops_put(db, account=None)).record.spec.account is None


async def test_ops_may_describe_a_factory_before_it_comes(db: Database) -> None:
    described = await ops_put(db, capabilities=frozenset({"gpu"}), seat_limit=4)
    assert described.created
    record = (await put(db, capabilities=frozenset({"gpu"}), seat_limit=2)).record
    assert (record.spec.seat_limit, record.seat_limit_override) == (2, 4)


async def test_ops_who_tell_of_health_are_no_sign_of_life(db: Database) -> None:
    await put(db)
    async with db.connection() as conn:
        await conn.execute("update factory_pulse set last_seen_at = now() - interval '1 hour'")
    record = (await ops_put(db, health=Health.DOWN)).record
    assert (record.health, record.stale) == (Health.DOWN, True)
    assert not (await put(db)).record.stale


async def test_a_restart_clears_no_drain(db: Database) -> None:
    await put(db)
    drained = await drain(db, F1, reason="disk", until=None, by=OPS)
    assert (await put(db, seat_limit=9)).record.drain == drained.drain


async def test_a_version_that_was_read_must_still_be_there(db: Database) -> None:
    spec = FactorySpec(id=F1, seat_limit=2)
    with pytest.raises(VersionMismatch):
        await enlist(db, spec, fields_set=ALL, by=OPS, if_match=1)
    await put(db)
    second = await enlist(db, spec, fields_set=ALL, by=OPS, if_match=1)
    assert second.record.version == 2
    with pytest.raises(VersionMismatch) as refused:
        await enlist(db, spec, fields_set=ALL, by=OPS, if_match=1)
    assert refused.value.extensions == {"current_version": 2}


async def test_of_factories_that_register_together_one_is_new(db: Database) -> None:
    enlisted = await asyncio.gather(*(put(db, seat_limit=seats) for seats in range(1, 7)))
    assert [each.created for each in enlisted].count(True) == 1
    record = await get_factory(db, F1)
    assert record.version == 6
    async with db.connection() as conn:
        factory = (await factories.snapshot(conn, [F1])).factories[0].factory
    assert factory.seat_limit == record.spec.seat_limit


async def test_a_factory_and_ops_at_once_lose_nothing(db: Database) -> None:
    await put(db)
    await asyncio.gather(
        *(put(db, capabilities=frozenset({"gpu"}), seat_limit=2) for _ in range(3)),
        ops_put(db, seat_limit=7),
        ops_put(db, cost_ceiling=CostClass.LOW),
        drain(db, F1, reason="disk", until=None, by=OPS),
    )
    record = await get_factory(db, F1)
    assert record.spec.capabilities == {"gpu"}
    assert (record.seat_limit_override, record.cost_ceiling_override) == (7, CostClass.LOW)
    assert record.drain is not None


async def test_factories_are_listed_page_by_page(db: Database) -> None:
    async with db.connection() as conn:
        for name in ("f3", "f1", "f2", "é"):
            await register(conn, name)
    first = await list_factories(db, None, 2)
    rest = await list_factories(db, first.next_cursor, 2)
    assert [record.spec.id for record in (*first.items, *rest.items)] == ["f1", "f2", "f3", "é"]
    assert rest.next_cursor is None
    with pytest.raises(Invalid):
        await list_factories(db, "MQ", 2)


async def test_a_factory_with_leases_is_not_dismissed(db: Database) -> None:
    await put(db, warm_repos=("shop",))
    async with db.connection() as conn:
        await conn.execute("update factory_seat set used = 1")
    with pytest.raises(FactoryBusy) as refused:
        await dismiss(db, F1, by=OPS)
    assert refused.value.extensions == {"seats_used": 1}
    async with db.connection() as conn:
        await conn.execute("update factory_seat set used = 0")
    with pytest.raises(VersionMismatch):
        await dismiss(db, F1, by=OPS, if_match=7)
    await dismiss(db, F1, by=OPS, if_match=1)
    with pytest.raises(NotFound):
        await get_factory(db, F1)
    with pytest.raises(NotFound):
        await dismiss(db, F1, by=OPS)


async def test_a_seat_taken_meanwhile_saves_the_factory(db: Database) -> None:
    await put(db)
    async with db.transaction() as claimer:
        await claimer.execute("update factory_seat set used = used + 1")
        leaving = asyncio.ensure_future(dismiss(db, F1, by=OPS))
        async with db.connection() as watcher:
            while not await watcher.fetchval(WAITING):
                pass
    with pytest.raises(FactoryBusy):
        await leaving
    assert (await get_factory(db, F1)).seats_used == 1


@given(
    st.sets(st.sampled_from(sorted(ALL))),
    st.sets(st.sampled_from(sorted(enlisting.OVERRIDABLE))),
)
def test_ops_never_touch_what_a_factory_said_of_seats_and_ceiling(
    named: set[str], cleared: set[str]
) -> None:
    spec = FactorySpec(id=F1, seat_limit=5)
    changes = enlisting._by_ops(  # noqa: SLF001 - the rule itself
        spec, frozenset(named - cleared), frozenset(cleared)
    )
    assert not {column for column in changes if column.startswith("declared")}
    assert ("ops_seat_limit" in changes) == ("seat_limit" in named | cleared)
    assert changes.get("ops_seat_limit") == (
        5 if "seat_limit" in named and "seat_limit" not in cleared else None
    )
