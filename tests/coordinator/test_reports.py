"""Reports that arrive together: one statement for many, and to each the answer of its own."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.coordinator.complete import Completion
from app.coordinator.heartbeat import Beat
from app.coordinator.receipts import Settled
from app.coordinator.renew import RenewOutcome
from app.coordinator.reports import Reports
from app.errors import Forbidden, NotFound, StaleFence, Unavailable
from app.fleet import FactoryId, JobId, JobState
from app.runtime.ids import new_id
from app.store.claims import LeaseId
from app.store.session import Database
from app.store.wake import CHANNEL, await_seats
from tests.strategies import make_class
from tests.support.desks import open_reports
from tests.support.factories import register
from tests.support.jobs import put, state_of
from tests.support.leases import claim, claim_one, inconsistencies, seats_used

F1, F2, F3 = FactoryId("f1"), FactoryId("f2"), FactoryId("f3")


@pytest.fixture(autouse=True)
async def fleet(db: Database) -> None:
    async with db.connection() as conn:
        await register(conn, F1, seat_limit=2)
        await register(conn, F2)
        await register(conn, F3)


@pytest.fixture
async def reports(db: Database) -> AsyncIterator[Reports]:
    async with open_reports(db) as opened:
        yield opened


def done(ref: LeaseId) -> Completion:
    return Completion(job_id=ref.job_id, fence=ref.fence)


async def assert_consistent(db: Database) -> None:
    async with db.connection() as conn:
        assert not await inconsistencies(conn)


async def test_all_kinds_of_completions_at_once(db: Database, reports: Reports) -> None:
    await put(db)
    plain = await claim_one(db, F1)
    parent = await put(db)
    child = await put(db, depends_on=(parent.id,))
    had_child = await claim_one(db, F2)
    await put(db)
    asks = await claim_one(db, F3)
    await put(db)
    stale = Completion(job_id=plain.job_id, fence=plain.fence + 7)
    unknown = Completion(job_id=JobId(new_id()), fence=1)
    answers = await asyncio.gather(
        reports.complete(F1, [done(plain), stale, unknown]),
        reports.complete(F2, [done(had_child)]),
        reports.complete(F3, [done(asks)], claim_next=2),
        reports.complete(F2, [done(plain)]),
    )
    assert [[each.outcome for each in answer.outcomes] for answer in answers] == [
        [Settled.SUCCEEDED, Settled.STALE_FENCE, Settled.NOT_FOUND],
        [Settled.SUCCEEDED],
        [Settled.SUCCEEDED],
        [Settled.NOT_YOURS],
    ]
    assert [len(answer.claims) for answer in answers] == [0, 0, 1, 0]
    assert await state_of(db, child.id) in {JobState.READY, JobState.LEASED}
    assert await seats_used(db, F1) == 0
    await assert_consistent(db)


async def test_two_reports_of_a_factory_share_what_is_next(db: Database, reports: Reports) -> None:
    for _ in range(2):
        await put(db)
    first, second = await claim(db, F1, 2)
    late = [await put(db) for _ in range(2)]
    one, two = await asyncio.gather(
        reports.complete_one(F1, done(first), claim_next=1),
        reports.complete_one(F1, done(second), claim_next=1),
    )
    claimed = {each.job.id for answer in (one, two) for each in answer.claims}
    assert claimed == {job.id for job in late}
    assert len(one.claims) == len(two.claims) == 1
    for ref, answer in ((first, one), (second, two)):
        again = await reports.complete_one(F1, done(ref), claim_next=1)
        assert again.outcomes[0].replayed
        assert [each.job.id for each in again.claims] == [each.job.id for each in answer.claims]
    await assert_consistent(db)


async def test_the_same_report_twice_at_once(db: Database, reports: Reports) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    answers = await asyncio.gather(*(reports.complete_one(F1, done(ref)) for _ in range(3)))
    outcomes = [answer.outcomes[0] for answer in answers]
    assert [each.outcome for each in outcomes] == [Settled.SUCCEEDED] * 3
    assert [each.replayed for each in outcomes] == [False, True, True]
    assert len({each.version for each in outcomes}) == 1


async def test_one_refusal_is_one_callers(db: Database, reports: Reports) -> None:
    await put(db)
    ref = await claim_one(db, F1)
    answers = await asyncio.gather(
        reports.complete_one(F2, done(ref)),
        reports.complete_one(F1, Completion(job_id=JobId(new_id()), fence=1)),
        reports.renew(F2, ref),
        reports.renew(F1, LeaseId(job_id=ref.job_id, fence=ref.fence + 1)),
        return_exceptions=True,
    )
    kinds = [type(answer) for answer in answers]
    assert kinds == [Forbidden, NotFound, Forbidden, StaleFence]
    assert (await reports.complete_one(F1, done(ref))).outcomes[0].outcome is Settled.SUCCEEDED


async def test_what_a_completion_frees_is_told_if_anybody_may_wait(
    db: Database, reports: Reports
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    listening = await db.dedicated()
    await listening.add_listener(CHANNEL, lambda *told: heard.put_nowait(told[-1]))

    async def told_by(factory_id: FactoryId, ref: LeaseId) -> list[str]:
        """Complete, and list what was told until then, but for jobs that became ready."""
        await reports.complete_one(factory_id, done(ref))
        await listening.execute(f"notify {CHANNEL}, 'end'")
        told = []
        while (word := await heard.get()) != "end":
            told.append(word)
        return [word for word in told if not word.isdecimal()]

    try:
        await put(db, job_class=make_class(lock="merge"))
        frees_lock = await claim_one(db, F1)
        await put(db)
        awaited = await claim_one(db, F2)
        await put(db)
        not_awaited = await claim_one(db, F3)
        await put(db)
        async with db.connection() as conn:
            assert await await_seats(conn, [F1, F2]) == {F2}  # F1 has another seat
        assert await told_by(F2, awaited) == ["seat:f2"]
        assert await told_by(F1, frees_lock) == ["lock:merge"]
        assert await told_by(F3, not_awaited) == []
        # What was told once is not awaited any more.
        assert await told_by(F2, await claim_one(db, F2)) == []
    finally:
        await listening.close()


async def test_heartbeats_and_renewals_at_once(db: Database, reports: Reports) -> None:
    await put(db)
    mine = await claim_one(db, F1, lease_s=90)
    await put(db)
    other = await claim_one(db, F2)
    beats = await asyncio.gather(
        reports.heartbeat(F1, Beat(leases=(mine, other))),
        reports.heartbeat(F2, Beat(external_load=3)),
        reports.heartbeat(FactoryId("nobody"), Beat()),
        reports.renew(F2, other, 300),
        return_exceptions=True,
    )
    first, second, nobody, renewed = beats
    assert not isinstance(first, BaseException)
    assert [each.outcome for each in first.leases] == [RenewOutcome.RENEWED, RenewOutcome.LOST]
    assert first.next_heartbeat_s == 30
    assert not isinstance(second, BaseException)
    assert second.leases == ()
    assert isinstance(nobody, NotFound)
    assert not isinstance(renewed, BaseException)
    assert renewed.lease_s == 300


async def test_each_renewal_has_its_own_length(db: Database, reports: Reports) -> None:
    await put(db)
    one = await claim_one(db, F1, lease_s=90)
    await put(db)
    two = await claim_one(db, F1, lease_s=90)
    renewed = await asyncio.gather(
        reports.renew(F1, one), reports.renew(F1, two, 300), reports.renew(F1, two, 30)
    )
    assert [each.lease_s for each in renewed] == [90, 300, 30]


async def test_closed_it_takes_no_more(reports: Reports) -> None:
    await reports.close()
    with pytest.raises(Unavailable):
        await reports.heartbeat(F1, Beat())
