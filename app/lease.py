"""The law of job states, leases, fences, retries and backoff.

**Terms.** A *lease* lets one factory run one job until ``lease_expires_at``; renewing moves that
end. A *fence* is the number of a lease: one more with each claim of the job, never less, not by
retry or revocation. A fence is *open* from its claim until the first of: its holder settles it
(complete, fail, release), the job is leased again, its lock is taken by another job, or it is
revoked (timeout, cancel, death, an edit of what is to run). A lease whose end was written down
while its fence stays open has *lapsed* and occupies no *seat*; until then it does.

**Who is authoritative.** The row. Closing a fence is a write to it and whichever write commits
first wins; the clock alone closes nothing, it only makes a write *due* (:func:`sweep`). ``now`` is
always the database's clock, jitter an argument. To SQL, a fence is open if ``job.fence_open`` and
the job's class has no lock or the lock's row names (job, fence); :class:`JobLife` is given that
conjunction. An open fence implies an unfinished job, so no statement need test the state as well;
``FREE``, ``LAPSE`` and a late ``TAKE`` apply only to a lock row that names (job, fence).

**The states**, in outline; row by row they are :data:`app.life.TRANSITIONS`::

    blocked ──► scheduled ──► ready ──claim──► leased ──complete──► succeeded
       │           ▲ ▲          ▲               │ │
       └───────────┼─┼──────────┤◄──expire──────┤ ├──last attempt───► dead ───────┐
                   │ └──────────┴───release─────┤ │                               │
                   └──fail, time out: backoff───┘ └──after a cancel─► cancelled ──┤
    blocked | scheduled | ready ◄─────────────────────retry───────────────────────┘
    blocked | scheduled | ready ◄──► held     any of these four, and dead ──cancel──► cancelled

**Each failure and its answer.**

- *The holder falls silent.* The job is ready again, attempts as they are (counted at the claim),
  lock lapsed, fence open. Late, the holder may still renew (the seat is taken again, over the limit
  if need be), complete, fail or release, until one of the four ends above.
- *It falls silent on the last attempt.* Death would cancel dependants, so the job stays leased
  without a seat, lock kept, for a grace of 15 minutes or ``timeout_s`` if less. The grace starts
  when the lapse is written: an outage of the coordinator does not eat it.
- *It hangs but renews.* ``timeout_s`` runs from the claim. Beyond it no renewal is granted, and the
  next sweep fails the attempt; until that write a complete, fail or release still counts. A job
  that had lapsed only loses its open fence: it is back in the queue, with nothing to wait for.
- *It fails.* Backoff while attempts are left, else dead. *A fault not of the job* (release) gives
  the attempt back.
- *Cancel meets a lease.* The next renewal tells it and is the last to prolong it. A complete before
  the end succeeds; every other exit, the lease's end included, ends in cancelled.
- *Hold meets an open fence.* A hold revokes nothing: it keeps new claims away, the holder may still
  write. If that is a renewal, the job is leased with the hold standing, and held again after it,
  unless it is finished. A lease that runs cannot be held (409); cancel is the word for that.
- *A parent fails* or is retried: :func:`after_parents`. Nothing pulls back a lease that runs, but
  where the job rests next is blocked if a parent is unfinished then. A parent's retry revives what
  was cancelled because of a parent, unless another parent is still dead or cancelled.
- *An answer was lost.* Repeating the call that closed the fence is answered from the record
  (:func:`repeated`); any other call with it is stale. Neither changes anything.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from app.fleet import FINISHED, FactoryId, JobState, Outcome, Standing
from app.life import (
    SETTLING,
    TRANSITIONS,
    Change,
    Decision,
    Event,
    Hand,
    JobLife,
    LockAction,
    Reason,
    Refused,
    backoff,
    due_event,
    rest_state,
    retry_after,
    timeout_at,
)

_LEASED, _HELD = JobState.LEASED, JobState.HELD
_SUCCEEDED, _DEAD, _CANCELLED = JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED


def claim(life: JobLife, *, factory: FactoryId, lease_s: int, now: datetime) -> Decision:
    """Lease a ready job under its next fence; the fence of a lapsed lease closes by that."""
    if not _possible(life, Event.CLAIM) or life.attempts >= life.attempts_max:
        return Refused(reason=Reason.IMPOSSIBLE)
    after = replace(
        life,
        state=_LEASED,
        fence=life.fence + 1,
        fence_open=True,
        holder=factory,
        seated=True,
        attempts=life.attempts + 1,
        claimed_at=now,
        lease_s=lease_s,
        lease_expires_at=now + timedelta(seconds=lease_s),
    )
    return Change(event=Event.CLAIM, before=life, after=after, lock=LockAction.TAKE)


def renew(life: JobLife, by: Hand, *, now: datetime) -> Decision:
    """Prolong the lease, or resume a lapsed one: then its seat and its lock are taken again."""
    if not _may_write(life, by):
        return Refused(reason=Reason.STALE_FENCE)
    if any(end is not None and end <= now for end in (timeout_at(life), life.cancel_deadline_at)):
        return Refused(reason=Reason.OVERDUE)
    until = now + timedelta(seconds=life.lease_s)
    if life.cancel_requested_at is not None:
        until = min(until, life.cancel_deadline_at or until)
    after = replace(
        life,
        state=_LEASED,
        seated=True,
        lease_expires_at=until,
        cancel_deadline_at=until if life.cancel_requested_at is not None else None,
    )
    lock = LockAction.KEEP if life.seated else LockAction.TAKE
    return Change(event=Event.RENEW, before=life, after=after, lock=lock)


def complete(life: JobLife, by: Hand) -> Decision:
    """End the job well; it alone is not overruled by a cancel that was only requested."""
    if not _may_write(life, by):
        return Refused(reason=Reason.STALE_FENCE)
    return _closed(life, Event.COMPLETE, replace(life, state=_SUCCEEDED), Outcome.SUCCEEDED)


def fail(
    life: JobLife,
    by: Hand,
    *,
    retryable: bool,
    retry_after_s: int | None,
    jitter_permille: int,
    now: datetime,
) -> Decision:
    """End the attempt badly: again after a wait, if that may help and attempts are left."""
    if not _may_write(life, by):
        return Refused(reason=Reason.STALE_FENCE)
    wait = backoff(life.attempts, jitter_permille)
    if retry_after_s is not None:
        wait = retry_after(retry_after_s)
    after = _after_failure(life, wait, now) if retryable else replace(life, state=_DEAD)
    return _closed(life, Event.FAIL, after, Outcome.FAILED)


def release(life: JobLife, by: Hand, *, retry_after_s: int | None, now: datetime) -> Decision:
    """Give the job back for a reason that is not its own: the attempt does not count."""
    if not _may_write(life, by):
        return Refused(reason=Reason.STALE_FENCE)
    run_after = life.run_after if retry_after_s is None else now + retry_after(retry_after_s)
    given_back = replace(life, attempts=max(0, life.attempts - 1), run_after=run_after)
    return _closed(life, Event.RELEASE, _at_rest(given_back, now), Outcome.RELEASED)


def repeated(closed_by: Event | None, call: Event) -> Refused:
    """Judge a call whose fence is not open: the one that closed it again, or one that is stale."""
    same = closed_by is call and call in SETTLING
    return Refused(reason=Reason.ALREADY if same else Reason.STALE_FENCE)


def cancel(life: JobLife, *, now: datetime) -> Decision:
    """Cancel at once what nobody is running, the dead too; ask for the end of what somebody is."""
    return _cancelled(life, Event.CANCEL, now)


def hold(life: JobLife, standing: Standing) -> Decision:
    """Keep new claims away until lifted; a second hold replaces the words of the first."""
    if not _possible(life, Event.HOLD):
        return Refused(reason=Reason.IMPOSSIBLE)
    return Change(event=Event.HOLD, before=life, after=replace(life, state=_HELD, hold=standing))


def unhold(life: JobLife, *, now: datetime) -> Decision:
    """Lift a hold; where the job belongs is computed anew, nothing was remembered."""
    if not _possible(life, Event.UNHOLD) or life.hold is None:
        return Refused(reason=Reason.IMPOSSIBLE)
    lifted = replace(life, hold=None)
    after = lifted if life.state is _LEASED else _at_rest(lifted, now)
    return Change(event=Event.UNHOLD, before=life, after=after)


def edit(life: JobLife, *, now: datetime) -> Decision:
    """Place a job whose run_after, parents, bounds or payload were replaced; its fence closes.

    ``life`` is the edited one. Bounds that leave no attempt are refused.
    """
    if not _possible(life, Event.EDIT) or life.attempts >= life.attempts_max:
        return Refused(reason=Reason.IMPOSSIBLE)
    after = _at_rest(life, now)
    if life.parent_failed:
        after = replace(life, state=_CANCELLED, cancelled_by_parent=True)
    return _closed(life, Event.EDIT, after, None)


def retry(life: JobLife, *, now: datetime) -> Decision:
    """Begin a dead or cancelled job again: fresh attempts, the fence goes on counting."""
    if not _possible(life, Event.RETRY):
        return Refused(reason=Reason.IMPOSSIBLE)
    if life.parent_failed:
        return Refused(reason=Reason.PARENT_FAILED)
    fresh = replace(
        life,
        attempts=0,
        cancelled_by_parent=False,
        cancel_requested_at=None,
        cancel_deadline_at=None,
    )
    return Change(event=Event.RETRY, before=life, after=_at_rest(fresh, now))


def after_parents(life: JobLife, *, now: datetime) -> Decision:
    """Move a dependant after a parent ended or was retried; ``life`` has the new facts of them.

    Apply it to the dependants of whatever it finishes or revives in turn.
    """
    if life.state is _CANCELLED and life.cancelled_by_parent:
        return retry(life, now=now)
    if life.parent_failed:
        return _cancelled(life, Event.PARENT_FAILED, now)
    waits = life.unfinished_parents > 0
    event = Event.PARENT_REVIVED if waits else Event.PARENTS_DONE
    if not _possible(life, event):
        return Refused(reason=Reason.ALREADY)
    return Change(event=event, before=life, after=_at_rest(life, now))


def sweep(life: JobLife, *, jitter_permille: int, now: datetime) -> Decision:
    """Write down what time alone has brought about, at most one thing; sweep again for the next."""
    event = due_event(life, now)
    if event is Event.EXPIRE:
        return _expired(life, now)
    if event is Event.GRACE_OVER:
        return _closed(life, event, replace(life, state=_DEAD), None)
    if event is Event.TIME_OUT:
        # A lapsed lease was charged to its holder when it lapsed, and its job is not sent to wait.
        runs = life.state is _LEASED
        after = _after_failure(life, backoff(life.attempts, jitter_permille), now) if runs else life
        return _closed(life, event, after, Outcome.TIMED_OUT if life.seated else None)
    if event is None:
        return Refused(reason=Reason.NOT_DUE)
    return Change(event=event, before=life, after=_at_rest(replace(life, hold=None), now))


def _possible(life: JobLife, event: Event) -> bool:
    return (life.state, event) in TRANSITIONS


def _may_write(life: JobLife, by: Hand) -> bool:
    return life.fence_open and (life.fence, life.holder) == (by.fence, by.factory)


def _at_rest(life: JobLife, now: datetime) -> JobLife:
    state = rest_state(
        on_hold=life.hold is not None,
        unfinished_parents=life.unfinished_parents,
        run_after=life.run_after,
        now=now,
    )
    return replace(life, state=state)


def _after_failure(life: JobLife, wait: timedelta, now: datetime) -> JobLife:
    if life.attempts >= life.attempts_max:
        return replace(life, state=_DEAD)
    return _at_rest(replace(life, run_after=now + wait), now)


def _expired(life: JobLife, now: datetime) -> Change:
    """End a lease by time: alone among the exits it leaves the fence open."""
    if life.cancel_requested_at is not None:
        return _closed(life, Event.EXPIRE, life, Outcome.EXPIRED)
    lock = LockAction.LAPSE
    after = replace(_at_rest(life, now), seated=False)
    if life.attempts >= life.attempts_max:
        lock = LockAction.KEEP
        after = replace(life, seated=False, lease_expires_at=now)
    return Change(event=Event.EXPIRE, before=life, after=after, lock=lock, outcome=Outcome.EXPIRED)


def _cancelled(life: JobLife, event: Event, now: datetime) -> Decision:
    if not _possible(life, event) or life.cancel_requested_at is not None:
        return Refused(reason=Reason.ALREADY)
    marked = replace(life, cancelled_by_parent=event is Event.PARENT_FAILED)
    if life.state is not _LEASED:
        return _closed(life, event, replace(marked, state=_CANCELLED), None)
    # A holder that has lapsed may not call for long: its one more lease begins now.
    deadline_at = None if life.seated else now + timedelta(seconds=life.lease_s)
    after = replace(marked, cancel_requested_at=now, cancel_deadline_at=deadline_at)
    return Change(event=event, before=life, after=after)


def _closed(life: JobLife, event: Event, after: JobLife, outcome: Outcome | None) -> Change:
    """Close the fence, if one is open; a cancel that waited for that overrules all but success."""
    if life.cancel_requested_at is not None and after.state is not _SUCCEEDED:
        after = replace(after, state=_CANCELLED)
        outcome = outcome and Outcome.CANCELLED
    standing = None if after.state in FINISHED else after.hold
    after = replace(after, fence_open=False, seated=False, hold=standing)
    lock = LockAction.FREE if life.fence_open else LockAction.KEEP
    return Change(event=event, before=life, after=after, lock=lock, outcome=outcome)
