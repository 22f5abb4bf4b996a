"""A job's state against its parents: what SQL keeps is what the plain rule says.

Jobs are submitted, edited, held, leased, ended, cancelled and retried at random. After each step
every stored state equals that of a second, naive version of the rule, which remembers only what
each job did in its own right and works out all the rest from scratch.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from app.coordinator.cancel import CancelOutcome, cancel
from app.coordinator.edit import JobPatch, edit
from app.coordinator.hold import hold, unhold
from app.coordinator.retry import retry
from app.errors import DependencyCycle, ImpossibleTransition
from app.fleet import FINISHED, IfParentFails, JobId, JobState
from app.store.session import Database
from tests.support.factories import OPS, database_now
from tests.support.jobs import end, get, lease, make_spec, put, put_all

T = TypeVar("T")
JOBS_MAX = 6
FAILED = {JobState.DEAD, JobState.CANCELLED}
RESTING = {JobState.BLOCKED, JobState.SCHEDULED, JobState.READY, JobState.HELD}

indexes = st.integers(0, JOBS_MAX - 1)
parent_sets = st.sets(indexes, max_size=3)
policies = st.sampled_from(IfParentFails)


@dataclass(slots=True)
class Model:
    """A job as the plain rule knows it: ``own`` is how it ended by itself, if it did."""

    id: JobId
    parents: set[int]
    policy: IfParentFails
    later: bool = False
    held: bool = False
    leased: bool = False
    own: JobState | None = None


@dataclass(slots=True)
class Rule:
    """The naive rule over all jobs."""

    jobs: list[Model] = field(default_factory=list)

    def state(self, index: int) -> JobState:
        job = self.jobs[index]
        parents = [self.state(parent) for parent in job.parents]
        if job.own is not None:
            return job.own
        if job.leased:
            return JobState.LEASED
        if job.policy is IfParentFails.CANCEL and FAILED.intersection(parents):
            return JobState.CANCELLED
        if job.held:
            return JobState.HELD
        if any(parent not in FINISHED for parent in parents):
            return JobState.BLOCKED
        return JobState.SCHEDULED if job.later else JobState.READY

    def waits_for(self, index: int) -> set[int]:
        """The job itself and all above it."""
        return {index}.union(*(self.waits_for(parent) for parent in self.jobs[index].parents))


class ParentsAndChildren(RuleBasedStateMachine):
    """Random families, against one database."""

    def __init__(self, db: Database, runner: asyncio.Runner) -> None:
        super().__init__()
        self.db = db
        self.runner = runner
        self.rule = Rule()
        self.later = self.run(self.an_hour_from_now())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def an_hour_from_now(self) -> datetime:
        async with self.db.connection() as conn:
            return await database_now(conn) + timedelta(hours=1)

    def pick(self, index: int, *states: JobState) -> tuple[int, Model] | None:
        """One of the jobs in one of these states."""
        some = [i for i in range(len(self.rule.jobs)) if self.rule.state(i) in states]
        if not some:
            return None
        chosen = some[index % len(some)]
        return chosen, self.rule.jobs[chosen]

    @initialize(parents=st.lists(st.tuples(parent_sets, policies), min_size=2, max_size=5))
    def submit_batch(self, parents: list[tuple[set[int], IfParentFails]]) -> None:
        families = [
            ({parent for parent in each if parent < i}, policy)
            for i, (each, policy) in enumerate(parents)
        ]
        specs = [
            make_spec(
                ref=str(i),
                depends_on_refs=tuple(str(parent) for parent in each),
                if_parent_fails=policy,
            )
            for i, (each, policy) in enumerate(families)
        ]
        for job, (each, policy) in zip(self.run(put_all(self.db, *specs)), families, strict=True):
            self.rule.jobs.append(Model(id=job.id, parents=each, policy=policy))

    @rule(parents=parent_sets, policy=policies, later=st.booleans())
    def submit(self, parents: set[int], policy: IfParentFails, *, later: bool) -> None:
        if len(self.rule.jobs) == JOBS_MAX:
            return
        known = {parent for parent in parents if parent < len(self.rule.jobs)}
        job = self.run(
            put(
                self.db,
                depends_on=tuple(self.rule.jobs[parent].id for parent in known),
                if_parent_fails=policy,
                run_after=self.later if later else None,
            )
        )
        self.rule.jobs.append(Model(id=job.id, parents=known, policy=policy, later=later))

    @rule(index=indexes, parents=parent_sets)
    def redraw(self, index: int, parents: set[int]) -> None:
        picked = self.pick(index, *RESTING)
        if picked is None:
            return
        chosen, job = picked
        known = {parent for parent in parents if parent < len(self.rule.jobs)}
        patch = JobPatch(depends_on=tuple(self.rule.jobs[parent].id for parent in known))
        rings = any(chosen in self.rule.waits_for(parent) for parent in known)
        assert self.edited(job, patch) is not rings
        if not rings:
            job.parents = known

    @rule(index=indexes, policy=policies)
    def change_policy(self, index: int, policy: IfParentFails) -> None:
        picked = self.pick(index, *RESTING)
        if picked is not None:
            assert self.edited(picked[1], JobPatch(if_parent_fails=policy))
            picked[1].policy = policy

    def edited(self, job: Model, patch: JobPatch) -> bool:
        version = self.run(get(self.db, job.id)).version
        try:
            self.run(edit(self.db, job.id, patch, if_match=version, by=OPS))
        except DependencyCycle:
            return False
        return True

    @rule(index=indexes)
    def put_on_hold(self, index: int) -> None:
        picked = self.pick(index, *RESTING)
        if picked is not None:
            self.run(hold(self.db, picked[1].id, reason="wait", until=None, by=OPS))
            picked[1].held = True

    @rule(index=indexes)
    def let_go(self, index: int) -> None:
        picked = self.pick(index, JobState.HELD)
        if picked is not None:
            self.run(unhold(self.db, picked[1].id, by=OPS))
            picked[1].held = False

    @rule(index=indexes)
    def begin(self, index: int) -> None:
        picked = self.pick(index, JobState.READY)
        if picked is not None:
            self.run(lease(self.db, picked[1].id))
            picked[1].leased = True

    @rule(index=indexes, state=st.sampled_from((JobState.SUCCEEDED, JobState.DEAD)))
    def finish(self, index: int, state: JobState) -> None:
        picked = self.pick(index, JobState.LEASED, JobState.READY)
        if picked is not None:
            self.run(end(self.db, picked[1].id, state))
            picked[1].own, picked[1].leased = state, False

    @rule(index=indexes)
    def call_off(self, index: int) -> None:
        picked = self.pick(index, *RESTING)
        if picked is not None:
            answer = self.run(cancel(self.db, picked[1].id, reason=None, by=OPS))
            assert answer.outcome is CancelOutcome.CANCELLED
            picked[1].own = JobState.CANCELLED

    @rule(index=indexes)
    def begin_again(self, index: int) -> None:
        picked = self.pick(index, JobState.DEAD, JobState.CANCELLED)
        if picked is not None:
            self.retry(picked[1])

    @rule(order=st.permutations(range(JOBS_MAX)))
    def begin_all_again(self, order: list[int]) -> None:
        for index in order:
            if index < len(self.rule.jobs) and self.rule.jobs[index].own in FAILED:
                self.retry(self.rule.jobs[index])
                self.the_stored_state_is_the_rules()

    def retry(self, job: Model) -> None:
        failing = FAILED.intersection(self.rule.state(parent) for parent in job.parents)
        refused = bool(failing) and job.policy is IfParentFails.CANCEL
        try:
            self.run(retry(self.db, job.id, by=OPS))
        except ImpossibleTransition:
            assert refused
            return
        assert not refused
        job.own = None

    @invariant()
    def the_stored_state_is_the_rules(self) -> None:
        expected = {}
        for index, job in enumerate(self.rule.jobs):
            expected[job.id] = self.rule.state(index)
            # An end takes the hold with it: whoever is revived starts without.
            job.held = job.held and expected[job.id] not in FINISHED
        stored = self.run(self.stored())
        assert {job_id: state for job_id, (state, _, _) in stored.items()} == expected
        for job in self.rule.jobs:
            if expected[job.id] not in FINISHED:
                parents = [expected[self.rule.jobs[parent].id] for parent in job.parents]
                assert stored[job.id][1] == sum(parent not in FINISHED for parent in parents)
            children = sum(self.rule.jobs.index(job) in other.parents for other in self.rule.jobs)
            assert stored[job.id][2] == children

    async def stored(self) -> dict[JobId, tuple[JobState, int, int]]:
        async with self.db.connection() as conn:
            rows = await conn.fetch(
                "select id, state, parents_left, dependants from job where id = any($1::uuid[])",
                [job.id for job in self.rule.jobs],
            )
        return {
            JobId(row["id"]): (JobState(row["state"]), row["parents_left"], row["dependants"])
            for row in rows
        }


def test_the_stored_state_equals_the_plain_rule(database_url: str) -> None:
    with asyncio.Runner() as runner:
        db = runner.run(Database.open(database_url))

        class Bound(ParentsAndChildren):
            def __init__(self) -> None:
                super().__init__(db, runner)

        run_state_machine_as_test(Bound, settings=settings(stateful_step_count=25, max_examples=30))
        runner.run(db.close())
