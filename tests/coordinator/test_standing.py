"""Ops drain, pause and resume; factories that fail at once go into quarantine by themselves."""

import asyncio
from datetime import timedelta

import pytest

from app.coordinator.enlist import get_factory
from app.coordinator.quarantine import quarantine_if_due
from app.coordinator.standing import drain, pause, resume
from app.errors import Invalid, NotFound
from app.fleet import FactoryId, Outcome, Standing
from app.store import enlisting, factories
from app.store.session import Connection, Database
from tests.support.factories import OPS, database_now, end_lease, register

F1 = FactoryId("f1")
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


async def fleet(db: Database, size: int = 3) -> None:
    async with db.connection() as conn:
        for number in range(size):
            await register(conn, f"f{number + 1}")


async def fail_fast(conn: Connection, name: str = "f1", times: int = 5) -> None:
    for _ in range(times):
        await end_lease(conn, name, Outcome.FAILED, took=SECOND)


async def quarantined(db: Database, *names: str) -> tuple[FactoryId, ...]:
    async with db.transaction() as conn:
        return await quarantine_if_due(conn, [FactoryId(name) for name in names])


async def end_quarantine(conn: Connection) -> None:
    """Let the quarantine end, as time would: move it, and all that came before, to the past."""
    await conn.execute(
        """
        update job_event set at = at - d.long, claimed_at = claimed_at - d.long
        from (select quarantined_until - clock_timestamp() as long from factory where id = 'f1') d
        """
    )
    await conn.execute("update factory set quarantined_until = clock_timestamp() where id = 'f1'")


async def test_a_drain_and_a_pause_stand_until_resumed(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        until = await database_now(conn) + HOUR
    drained = await drain(db, F1, reason="disk", until=None, by=OPS)
    assert drained.drain == Standing(reason="disk", by="ann")
    paused = await pause(db, F1, reason="limit", until=until, by=OPS)
    assert (paused.drain, paused.pause) == (
        drained.drain,
        Standing(reason="limit", by="ann", until=until),
    )
    assert (await drain(db, F1, reason="other", until=until, by=OPS)).drain == Standing(
        reason="other", by="ann", until=until
    )
    resumed = await resume(db, F1, by=OPS)
    assert (resumed.drain, resumed.pause, resumed.version) == (None, None, 5)
    async with db.connection() as conn:
        assert (await factories.snapshot(conn, [F1])).factories[0].epoch == 5


async def test_resuming_what_runs_changes_nothing(db: Database) -> None:
    await fleet(db)
    assert (await resume(db, F1, by=OPS)).version == 1


async def test_an_end_in_the_past_and_a_stranger_are_refused(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        now = await database_now(conn)
    with pytest.raises(Invalid):
        await drain(db, F1, reason="disk", until=now - SECOND, by=OPS)
    for call in (drain, pause):
        with pytest.raises(NotFound):
            await call(db, FactoryId("nobody"), reason="disk", until=None, by=OPS)
    with pytest.raises(NotFound):
        await resume(db, FactoryId("nobody"), by=OPS)


async def test_five_fast_failures_take_a_factory_out_for_ten_minutes(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        await fail_fast(conn, times=4)
        assert await quarantined(db, "f1", "f2") == ()
        await fail_fast(conn, times=1)
        failed_at = await conn.fetchval("select max(at) from job_event")
    assert await quarantined(db, "f2", "f1", "f1", "nobody") == ("f1",)
    record = await get_factory(db, F1)
    assert record.quarantined_until == failed_at + 10 * MINUTE
    assert record.version == 2
    assert await quarantined(db, "f1") == ()


async def test_one_more_failure_after_a_quarantine_doubles_it(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        await fail_fast(conn)
        assert await quarantined(db, "f1") == ("f1",)
        for minutes in (20, 40):
            await end_quarantine(conn)
            assert await quarantined(db, "f1") == ()
            await end_lease(conn, "f1", Outcome.FAILED, took=timedelta())
            assert await quarantined(db, "f1") == ("f1",)
            failed_at = await conn.fetchval("select max(at) from job_event")
            record = await get_factory(db, F1)
            assert record.quarantined_until == failed_at + minutes * MINUTE


async def test_failures_of_jobs_claimed_before_a_quarantine_do_not_prolong_it(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        await fail_fast(conn)
        assert await quarantined(db, "f1") == ("f1",)
        await fail_fast(conn)
        assert await quarantined(db, "f1") == ()
        await end_quarantine(conn)
        assert await quarantined(db, "f1") == ()


async def test_after_a_success_the_next_quarantine_is_a_first(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        await fail_fast(conn)
        assert await quarantined(db, "f1") == ("f1",)
        await end_quarantine(conn)
        await end_lease(conn, "f1", Outcome.SUCCEEDED, took=timedelta())
        for _ in range(5):
            await end_lease(conn, "f1", Outcome.FAILED, took=timedelta())
        assert await quarantined(db, "f1") == ("f1",)
        failed_at = await conn.fetchval("select max(at) from job_event")
        assert (await get_factory(db, F1)).quarantined_until == failed_at + 10 * MINUTE


async def test_what_ops_resumed_is_not_held_against_the_factory(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        await fail_fast(conn)
        assert await quarantined(db, "f1") == ("f1",)
        assert (await resume(db, F1, by=OPS)).quarantined_until is None
        await end_lease(conn, "f1", Outcome.FAILED, took=SECOND)
        assert await quarantined(db, "f1") == ()
        await fail_fast(conn, times=4)
        assert await quarantined(db, "f1") == ("f1",)
        (settings,) = await enlisting.settings(conn, [F1])
        assert settings.quarantine_strikes == 1


@pytest.mark.parametrize(("size", "most"), [(2, 0), (3, 1), (7, 2)])
async def test_at_most_a_third_is_out_at_once(db: Database, size: int, most: int) -> None:
    await fleet(db, size)
    names = [f"f{number + 1}" for number in range(size)]
    async with db.connection() as conn:
        for name in names:
            await fail_fast(conn, name)
    await asyncio.gather(*(quarantined(db, *names[start:]) for start in range(size)))
    for _ in range(2):
        await quarantined(db, *names)
    async with db.connection() as conn:
        out = await conn.fetchval("select count(*) from factory where quarantined_until > now()")
    assert out == most


async def test_whoever_finds_another_at_it_leaves_it_to_him(db: Database) -> None:
    await fleet(db)
    async with db.connection() as conn:
        await fail_fast(conn)
    async with db.transaction() as first:
        assert await quarantine_if_due(first, [F1]) == ("f1",)
        assert await quarantined(db, "f1") == ()
    assert (await get_factory(db, F1)).version == 2
