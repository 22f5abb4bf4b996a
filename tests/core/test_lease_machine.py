"""Random lives of one job and its lock, with the sentences of the law checked after every step."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app import lease
from app.fleet import FactoryId, JobState, Standing
from app.life import (
    Change,
    Decision,
    Event,
    Hand,
    JobLife,
    LockAction,
    Reason,
    due_event,
    grace_s,
    next_due_at,
    timeout_at,
)
from tests.core.lease_strategies import (
    F1,
    F2,
    NOW,
    assert_consistent,
    assert_lawful,
    changed,
    factories,
    hand_of,
    jitters,
    waits_asked_for_s,
    waits_s,
    why_not,
)

ANOTHER_JOBS = (-1, False)


class OneJob(RuleBasedStateMachine):
    """A job row, the row of its lock and the seats of two factories, as a store would keep them.

    A run in which nobody ever claims finds nothing: rules apply only where they may matter, and
    what takes a job out of play shares one rule.
    """

    row: JobLife

    @initialize(
        attempts_max=st.integers(1, 3),
        timeout_s=st.sampled_from([20, 300, 4 * 3_600]),
        locked=st.booleans(),
    )
    def submit(self, attempts_max: int, timeout_s: int, locked: bool) -> None:
        self.now = NOW
        self.row = JobLife(state=JobState.READY, attempts_max=attempts_max, timeout_s=timeout_s)
        self.locked = locked
        self.lock: tuple[int, bool] | None = None  # the fence it names, and whether it lapsed
        self.seats: Counter[FactoryId] = Counter()
        self.lapsed_at: datetime | None = None

    @property
    def life(self) -> JobLife:
        """Read the row as the law wants it: an open fence is one that the lock still names."""
        named = not self.locked or (self.lock is not None and self.lock[0] == self.row.fence)
        return replace(self.row, fence_open=self.row.fence_open and named)

    def commit(self, decision: Decision) -> None:
        if not isinstance(decision, Change):
            return
        before, after = decision.before, decision.after
        assert_lawful(decision, self.now)
        self.apply_lock(decision)
        assert after.holder is not None or decision.seat_delta == 0
        self.seats[after.holder or F1] += decision.seat_delta
        if after.state is JobState.LEASED and not after.seated and before.seated:
            self.lapsed_at = self.now
        self.row = after

    def apply_lock(self, change: Change) -> None:
        if not self.locked or change.lock is LockAction.KEEP:
            return
        if change.event is Event.CLAIM:
            assert self.lock is None or self.lock[1]
        elif self.lock is None or self.lock[0] != change.before.fence:
            return
        fence = change.after.fence
        self.lock = {
            LockAction.TAKE: (fence, False),
            LockAction.LAPSE: (fence, True),
            LockAction.FREE: None,
        }[change.lock]

    @rule(wait_s=waits_s)
    def time_passes(self, wait_s: int) -> None:
        self.now += timedelta(seconds=wait_s)

    @precondition(lambda self: next_due_at(self.life) is not None)
    @rule(jitter=jitters)
    def time_passes_until_due_and_the_sweep_comes(self, jitter: int) -> None:
        self.now = max(self.now, next_due_at(self.life) or self.now)
        self.sweep(jitter)

    @precondition(lambda self: due_event(self.life, self.now) is not None)
    @rule(jitter=jitters)
    def sweep(self, jitter: int) -> None:
        for _ in range(4):
            if due_event(self.life, self.now) is not None:
                self.commit(lease.sweep(self.life, jitter_permille=jitter, now=self.now))
        assert due_event(self.life, self.now) is None
        life = self.life
        deadline = timeout_at(life)
        assert not life.fence_open or (deadline is not None and self.now < deadline)
        if life.state is JobState.LEASED and not life.seated:
            assert self.lapsed_at is not None
            due_at = next_due_at(life)
            assert due_at is not None
            assert due_at <= self.lapsed_at + timedelta(seconds=grace_s(life.timeout_s))

    @precondition(lambda self: self.row.state is JobState.READY)
    @rule(factory=factories, lease_s=st.sampled_from([5, 60, 86_400]))
    def claim(self, factory: FactoryId, lease_s: int) -> None:
        if self.lock is None or self.lock[1]:
            self.commit(lease.claim(self.life, factory=factory, lease_s=lease_s, now=self.now))

    @precondition(lambda self: self.life.fence_open)
    @rule()
    def renew(self) -> None:
        self.commit(lease.renew(self.life, hand_of(self.life), now=self.now))

    @precondition(lambda self: self.life.fence_open)
    @rule()
    def complete(self) -> None:
        decision = lease.complete(self.life, hand_of(self.life))
        assert changed(decision).state is JobState.SUCCEEDED
        self.commit(decision)

    @precondition(lambda self: self.life.fence_open)
    @rule(retryable=st.booleans(), retry_after_s=waits_asked_for_s, jitter=jitters)
    def fail(self, retryable: bool, retry_after_s: int | None, jitter: int) -> None:
        decision = lease.fail(
            self.life,
            hand_of(self.life),
            retryable=retryable,
            retry_after_s=retry_after_s,
            jitter_permille=jitter,
            now=self.now,
        )
        assert changed(decision).attempts == self.row.attempts
        self.commit(decision)

    @precondition(lambda self: self.life.fence_open)
    @rule(retry_after_s=waits_asked_for_s)
    def release(self, retry_after_s: int | None) -> None:
        hand = hand_of(self.life)
        decision = lease.release(self.life, hand, retry_after_s=retry_after_s, now=self.now)
        assert changed(decision).attempts == self.row.attempts - 1
        self.commit(decision)

    @precondition(lambda self: self.lock is not None and self.lock[1])
    @rule()
    def another_job_takes_the_lock(self) -> None:
        self.lock = ANOTHER_JOBS

    @precondition(lambda self: self.lock == ANOTHER_JOBS)
    @rule()
    def the_other_job_is_done_with_the_lock(self) -> None:
        self.lock = None

    @rule(
        what=st.sampled_from(["hold", "cancel", "edit", "parent fails", "parent begins again"]),
        wait_s=waits_s,
        attempts_max=st.integers(1, 3),
    )
    def something_gets_in_the_way(self, what: str, wait_s: int, attempts_max: int) -> None:
        then = self.now + timedelta(seconds=wait_s)
        if what == "hold":
            standing = Standing(reason="wait", by="ops", until=then if wait_s % 2 else None)
            self.commit(lease.hold(self.life, standing))
        elif what == "cancel":
            self.commit(lease.cancel(self.life, now=self.now))
        elif what == "edit":
            edited = replace(self.life, attempts_max=attempts_max, run_after=then)
            if self.row.state in {JobState.DEAD, JobState.CANCELLED}:
                self.row = edited  # It stays where it is, and a retry finds it repaired.
            else:
                self.commit(lease.edit(edited, now=self.now))
        else:
            self.parents_move(int(what == "parent begins again"), what == "parent fails")

    def parents_move(self, unfinished: int, failed: bool) -> None:
        self.row = replace(self.row, unfinished_parents=unfinished, parent_failed=failed)
        self.commit(lease.after_parents(self.life, now=self.now))

    @precondition(lambda self: self.row.unfinished_parents or self.row.parent_failed)
    @rule()
    def the_parents_succeed_after_all(self) -> None:
        self.parents_move(0, failed=False)

    @precondition(lambda self: self.row.hold is not None)
    @rule()
    def unhold(self) -> None:
        self.commit(lease.unhold(self.life, now=self.now))

    @precondition(lambda self: self.row.state in {JobState.DEAD, JobState.CANCELLED})
    @rule()
    def retry(self) -> None:
        self.commit(lease.retry(self.life, now=self.now))

    @precondition(lambda self: self.row.state is JobState.SUCCEEDED)
    @rule()
    def the_run_goes_on_with_the_next_job(self) -> None:
        self.row = replace(self.row, state=JobState.READY, attempts=0, cancel_requested_at=None)
        self.row = replace(self.row, cancel_deadline_at=None)

    @invariant()
    def only_the_open_fence_of_its_holder_may_write(self) -> None:
        life = self.life
        for by in (Hand(factory=F1, fence=life.fence), Hand(factory=F2, fence=life.fence - 1)):
            if life.fence_open and by == hand_of(life):
                continue
            for decision in (
                lease.renew(life, by, now=self.now),
                lease.complete(life, by),
                lease.release(life, by, retry_after_s=None, now=self.now),
                lease.fail(
                    life, by, retryable=True, retry_after_s=None, jitter_permille=0, now=self.now
                ),
            ):
                assert why_not(decision) is Reason.STALE_FENCE

    @invariant()
    def a_running_lease_has_fence_and_lock(self) -> None:
        life = self.life
        if life.state is JobState.LEASED:
            assert life.fence_open
            assert self.lock == ((life.fence, False) if self.locked else None)

    @invariant()
    def a_lapsed_lease_has_a_lapsed_lock(self) -> None:
        life = self.life
        if life.fence_open and life.state is not JobState.LEASED:
            assert life.state in {JobState.READY, JobState.HELD, JobState.BLOCKED}
            assert self.lock == ((life.fence, True) if self.locked else None)

    @invariant()
    def a_closed_fence_holds_no_lock(self) -> None:
        if not self.life.fence_open:
            assert self.lock is None or self.lock == ANOTHER_JOBS

    @invariant()
    def seats_are_counted_exactly(self) -> None:
        seated = self.row.seated
        assert not seated or self.row.state is JobState.LEASED
        assert +self.seats == (Counter([self.row.holder]) if seated else Counter())
        assert min(self.seats.values(), default=0) >= 0

    @invariant()
    def the_facts_agree(self) -> None:
        assert_consistent(self.row)


TestOneJob = OneJob.TestCase
