"""Expire: write down what time alone has brought about, in one pass of the lease loop.

A pass is a row of short transactions. Every batch is read, decided by :mod:`app.lease` and written
with each row compared with its reading, so that whatever a factory or a person did meanwhile wins.
A row that cannot be handled never stops the others: its batch is done again row by row, the odd one
is reported and put off, and rows that somebody sits on are passed over until the next pass.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from logging import getLogger

from app import lease as law
from app.coordinator import dead_ends, forget, steps
from app.coordinator.quarantine import quarantine_if_due
from app.coordinator.steps import Step
from app.errors import LostRace, Unavailable
from app.fleet import JobId, JobState, Outcome
from app.life import Change, Event, next_due_at
from app.runtime.ids import chance
from app.store import leases, retrying, sweeping
from app.store.session import Connection, Database

_LOG = getLogger(__name__)

BATCH = 200
BATCHES_MAX = 20
"""What is left after so many batches waits for the next pass, a second later."""

WAIT_MS = 1000
WAIT_SINGLY_MS = 200
"""How long a batch, or a single job, waits for rows that somebody else has locked."""

POSTPONED_S = 600
"""When an odd job is tried, and reported, again."""

FAILED_LATELY_S = 120
"""For how long after a failure the loop asks whether its factory belongs into quarantine."""

RETENTION = timedelta(days=30)
"""How long finished work is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OddJob:
    """A job that could not be handled, and what was in the way."""

    job_id: JobId
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReport:
    """What a pass did; ``busy``: another process is at it, so this pass stopped."""

    expired: int = 0
    died: int = 0
    timed_out: int = 0
    unblocked: int = 0
    pruned: int = 0
    busy: bool = False
    odd: tuple[OddJob, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Pass:
    db: Database
    draw: Callable[[], float]
    tally: Counter[Event | JobState] = field(default_factory=Counter)
    passed_over: set[JobId] = field(default_factory=set)
    odd: list[OddJob] = field(default_factory=list)
    busy: bool = False


async def sweep(
    db: Database, *, retention: timedelta = RETENTION, draw: Callable[[], float] = chance
) -> LeaseReport:
    """Do one pass: expire, time out, end, unblock, quarantine, and forget what is old.

    Args:
        db: where.
        retention: how long jobs that succeeded or were cancelled are kept.
        draw: chance, for the jitter of waits and what to look for: a number from 0 to below 1.
    """
    tour = _Pass(db=db, draw=draw)
    for _ in range(BATCHES_MAX):
        if not await _batch(tour):
            break
    freed = pruned = 0
    if not tour.busy:
        freed = await dead_ends.clear(db)
        pruned = await forget.forget(db, retention, draw=draw)
        await _quarantine(db)
    return LeaseReport(
        expired=tour.tally[Event.EXPIRE],
        died=tour.tally[JobState.DEAD],
        timed_out=tour.tally[Event.TIME_OUT],
        unblocked=tour.tally[Event.DUE] + tour.tally[Event.UNHOLD] + freed,
        pruned=pruned,
        busy=tour.busy,
        odd=tuple(tour.odd),
    )


async def _batch(tour: _Pass) -> bool:
    """Handle the jobs that are longest overdue; tells whether there may be more."""
    async with tour.db.connection() as conn:
        ids = await sweeping.due(conn, BATCH, tour.passed_over)
    if not ids:
        return False
    try:
        await _handle(tour, ids, wait_ms=WAIT_MS)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001 - whatever it was, the others must go on
        for job_id in ids:
            await _singly(tour, job_id)
    return not tour.busy


async def _singly(tour: _Pass, job_id: JobId) -> None:
    """Handle one job; if that is impossible, say so and see that it stands in nobody's way."""
    try:
        await _handle(tour, [job_id], wait_ms=WAIT_SINGLY_MS)
    except Unavailable:
        raise
    except (LostRace, *sweeping.ROW_IN_USE):
        tour.passed_over.add(job_id)
    except Exception as error:  # noqa: BLE001 - as above
        _LOG.exception("The lease loop cannot handle job %s.", job_id)
        tour.odd.append(OddJob(job_id=job_id, error=f"{type(error).__name__}: {error}"))
        tour.passed_over.add(job_id)
        await _postpone(tour.db, job_id)


async def _postpone(db: Database, job_id: JobId) -> None:
    try:
        async with db.transaction() as conn:
            await sweeping.begin(conn, wait_ms=WAIT_SINGLY_MS)
            await sweeping.postpone(conn, job_id, POSTPONED_S)
    except Unavailable:
        raise
    except Exception:  # noqa: BLE001 - as above
        _LOG.exception("Job %s cannot even be put off; it is passed over in each pass.", job_id)


async def _handle(tour: _Pass, ids: Sequence[JobId], *, wait_ms: int) -> None:
    """Read, decide and write these jobs in one transaction, and count what was done."""

    async def act(conn: Connection) -> list[Step] | None:
        if not await sweeping.begin(conn, wait_ms=wait_ms):
            return None
        return await _write_down(conn, ids, tour.draw)

    done = await retrying.settled(tour.db, act)
    if done is None:
        tour.busy = True
        return
    handled = {step.reading.id for step in done}
    tour.passed_over.update(job_id for job_id in ids if job_id not in handled)
    for step in done:
        tour.tally[step.change.event] += 1
        tour.tally[step.change.after.state] += 1


async def _write_down(
    conn: Connection, ids: Sequence[JobId], draw: Callable[[], float]
) -> list[Step]:
    todo, idle = [], []
    for reading in await sweeping.readings(conn, ids):
        decided = law.sweep(reading.life, jitter_permille=int(draw() * 1000), now=reading.now)
        if isinstance(decided, Change):
            todo.append(Step(reading=reading, change=decided, excludes=_excludes(decided)))
        else:
            # Its lock, and so its fence, went elsewhere: there is less to wait for than was said.
            idle.append((reading, next_due_at(reading.life)))
    moved = await steps.write(conn, todo) if todo else {}
    if idle:
        await leases.look_again(conn, idle)
    return [step for step in todo if step.reading.id in moved]


async def _quarantine(db: Database) -> None:
    """See to factories that failed lately: the call that reported it may have found it locked."""

    async def act(conn: Connection) -> None:
        await quarantine_if_due(conn, await sweeping.failed_lately(conn, FAILED_LATELY_S))

    await retrying.settled(db, act)


def _excludes(change: Change) -> bool:
    """Whether an attempt went wrong at its holder, so that another factory should try next."""
    return change.outcome in {Outcome.EXPIRED, Outcome.TIMED_OUT}
