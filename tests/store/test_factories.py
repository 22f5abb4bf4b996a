"""Factories as decisions and people read them."""

from datetime import timedelta

import pytest

from app.fleet import CostClass, FactoryId, Health, Outcome, Standing
from app.store import accounts, enlisting, factories, pulses
from app.store.pulses import Pulse
from app.store.session import Connection, Database
from app.store.sql import sql
from tests.support.factories import database_now, end_lease, register
from tests.support.plans import plan, scanned_whole

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


async def read(conn: Connection, name: str = "f1") -> factories.FactoryFacts:
    (facts,) = (await factories.snapshot(conn, [FactoryId(name)])).factories
    return facts


async def test_a_new_factory_is_idle_and_well(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, capabilities=["gpu", "docker"], seat_limit=3)
        facts = await read(conn)
        assert (facts.version, facts.epoch) == (1, 1)
        assert facts.factory.capabilities == {"docker", "gpu"}
        assert (facts.factory.seat_limit, facts.factory.seats_used) == (3, 0)
        assert facts.factory.cost_ceiling is CostClass.HIGH
        assert facts.factory.health is Health.OK
        assert facts.factory.last_seen_at is not None
        assert facts.factory.last_served_at is None


async def test_a_snapshot_keeps_the_order_and_leaves_out_strangers(db: Database) -> None:
    async with db.connection() as conn:
        for name in ("f1", "f2", "f3"):
            await register(conn, name)
        wanted = [FactoryId(name) for name in ("f3", "nobody", "f1")]
        found = await factories.snapshot(conn, wanted)
        assert [facts.factory.id for facts in found.factories] == ["f3", "f1"]
        everybody = await factories.snapshot(conn, None)
        assert [facts.factory.id for facts in everybody.factories] == ["f1", "f2", "f3"]


async def test_a_snapshot_of_nobody_still_tells_the_time(db: Database) -> None:
    async with db.connection() as conn:
        before = await database_now(conn)
        assert before <= (await factories.snapshot(conn, [])).now <= await database_now(conn)


async def test_a_known_factory_is_not_registered_again(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, seat_limit=3)
        (known,) = await enlisting.settings(conn, [FactoryId("f1")])
        assert not await enlisting.register(conn, known, Pulse(factory_id=known.id))
        assert (await read(conn)).factory.seat_limit == 3


@pytest.mark.parametrize(
    ("outcomes", "health"),
    [
        ([Outcome.FAILED] * 3, Health.OK),
        ([Outcome.FAILED] * 2 + [Outcome.SUCCEEDED] * 2, Health.DEGRADED),
        ([Outcome.SUCCEEDED] * 6 + [Outcome.EXPIRED] * 4 + [Outcome.FAILED] * 9, Health.OK),
        ([Outcome.CANCELLED, Outcome.RELEASED] * 9 + [Outcome.TIMED_OUT] * 4, Health.DEGRADED),
    ],
)
async def test_health_is_the_worse_of_reported_and_shown(
    db: Database, outcomes: list[Outcome], health: Health
) -> None:
    async with db.connection() as conn:
        await register(conn)
        await register(conn, "f2", health=Health.DOWN)
        for age, outcome in enumerate(outcomes):
            await end_lease(conn, "f1", outcome, ago=age * MINUTE)
        assert (await read(conn)).factory.health is health
        (record,) = await factories.records(conn, [FactoryId("f1")])
        assert (record.spec.health, record.health) == (Health.OK, health)
        assert (await read(conn, "f2")).factory.health is Health.DOWN


async def test_outcomes_of_yesterday_are_forgotten(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn)
        for _ in range(10):
            await end_lease(conn, "f1", Outcome.FAILED, ago=24 * HOUR)
        assert (await read(conn)).factory.health is Health.OK


async def test_declared_repos_are_warm_first_then_the_newest_successes(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn)
        declared = tuple(f"declared-{number}" for number in range(14))
        await pulses.touch(conn, [Pulse(factory_id=FactoryId("f1"), warm_repos=declared)])
        await conn.execute(
            """
            insert into factory_repo (factory_id, repo, succeeded_at) values
                ('f1', 'declared-3', now()), ('f1', 'older', now() - interval '2 hours'),
                ('f1', 'newest', now()), ('f1', 'new', now() - interval '1 hour'),
                ('f1', 'cold', now() - interval '24 hours')
            """
        )
        assert (await read(conn)).factory.warm_repos == {*declared, "newest", "new"}


async def test_a_cool_down_stops_all_factories_of_the_account(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, "f1", account="team-a")
        await register(conn, "f2", account="team-a")
        await register(conn, "f3")
        until = await database_now(conn) + HOUR
        await accounts.cool_factory(conn, FactoryId("f1"), until)
        await accounts.cool_factory(conn, FactoryId("f2"), until - MINUTE)
        cooled = await factories.snapshot(conn, None)
        assert [facts.factory.cooldown_until for facts in cooled.factories] == [until, until, None]


async def test_a_factory_without_account_cools_down_alone(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, "f1")
        await register(conn, "f2")
        until = await database_now(conn) + HOUR
        await accounts.cool_factory(conn, FactoryId("f1"), until - MINUTE)
        await accounts.cool_factory(conn, FactoryId("f1"), until)
        await accounts.cool_factory(conn, FactoryId("nobody"), until)
        cooled = await factories.snapshot(conn, None)
        assert [facts.factory.cooldown_until for facts in cooled.factories] == [until, None]


async def test_what_has_ended_reads_as_not_there(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, account="team-a")
        past = await database_now(conn) - MINUTE
        await accounts.cool_factory(conn, FactoryId("f1"), past)
        await conn.execute(
            """
            update factory set quarantined_until = $1, drain_reason = 'r', drain_by = 'ann',
                drain_until = $1, pause_reason = 'r', pause_by = 'ann', pause_until = $2
            """,
            past,
            past + HOUR,
        )
        factory = (await read(conn)).factory
        assert factory.drain is None
        assert factory.pause == Standing(reason="r", by="ann", until=past + HOUR)
        assert factory.quarantined_until is None
        assert factory.cooldown_until is None
        (record,) = await factories.records(conn, [factory.id])
        assert (record.drain, record.pause) == (None, factory.pause)


async def test_three_missed_heartbeats_are_stale_unless_it_waits(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn)
        ids = [FactoryId("f1")]
        await conn.execute("update factory_pulse set last_seen_at = now() - interval '179 s'")
        assert not (await factories.records(conn, ids))[0].stale
        await conn.execute("update factory_pulse set last_seen_at = now() - interval '181 s'")
        assert (await factories.records(conn, ids))[0].stale
        assert not (await factories.records(conn, ids, waiting=frozenset(ids)))[0].stale


async def test_no_read_of_a_claim_goes_through_a_whole_table(db: Database) -> None:
    async with db.connection() as conn:
        await conn.execute(
            """
            insert into factory (id, declared_cost_ceiling, declared_seat_limit)
            select 'f' || n, 'high', 1 from generate_series(1, 10000) n;
            insert into factory_seat (factory_id, seat_limit) select id, 1 from factory;
            insert into factory_pulse (factory_id, health) select id, 'ok' from factory;
            insert into account (name) select 'a' || n from generate_series(1, 10000) n;
            insert into factory_repo (factory_id, repo, succeeded_at)
            select 'f' || n % 10000 + 1, 'r' || n, now() from generate_series(1, 40000) n;
            insert into job_event (job_id, event, factory_id, outcome, claimed_at, at)
            select gen_random_uuid(), 'x', 'f' || n % 1000 + 1, 'failed', now(),
                now() - n * interval '1 s'
            from generate_series(1, 100000) n;
            """
        )
        await conn.execute("analyze")
        ids = ["f1", "f2"]
        read_plan = await plan(conn, sql("factory_read"), ids, ["failed"], 10, 16)
        assert scanned_whole(read_plan) == set()
        assert "ix_job_event_outcome" in {node.get("Index Name") for node in read_plan}
        assert scanned_whole(await plan(conn, sql("factory_past"), ids, ["failed"], 5)) == set()
        beats = ([True, True], ["ok", "ok"], [0, 0], [None, None])
        assert scanned_whole(await plan(conn, sql("factory_touch"), ids, *beats, 30)) == set()
        assert scanned_whole(await plan(conn, sql("factory_page"), "f5", 50)) == set()
