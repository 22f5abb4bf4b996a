"""Dependants: what the end of a job does to those that wait for it, and to theirs in turn.

The work goes level by level, a few statements for each, however many jobs are in it. A level is
locked before it is read, so that several parents which end at the same moment are counted one
after the other, and the last of them finds nothing left to wait for.
"""

from collections.abc import Iterable, Sequence

from app import lease
from app.errors import LostRace
from app.fleet import FINISHED, ClassId, JobId, JobState
from app.life import Change, Event, LockAction
from app.store import dependants, events, lives
from app.store.events import NewEvent
from app.store.lives import Move, Reading
from app.store.session import Connection
from app.store.wake import wake


async def parent_ended(
    conn: Connection, ended: Iterable[tuple[JobId, JobState]]
) -> frozenset[ClassId]:
    """Move the dependants of jobs that the caller's transaction has just ended.

    A success lets those go that waited for it alone. A job that is dead or cancelled cancels them,
    unless they say ``if_parent_fails: run``, and so on downwards.

    Args:
        conn: the transaction in which the jobs ended; it holds their rows.
        ended: the jobs and the states they ended in; those that have no dependants do no harm.

    Returns:
        The classes in which jobs became ready, for the caller to wake.
    """
    woken: set[ClassId] = set()
    level = dict(ended)
    while level:
        locked = await dependants.lock(conn, level)
        readings = await lives.read(conn, locked)
        moves = _moves(readings.values(), level)
        await _write(conn, readings, moves)
        woken.update(
            move.reading.class_id for move in moves if move.change.after.state is JobState.READY
        )
        level = {move.reading.id: move.change.after.state for move in moves if move.change.finished}
    return frozenset(woken)


def _moves(readings: Iterable[Reading], ended: dict[JobId, JobState]) -> list[Move]:
    moves = []
    for reading in readings:
        decided = lease.after_parents(reading.life, now=reading.now)
        if isinstance(decided, Change):
            moves.append(Move(reading=reading, change=decided, because_of=_cause(reading, ended)))
    return moves


def _cause(reading: Reading, ended: dict[JobId, JobState]) -> JobId | None:
    """Return the parent that cancels the job: one that just ended, rather than an older one."""
    if not reading.life.parent_failed:
        return None
    failed = reading.failed_parents
    return next((parent for parent in failed if parent in ended), failed[0])


async def _write(conn: Connection, readings: dict[JobId, Reading], moves: Sequence[Move]) -> None:
    moved = await lives.write(conn, moves) if moves else {}
    if len(moved) < len(moves):
        detail = "A job that depends on this one changed although it was locked."
        raise LostRace(detail)
    await dependants.count(
        conn,
        {
            reading.id: reading.life.unfinished_parents
            for reading in readings.values()
            if reading.id not in moved
        },
    )
    await events.record(conn, [_event(move) for move in moves])
    if any(_frees_lock(move) for move in moves):
        await wake(conn)


def _frees_lock(move: Move) -> bool:
    return move.reading.lock is not None and move.change.lock is LockAction.FREE


def _event(move: Move) -> NewEvent:
    after = move.change.after
    closed = move.change.fence_closed
    return NewEvent(
        job_id=move.reading.id,
        event=move.change.event,
        factory_id=after.holder if closed else None,
        fence=after.fence if closed else None,
        detail={
            "state": after.state.value,
            **({"parent": str(move.because_of)} if move.because_of else {}),
            **({"cancel_requested": True} if _asks(move) else {}),
        },
    )


def _asks(move: Move) -> bool:
    """Whether the dependant runs, so that its holder is only asked to stop."""
    return move.change.event is Event.PARENT_FAILED and move.change.after.state not in FINISHED
