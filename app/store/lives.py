"""The lives of jobs nobody runs: read as the law sees them, and moved by a compare-and-swap.

For the calls of people: cancel, hold, retry, edit. They touch no seat, since a job whose lease runs
is moved by its holder and by the sweep only; what people may change of it is said in its row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.fleet import ClassId, FactoryId, IfParentFails, JobId, JobState, Standing
from app.life import LEASE_S_DEFAULT, Change, JobLife, LockAction, next_due_at
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A job's life as it was read, with what a write compares and what it has to move besides.

    ``parents_left`` is the count that is stored; ``life`` has them counted anew. ``failed_parents``
    are those dead or cancelled, whatever the job's policy makes of that.
    """

    id: JobId
    version: int
    class_id: ClassId
    lock: str | None
    life: JobLife
    parents_left: int
    if_parent_fails: IfParentFails
    failed_parents: tuple[JobId, ...]
    cancelled_by_parent: JobId | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change to write, decided on this reading.

    ``because_of`` is the parent that cancels the job by it; one that did so before is kept for as
    long as the law calls the job cancelled because of a parent.
    """

    reading: Reading
    change: Change
    because_of: JobId | None = None

    @property
    def cancelled_by_parent(self) -> JobId | None:
        """The parent whose retry would revive the job."""
        if not self.change.after.cancelled_by_parent:
            return None
        return self.because_of or self.reading.cancelled_by_parent


async def read(conn: Connection, ids: Iterable[JobId]) -> dict[JobId, Reading]:
    """Read lives; a job that does not exist is left out."""
    rows = await conn.fetch(sql("life_read"), list(ids))
    return {JobId(row["id"]): _to_reading(row) for row in rows}


async def write(conn: Connection, moves: Sequence[Move]) -> dict[JobId, bool]:
    """Move jobs, each to its next version, and free the locks whose fence closes by that.

    Several jobs must have been locked before, in the order of their ids.

    Returns:
        The jobs that moved, and whether any others depend on them. One is missing if it changed
        since it was read.
    """
    rows = await conn.fetch(
        sql("life_write"),
        [move.reading.id for move in moves],
        [move.reading.version for move in moves],
        [move.reading.parents_left for move in moves],
        *_columns(
            [move.change.after for move in moves], [move.cancelled_by_parent for move in moves]
        ),
    )
    moved = {JobId(row["id"]): row["dependants"] > 0 for row in rows}
    await _free_locks(conn, [move for move in moves if move.reading.id in moved])
    return moved


async def _free_locks(conn: Connection, moves: Sequence[Move]) -> None:
    freed = sorted(
        (move.reading.lock, move.reading.id, move.change.before.fence)
        for move in moves
        if move.change.lock is LockAction.FREE and move.reading.lock is not None
    )
    if freed:
        await conn.execute(
            sql("lock_free"),
            [lock for lock, _, _ in freed],
            [job_id for _, job_id, _ in freed],
            [fence for _, _, fence in freed],
        )


def _columns(lives: Sequence[JobLife], because_of: Sequence[JobId | None]) -> list[list[object]]:
    return [
        [life.state for life in lives],
        [life.fence_open for life in lives],
        [life.attempts for life in lives],
        [life.run_after for life in lives],
        [life.unfinished_parents for life in lives],
        list(because_of),
        [life.cancel_requested_at for life in lives],
        [life.cancel_deadline_at for life in lives],
        [life.hold and life.hold.reason for life in lives],
        [life.hold and life.hold.by for life in lives],
        [life.hold and life.hold.until for life in lives],
        [next_due_at(life) for life in lives],
    ]


def _to_reading(row: Record) -> Reading:
    policy = IfParentFails(row["if_parent_fails"])
    failed = tuple(JobId(parent) for parent in row["failed_parents"] or ())
    hold = None
    if row["hold_reason"] is not None:
        hold = Standing(reason=row["hold_reason"], by=row["hold_by"], until=row["hold_until"])
    life = JobLife(
        state=JobState(row["state"]),
        fence=row["fence"],
        fence_open=row["fence_open"],
        holder=None if row["holder"] is None else FactoryId(row["holder"]),
        seated=row["seated"],
        attempts=row["attempts"],
        attempts_max=row["attempts_max"],
        claimed_at=row["claimed_at"],
        lease_s=row["lease_s"] or LEASE_S_DEFAULT,
        lease_expires_at=row["lease_expires_at"],
        timeout_s=row["timeout_s"],
        run_after=row["run_after"],
        unfinished_parents=row["unfinished_parents"],
        parent_failed=bool(failed) and policy is IfParentFails.CANCEL,
        cancelled_by_parent=row["cancelled_by_parent"] is not None,
        cancel_requested_at=row["cancel_requested_at"],
        cancel_deadline_at=row["cancel_deadline_at"],
        hold=hold,
    )
    return Reading(
        id=JobId(row["id"]),
        version=row["version"],
        class_id=ClassId(row["class_id"]),
        lock=row["lock"],
        life=life,
        parents_left=row["parents_left"],
        if_parent_fails=policy,
        failed_parents=failed,
        cancelled_by_parent=(
            None if row["cancelled_by_parent"] is None else JobId(row["cancelled_by_parent"])
        ),
        now=row["now"],
    )
