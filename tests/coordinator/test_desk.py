"""The claim desk against PostgreSQL: batches, waiting, waking, repeats, and hopeless races."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from datetime import datetime

import pytest

from app.coordinator.claim import Claim
from app.coordinator.complete import Completion
from app.coordinator.desk import ClaimDesk
from app.coordinator.tally import Tally
from app.coordinator.waiting import Answer, ClaimRequest, Nothing
from app.eligibility import Reason
from app.errors import ClaimKeySpent, NotFound, Unavailable
from app.fleet import Factory, FactoryId, Job, JobId, Priority
from app.store import classes
from app.store.session import Database
from app.store.wake import ANY, wake
from tests.strategies import make_class, make_factory, make_job
from tests.support.completing import complete
from tests.support.desks import open_desk
from tests.support.world import job_state, put_factory, put_jobs

F1, F2 = FactoryId("f1"), FactoryId("f2")


@pytest.fixture
async def desk(db: Database) -> AsyncIterator[ClaimDesk]:
    async with open_desk(db) as opened:
        yield opened


async def register(db: Database, *factories: Factory) -> None:
    async with db.transaction() as conn:
        for factory in factories:
            await put_factory(conn, factory)


async def submit(db: Database, *jobs: Job) -> None:
    async with db.transaction() as conn:
        await put_jobs(conn, jobs)
        ids = await classes.intern(conn, {job.job_class for job in jobs})
        await wake(conn, ids.values())


def jobs_of(answer: Answer) -> list[JobId]:
    assert not isinstance(answer, Nothing), answer
    return [claim.job.id for claim in answer]


def only(answer: Answer) -> Claim:
    assert not isinstance(answer, Nothing), answer
    (claim,) = answer
    return claim


async def parked(desk: ClaimDesk, *claims: "asyncio.Task[Answer]") -> None:
    """Wait until these claims wait at the desk, and none of them is being looked after."""
    async with asyncio.timeout(10):
        await asyncio.sleep(0)  # lets the tasks begin
        assert len(desk.waiting()) == len(claims)
        await desk.idle.wait()


async def test_a_claim_gets_the_best_job_under_its_first_fence(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1"))
    urgent = make_job(2, job_class=make_class(priority=Priority.CRITICAL))
    await submit(db, make_job(1), urgent)
    claim = only(await desk.claim(ClaimRequest(factory_id=F1)))
    assert claim.job.id == urgent.id
    assert (claim.fence, claim.job.attempts, claim.job.factory_id) == (1, 1, F1)
    assert claim.score.total == sum(claim.score.breakdown.as_dict().values())
    assert claim.next_heartbeat_s == 20
    async with db.connection() as conn:
        assert await job_state(conn, urgent.id) == ("leased", 1, "f1")
        row = await conn.fetchrow("select * from decision where id = $1", claim.decision_id)
        assert row is not None
        assert row["record"]["picked"]["job_id"] == str(urgent.id)
        assert row["record"]["runners_up"][0]["job_id"] == str(make_job(1).id)


async def test_a_decision_tells_what_was_kept_from_the_factory(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1"))
    gpu = make_class(required=frozenset({"gpu"}))
    await submit(db, *(make_job(number, job_class=gpu) for number in (1, 2, 3)))
    nothing = await desk.claim(ClaimRequest(factory_id=F1))
    assert isinstance(nothing, Nothing)
    await submit(db, make_job(4))
    claim = only(await desk.claim(ClaimRequest(factory_id=F1)))
    async with db.connection() as conn:
        record = await conn.fetchval("select record from decision where id = $1", claim.decision_id)
    kept = record["kept_from_it"]
    assert kept["jobs"] == {"missing_capability": 3}
    assert datetime.fromisoformat(kept["counted_at"]) <= datetime.fromisoformat(record["now"])


async def test_an_unknown_factory_is_not_found(desk: ClaimDesk) -> None:
    with pytest.raises(NotFound):
        await desk.claim(ClaimRequest(factory_id=FactoryId("nobody")))


async def test_nothing_says_why_in_numbers(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1"))
    gpu = make_class(required=frozenset({"gpu"}))
    await submit(db, make_job(1, job_class=gpu), make_job(2, job_class=gpu))
    nothing = await desk.claim(ClaimRequest(factory_id=F1))
    assert isinstance(nothing, Nothing)
    assert nothing.reasons == {Reason.MISSING_CAPABILITY: 2}
    assert nothing.retry_after_s >= 1


async def test_a_batch_stops_at_the_seats_and_uses_a_lock_once(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1", seat_limit=3))
    merge = make_class(lock="merge")
    await submit(db, *(make_job(number, job_class=merge) for number in (1, 2, 3)))
    first = await desk.claim(ClaimRequest(factory_id=F1, max_jobs=10))
    assert jobs_of(first) == [make_job(1).id]
    await submit(db, *(make_job(number) for number in (4, 5, 6, 7)))
    second = await desk.claim(ClaimRequest(factory_id=F1, max_jobs=10))
    assert jobs_of(second) == [make_job(4).id, make_job(5).id]
    third = await desk.claim(ClaimRequest(factory_id=F1, max_jobs=10))
    assert isinstance(third, Nothing)
    assert third.reasons[Reason.NO_SEAT] == 4
    assert third.reasons[Reason.LOCK_HELD] == 2


async def test_who_waits_is_woken_by_a_job_that_becomes_ready(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1"))
    claim = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30)))
    await parked(desk, claim)
    await submit(db, make_job(1))
    async with asyncio.timeout(5):
        assert jobs_of(await claim) == [make_job(1).id]


async def test_a_job_for_others_does_not_wake_who_cannot_take_it(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1"))
    gpu = make_class(required=frozenset({"gpu"}))
    await submit(db, make_job(1, job_class=gpu))
    claim = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30)))
    await parked(desk, claim)
    async with db.connection() as conn:
        ids = await classes.intern(conn, [gpu])
    desk.heard(str(ids[gpu]))
    assert desk.idle.is_set()
    desk.heard(ANY)
    assert not desk.idle.is_set()
    claim.cancel()


async def test_of_two_who_wait_the_better_suited_gets_the_job(
    db: Database, desk: ClaimDesk
) -> None:
    await register(
        db, make_factory("f1", external_load=3), make_factory("f2", warm_repos=frozenset({"shop"}))
    )
    first = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30)))
    second = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F2, wait_s=30)))
    await parked(desk, first, second)
    await submit(db, make_job(1, repo="shop"))
    async with asyncio.timeout(5):
        assert jobs_of(await second) == [make_job(1).id]
    first.cancel()


async def test_the_wait_ends_with_nothing_and_its_reasons(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1"))
    await submit(db, make_job(1, job_class=make_class(required=frozenset({"gpu"}))))
    nothing = await desk.claim(ClaimRequest(factory_id=F1, wait_s=0.05))
    assert isinstance(nothing, Nothing)
    assert nothing.reasons == {Reason.MISSING_CAPABILITY: 1}


async def test_a_repeat_of_a_claim_gets_the_same_lease(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1", seat_limit=2))
    await submit(db, make_job(1), make_job(2))
    request = ClaimRequest(factory_id=F1, key="k1")
    first = only(await desk.claim(request))
    again = only(await desk.claim(request))
    assert (again.job.id, again.fence, again.decision_id, again.score) == (
        first.job.id,
        first.fence,
        first.decision_id,
        first.score,
    )
    assert again.expires_at >= first.expires_at
    other = only(await desk.claim(ClaimRequest(factory_id=F1, key="k2")))
    assert other.job.id != first.job.id


async def test_a_key_without_a_current_lease_is_spent(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1"))
    await submit(db, make_job(1))
    request = ClaimRequest(factory_id=F1, key="k1")
    await desk.claim(request)
    async with db.transaction() as conn:
        await conn.execute("update job set fence_open = false, state = 'dead'")
    with pytest.raises(ClaimKeySpent):
        await desk.claim(request)


async def test_a_key_is_not_pinned_to_an_empty_answer(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1"))
    request = ClaimRequest(factory_id=F1, key="k1")
    assert isinstance(await desk.claim(request), Nothing)
    await submit(db, make_job(1))
    assert jobs_of(await desk.claim(request)) == [make_job(1).id]


async def test_twins_of_one_claim_share_one_lease(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1", seat_limit=5))
    await submit(db, *(make_job(number) for number in range(1, 6)))
    async with open_desk(db) as other:
        request = ClaimRequest(factory_id=F1, key="k1")
        answers = await asyncio.gather(
            *(place.claim(request) for place in (desk, other) for _ in range(10))
        )
    assert {(only(each).job.id, only(each).fence) for each in answers} == {(make_job(1).id, 1)}


async def test_who_hangs_up_leaves_the_queue(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1"))
    claim = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30)))
    await parked(desk, claim)
    assert desk.waiting() == {F1}
    claim.cancel()
    with suppress(asyncio.CancelledError):
        await claim
    assert desk.waiting() == frozenset()


async def test_a_closing_desk_sends_everybody_away(db: Database, desk: ClaimDesk) -> None:
    await register(db, make_factory("f1"))
    claim = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30)))
    await parked(desk, claim)
    desk.close()
    with pytest.raises(Unavailable):
        await claim
    with pytest.raises(Unavailable):
        await desk.claim(ClaimRequest(factory_id=F1))


async def test_replicas_hand_out_every_job_once_and_never_a_false_nothing(db: Database) -> None:
    names = [f"f{number}" for number in range(24)]
    await register(db, *(make_factory(name, seat_limit=20) for name in names))
    await submit(db, *(make_job(number) for number in range(1, 241)))
    async with AsyncExitStack() as stack:
        desks = [await stack.enter_async_context(open_desk(db)) for _ in range(3)]
        answers = await asyncio.gather(
            *(
                desks[index % 3].claim(ClaimRequest(factory_id=FactoryId(name)))
                for index, name in enumerate(names)
                for _ in range(10)
            )
        )
    got = [job_id for answer in answers for job_id in jobs_of(answer)]
    assert len(got) == len(set(got)) == 240
    async with db.connection() as conn:
        used = await conn.fetchval("select sum(used) from factory_seat")
        assert used == 240


async def test_a_full_lock_is_never_held_twice(db: Database) -> None:
    names = [f"f{number}" for number in range(30)]
    await register(db, *(make_factory(name) for name in names))
    merge = make_class(lock="merge")
    await submit(db, *(make_job(number, job_class=merge) for number in range(1, 31)))
    async with AsyncExitStack() as stack:
        desks = [await stack.enter_async_context(open_desk(db)) for _ in range(2)]
        answers = await asyncio.gather(
            *(
                desks[index % 2].claim(ClaimRequest(factory_id=FactoryId(name)))
                for index, name in enumerate(names)
            )
        )
    assert sum(not isinstance(answer, Nothing) for answer in answers) == 1


async def test_what_a_used_key_did_not_get_is_for_the_others(db: Database, desk: ClaimDesk) -> None:
    gpu = frozenset({"gpu"})
    await register(db, make_factory("f1", seat_limit=2), make_factory("f2", capabilities=gpu))
    await submit(db, make_job(1))
    only(await desk.claim(ClaimRequest(factory_id=F1, key="k")))
    await submit(db, make_job(2))
    repeat, other = await asyncio.gather(
        desk.claim(ClaimRequest(factory_id=F1, key="k")),
        desk.claim(ClaimRequest(factory_id=F2)),
    )
    assert jobs_of(repeat) == [make_job(1).id]
    assert jobs_of(other) == [make_job(2).id]


async def test_of_two_claims_of_a_factory_the_second_waits_for_the_seat_of_the_first(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1", seat_limit=1))
    async with db.transaction() as conn:
        await put_jobs(conn, [make_job(1), make_job(2)])
    claims = [
        asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30))) for _ in range(2)
    ]
    done, (second,) = await asyncio.wait(claims, return_when=asyncio.FIRST_COMPLETED)
    first = only(done.pop().result())
    await desk.idle.wait()
    await complete(db, F1, [Completion(job_id=first.job.id, fence=first.fence)])
    async with asyncio.timeout(5):
        assert len(jobs_of(await second)) == 1


async def test_whoever_waits_waits_through_a_row_that_is_locked_for_long(
    db: Database, desk: ClaimDesk
) -> None:
    await register(db, make_factory("f1"))
    await submit(db, make_job(1))
    async with db.transaction() as conn:
        await conn.execute("select from job for no key update")
        claim = asyncio.create_task(desk.claim(ClaimRequest(factory_id=F1, wait_s=30)))
        await asyncio.sleep(0)  # lets it begin
        await desk.idle.wait()
        assert not claim.done()
    async with asyncio.timeout(15):
        assert jobs_of(await claim) == [make_job(1).id]


_SUMS_FAIL = """
    create schema broken;
    create function broken.sum(bigint) returns bigint language plpgsql as
        $$ begin raise exception 'no sums today'; end $$;
    do $$ begin execute format(
        'alter database %I set search_path = broken, public, pg_catalog', current_database()
    ); end $$;
"""


async def test_claims_go_on_when_what_waits_cannot_be_counted(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async with db.connection() as conn:
        await conn.execute(_SUMS_FAIL)
    await register(db, make_factory("f1"))
    await submit(db, make_job(1))
    elsewhere = await Database.open(db.url)
    async with open_desk(elsewhere) as desk:
        assert jobs_of(await desk.claim(ClaimRequest(factory_id=F1))) == [make_job(1).id]
        await Tally().renew(elsewhere)
    await elsewhere.close()
    assert "what waits could not be counted" in caplog.text
