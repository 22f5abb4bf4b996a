"""SQL and the law of leases say the same, over random rows.

Completing and renewing hold their rule twice, in SQL and in :mod:`app.lease`. Each example puts
jobs into one transaction, where the time stands still, runs the statement over all of them, and
compares every row with what the law decides. The same goes for the statement that writes what the
law decided: what is read back is what was to be written.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import lease as law
from app.fleet import FactoryId, JobId, JobState, Standing
from app.life import Change, Decision, Hand, JobLife, LockAction, next_due_at
from app.runtime.ids import new_id
from app.store import classes, completing, leases, lives
from app.store.claims import LeaseId
from app.store.completing import Completing
from app.store.leases import LeaseMove, Renewed
from app.store.lives import Reading
from app.store.session import Connection, Database
from tests.strategies import make_class
from tests.support.factories import register
from tests.support.postgres import Databases

F1, F2 = FactoryId("f1"), FactoryId("f2")
OTHER_FENCE = 99

LEASED, READY, HELD, BLOCKED = JobState.LEASED, JobState.READY, JobState.HELD, JobState.BLOCKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A job to store: its life with times in seconds from now, and its lock.

    ``lock``: None, or who the lock's row names: this job (perhaps lapsed), another, or nobody.
    """

    life: JobLife
    claimed_ago_s: int
    expires_in_s: int
    cancelled_ago_s: int | None
    deadline_in_s: int | None
    lock: str | None


@st.composite
def stored(draw: st.DrawFn) -> Stored:
    """A job as the law lets it be: a seat only under a lease, a lock only lost after a lapse."""
    kind = draw(st.sampled_from(("running", "running", "lapsed", "last", "closed")))
    locks = {
        "running": (None, "mine"),
        "last": (None, "mine"),
        "lapsed": (None, "mine lapsed", "other", "nobody"),
        "closed": (None, "other", "nobody"),
    }
    states = {
        "running": (LEASED,),
        "last": (LEASED,),
        "lapsed": (READY, HELD, BLOCKED),
        "closed": tuple(set(JobState) - {LEASED}),
    }
    attempts_max = draw(st.integers(1, 3))
    state = draw(st.sampled_from(sorted(states[kind])))
    life = JobLife(
        state=state,
        fence=draw(st.integers(1, 3)),
        fence_open=kind != "closed",
        holder=draw(st.sampled_from((F1, F2))),
        seated=kind == "running",
        attempts=attempts_max if kind == "last" else draw(st.integers(1, attempts_max)),
        attempts_max=attempts_max,
        lease_s=draw(st.sampled_from((5, 60))),
        timeout_s=draw(st.sampled_from((50, 100, 3600))),
        hold=Standing(reason="x", by="ann") if state is HELD else None,
    )
    cancelled = kind in {"running", "last"} and draw(st.booleans())
    return Stored(
        life=life,
        claimed_ago_s=draw(st.sampled_from((0, 49, 50, 51, 99, 100, 101))),
        expires_in_s=draw(st.integers(-70, 60)),
        cancelled_ago_s=draw(st.sampled_from((0, 10))) if cancelled else None,
        deadline_in_s=draw(st.sampled_from((None, -1, 0, 1, 30))) if cancelled else None,
        lock=draw(st.sampled_from(locks[kind])),
    )


callers = st.tuples(
    st.sampled_from((0, 0, 0, 0, 1, -1)), st.sampled_from((True, True, True, False))
)
"""By how much a caller's fence is off, and whether it is the holder who calls."""

Rows: TypeAlias = list[tuple[Stored, tuple[int, bool]]]
rows = st.lists(st.tuples(stored(), callers), min_size=6, max_size=14)

Run: TypeAlias = Callable[[Callable[[Connection], Coroutine[Any, Any, None]]], None]


@pytest.fixture(scope="module")
def run(databases: Databases) -> Iterator[Run]:
    """Runs work in a transaction that is undone, in one database for all examples."""
    with databases.fresh() as url, asyncio.Runner() as runner:
        db = runner.run(Database.open(url))

        async def undone(work: Callable[[Connection], Coroutine[Any, Any, None]]) -> None:
            async with db.connection() as conn:
                transaction = conn.transaction()
                await transaction.start()
                try:
                    await work(conn)
                finally:
                    await transaction.rollback()

        async def prepare() -> None:
            async with db.connection() as conn:
                await register(conn, F1, seat_limit=100)
                await register(conn, F2, seat_limit=100)

        runner.run(prepare())
        yield lambda work: runner.run(undone(work))
        runner.run(db.close())


async def put(conn: Connection, jobs: Sequence[Stored]) -> list[Reading]:
    """Store jobs, each with a lock of its own if it has one; returns them as they are read."""
    now: datetime = await conn.fetchval("select now()")
    ids = []
    for number, job in enumerate(jobs):
        name = None if job.lock is None else f"lock-{number}"
        job_class = make_class(lock=name)
        class_id = (await classes.intern(conn, [job_class]))[job_class]
        job_id = JobId(new_id())
        ids.append(job_id)
        await _insert(conn, job_id, int(class_id), _timed(job, now))
        await _name_holder(conn, name, job, job_id)
    await conn.execute(
        "update factory_seat s set used ="
        " (select count(*) from job where seated and holder = s.factory_id)"
    )
    found = await lives.read(conn, ids)
    return [found[job_id] for job_id in ids]


def _timed(job: Stored, now: datetime) -> JobLife:
    def after(seconds: int | None) -> datetime | None:
        return None if seconds is None else now + timedelta(seconds=seconds)

    cancelled = None if job.cancelled_ago_s is None else -job.cancelled_ago_s
    return replace(
        job.life,
        claimed_at=after(-job.claimed_ago_s),
        lease_expires_at=after(job.expires_in_s),
        cancel_requested_at=after(cancelled),
        cancel_deadline_at=after(job.deadline_in_s),
    )


async def _insert(conn: Connection, job_id: JobId, class_id: int, life: JobLife) -> None:
    await conn.execute(
        "insert into job (id, class_id, kin, state, kind, if_parent_fails, fence, fence_open,"
        " holder, seated, lease_s, claimed_at, lease_expires_at, cancel_requested_at,"
        " cancel_deadline_at, attempts, attempts_max, timeout_s, hold_reason, hold_by)"
        " values ($1, $2, (select kin_key from job_class where id = $2), $3, 'test', 'cancel',"
        " $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,"
        " $15, $16, $17)",
        job_id,
        class_id,
        life.state,
        life.fence,
        life.fence_open,
        life.holder,
        life.seated,
        life.lease_s,
        life.claimed_at,
        life.lease_expires_at,
        life.cancel_requested_at,
        life.cancel_deadline_at,
        life.attempts,
        life.attempts_max,
        life.timeout_s,
        life.hold and life.hold.reason,
        life.hold and life.hold.by,
    )


async def _name_holder(conn: Connection, name: str | None, job: Stored, job_id: JobId) -> None:
    if job.lock in {"mine", "mine lapsed"}:
        holder, fence = job_id, job.life.fence
    elif job.lock == "other":
        holder, fence = JobId(new_id()), OTHER_FENCE
    else:
        return
    await conn.execute(
        "update job_lock set holder_job = $2, holder_fence = $3, lapsed = $4 where name = $1",
        name,
        holder,
        fence,
        job.lock == "mine lapsed",
    )


async def check(
    conn: Connection, before: Sequence[Reading], decisions: Sequence[Decision | None]
) -> None:
    """Compare lives, locks, seats and the time to look again with the decisions (None: none)."""
    locks = await _locks(conn)
    after = await lives.read(conn, [reading.id for reading in before])
    dues = dict(await conn.fetch("select id, wake_at from job"))
    seats = {F1: 0, F2: 0}
    for reading, decided in zip(before, decisions, strict=True):
        now_so = after[reading.id]
        if not isinstance(decided, Change):
            assert now_so == reading
            continue
        assert now_so.life == decided.after
        assert now_so.version == reading.version + 1
        assert dues[reading.id] == next_due_at(decided.after)
        assert decided.before.holder is not None
        seats[decided.before.holder] += decided.seat_delta
        if reading.lock is not None and decided.before.fence_open:
            _check_lock(decided, reading, locks[reading.lock])
    used = dict(await conn.fetch("select factory_id, used from factory_seat"))
    for factory_id, delta in seats.items():
        held = sum(each.life.seated and each.life.holder == factory_id for each in before)
        assert used[factory_id] == held + delta


def _check_lock(change: Change, reading: Reading, row: tuple[Any, Any, bool]) -> None:
    mine = (reading.id, change.before.fence)
    match change.lock:
        case LockAction.FREE:
            assert row == (None, None, False)
        case LockAction.LAPSE:
            assert row == (*mine, True)
        case LockAction.TAKE | LockAction.KEEP:
            assert row == (*mine, False)


async def _locks(conn: Connection) -> dict[str, tuple[Any, Any, bool]]:
    found = await conn.fetch("select name, holder_job, holder_fence, lapsed from job_lock")
    return {row["name"]: (row["holder_job"], row["holder_fence"], row["lapsed"]) for row in found}


def hands(before: Sequence[Reading], given_rows: Rows) -> list[Hand]:
    """Who calls for which job, under which fence."""
    return [
        Hand(factory=_caller(reading, own=own), fence=reading.life.fence + off)
        for reading, (_, (off, own)) in zip(before, given_rows, strict=True)
    ]


def _caller(reading: Reading, *, own: bool) -> FactoryId:
    return F1 if (reading.life.holder == F1) is own else F2


@given(given_rows=rows, by_itself=st.booleans())
def test_completing_is_the_law(run: Run, given_rows: Rows, by_itself: bool) -> None:
    async def work(conn: Connection) -> None:
        before = await put(conn, [job for job, _ in given_rows])
        calls = hands(before, given_rows)
        refs = [
            LeaseId(job_id=reading.id, fence=by.fence)
            for reading, by in zip(before, calls, strict=True)
        ]
        wanted = [
            Completing(lease=ref, factory_id=by.factory, result=None)
            for ref, by in zip(refs, calls, strict=True)
        ]
        if by_itself:
            done, parents = await completing.complete_childless(conn, wanted)
            assert parents == frozenset()
        else:
            done = await completing.complete(conn, wanted)
        decided = [
            law.complete(reading.life, by) for reading, by in zip(before, calls, strict=True)
        ]
        assert set(done) == {
            ref for ref, each in zip(refs, decided, strict=True) if isinstance(each, Change)
        }
        await check(conn, before, decided)

    run(work)


@given(given_rows=rows, lease_s=st.sampled_from((None, 30)))
def test_renewing_is_the_law(run: Run, given_rows: Rows, lease_s: int | None) -> None:
    async def work(conn: Connection) -> None:
        before = await put(conn, [job for job, _ in given_rows])
        calls = hands(before, given_rows)
        decided: list[Decision | None] = []
        wanted: dict[FactoryId, list[LeaseId]] = {F1: [], F2: []}
        for reading, by in zip(before, calls, strict=True):
            wanted[by.factory].append(LeaseId(job_id=reading.id, fence=by.fence))
            life = replace(reading.life, lease_s=lease_s or reading.life.lease_s)
            # A lapsed lease is not for this statement: it needs its seat and its lock again.
            renewed = law.renew(life, by, now=reading.now) if reading.life.seated else None
            decided.append(renewed)
        answers: dict[LeaseId, Renewed] = {}
        for factory_id, refs in wanted.items():
            answers |= await leases.renew(conn, factory_id, refs, lease_s)
        changes = [each for each in decided if isinstance(each, Change)]
        assert len(answers) == len(changes)
        assert {each.expires_at for each in answers.values()} == {
            each.after.lease_expires_at for each in changes
        }
        await check(conn, before, decided)

    run(work)


def _decide(life: JobLife, by: Hand, now: datetime, call: str) -> Decision:
    match call:
        case "renew":
            return law.renew(life, by, now=now)
        case "fail":
            return law.fail(life, by, retryable=True, retry_after_s=7, jitter_permille=0, now=now)
        case "release":
            return law.release(life, by, retry_after_s=None, now=now)
        case _:
            return law.sweep(life, jitter_permille=0, now=now)


calls_of = st.lists(
    st.sampled_from(("renew", "fail", "release", "sweep")), min_size=14, max_size=14
)


@given(given_rows=rows, what=calls_of)
def test_what_the_law_decided_is_what_is_written(
    run: Run, given_rows: Rows, what: list[str]
) -> None:
    async def work(conn: Connection) -> None:
        before = await put(conn, [job for job, _ in given_rows])
        decided = [
            _decide(reading.life, by, reading.now, call)
            for reading, by, call in zip(before, hands(before, given_rows), what, strict=False)
        ]
        moves = [
            LeaseMove(reading=reading, change=each, class_id=reading.class_id)
            for reading, each in zip(before, decided, strict=True)
            if isinstance(each, Change)
        ]
        written = await leases.write(conn, moves)
        assert set(written) == {move.reading.id for move in moves}
        await check(conn, before, decided)
        assert await leases.write(conn, moves) == {}  # their readings are old now

    run(work)
