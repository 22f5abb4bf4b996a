"""A creating call under an idempotency key: one act, and its answer to everyone who repeats it."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from app.coordinator.once import Answer, Key, once
from app.errors import Conflict, IdempotencyMismatch
from app.store import idempotency
from app.store.retrying import Moved
from app.store.session import Connection, Database, Limits

KEY = Key(scope="t1 POST /jobs", key="k1", fingerprint=b"one body")
OTHER_BODY = Key(scope="t1 POST /jobs", key="k1", fingerprint=b"another body")


async def create(conn: Connection) -> Answer:
    """Create something that can be counted: here, a lock's row."""
    made = await conn.fetchval(
        "insert into job_lock (name) values (gen_random_uuid()) returning name"
    )
    return Answer(status=201, body={"name": made, "a": 1}, headers={"Location": f"/x/{made}"})


async def created(db: Database) -> int:
    async with db.connection() as conn:
        count: int = await conn.fetchval("select count(*) from job_lock")
        return count


async def test_twenty_twins_act_once_and_all_get_the_same_answer(db: Database) -> None:
    answers = await asyncio.gather(*(once(db, KEY, create) for _ in range(20)))
    assert await created(db) == 1
    assert sorted(answer.replayed for answer in answers) == [False] + [True] * 19
    assert len({(answer.status, str(answer.body), str(answer.headers)) for answer in answers}) == 1
    again = await once(db, KEY, create)
    assert again.replayed
    assert again.body == answers[0].body
    with pytest.raises(IdempotencyMismatch):
        await once(db, OTHER_BODY, create)
    assert await created(db) == 1


async def test_twins_need_no_more_than_two_connections(database_url: str) -> None:
    narrow = await Database.open(database_url, Limits(size=2))
    answers = await asyncio.gather(*(once(narrow, KEY, create) for _ in range(20)))
    assert [answer.replayed for answer in answers].count(False) == 1
    await narrow.close()


async def test_twins_with_different_bodies_do_not_both_act(db: Database) -> None:
    keys = [KEY, OTHER_BODY] * 6
    answers = await asyncio.gather(*(once(db, key, create) for key in keys), return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, IdempotencyMismatch)]
    assert len(refused) == 6
    assert await created(db) == 1


async def test_the_same_key_of_somebody_else_is_another_key(db: Database) -> None:
    await once(db, KEY, create)
    other = Key(scope="t2 POST /jobs", key=KEY.key, fingerprint=KEY.fingerprint)
    assert not (await once(db, other, create)).replayed
    assert await created(db) == 2


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("signal", [Moved, asyncpg.DeadlockDetectedError])
async def test_an_act_under_which_something_moved_begins_again_from_nothing(
    db: Database, key: Key | None, signal: type[Exception]
) -> None:
    signals = iter([signal, signal])

    async def act(conn: Connection) -> Answer:
        answer = await create(conn)
        for each in signals:
            raise each
        return answer

    assert not (await once(db, key, act)).replayed
    assert await created(db) == 1


async def test_without_a_key_every_call_acts(db: Database) -> None:
    for _ in range(2):
        assert not (await once(db, None, create)).replayed
    assert await created(db) == 2


def failing_first(
    act: Callable[[Connection], Awaitable[Answer]],
) -> Callable[[Connection], Awaitable[Answer]]:
    calls = iter(range(100))

    async def wrapped(conn: Connection) -> Answer:
        answer = await act(conn)
        if next(calls) == 0:
            detail = "not now"
            raise Conflict(detail)
        return answer

    return wrapped


async def test_a_call_that_failed_left_nothing_and_may_be_repeated(db: Database) -> None:
    act = failing_first(create)
    with pytest.raises(Conflict):
        await once(db, KEY, act)
    assert await created(db) == 0
    assert not (await once(db, KEY, act)).replayed
    assert (await once(db, KEY, act)).replayed
    assert await created(db) == 1


async def test_when_the_acting_twin_fails_the_next_one_acts(db: Database) -> None:
    act = failing_first(create)
    answers = await asyncio.gather(*(once(db, KEY, act) for _ in range(8)), return_exceptions=True)
    assert [isinstance(answer, Conflict) for answer in answers].count(True) == 1
    assert await created(db) == 1


async def test_a_secret_is_shown_once_and_not_kept(db: Database) -> None:
    async def act(_conn: Connection) -> Answer:
        return Answer(status=201, body={"token": "s3cret"}, kept_body={"token": None})

    first = await once(db, KEY, act)
    assert first.body == {"token": "s3cret"}
    assert "s3cret" not in repr(first)
    assert (await once(db, KEY, act)).body == {"token": None}
    async with db.connection() as conn:
        assert "s3cret" not in await conn.fetchval(
            "select idempotency_key::text from idempotency_key"
        )


async def test_a_repeat_gets_members_in_their_order_and_any_text(db: Database) -> None:
    async def act(_conn: Connection) -> Answer:
        return Answer(status=201, body={"zz": 1, "a": [None, 1.5, "\u0000 é"], "b": {}})

    first = await once(db, KEY, act)
    assert str((await once(db, KEY, act)).body) == str(first.body)


async def test_a_key_lives_for_a_day_and_then_is_forgotten(db: Database) -> None:
    await once(db, KEY, create)
    async with db.connection() as conn:
        assert await idempotency.purge(conn, 10) == 0
        left = await conn.fetchval("select expires_at - now() from idempotency_key")
        assert 86_300 < left.total_seconds() <= 86_400
        await conn.execute("update idempotency_key set expires_at = now()")
    assert not (await once(db, OTHER_BODY, create)).replayed
    assert (await once(db, OTHER_BODY, create)).replayed
    async with db.connection() as conn:
        await conn.execute("update idempotency_key set expires_at = now()")
        assert await idempotency.purge(conn, 10) == 1
        assert await idempotency.purge(conn, 10) == 0
