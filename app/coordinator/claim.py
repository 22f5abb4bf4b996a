"""Claim: read the heads, match, commit, and walk on from what was lost.

Correctness rests on the commit alone, which compares every fact that a pick was decided on. What
is read before it may be old by the time of the commit; then the pick is lost, the loser reads anew
and matches again, and leaves alone what it has just lost: whoever won has not committed yet, or it
would be gone. The next best job is then the best one that is free at that moment. An answer
"nothing" is always the answer of a whole read in which nothing was lost and nothing left alone:
never a false one. The bound on rounds turns a hopeless race into *try again soon* instead.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from uuid import UUID

from app import explanation
from app.coordinator.catalog import Catalog
from app.fleet import (
    Context,
    DecisionId,
    Factory,
    FactoryId,
    Job,
    JobId,
    JobRecord,
    LockHolder,
)
from app.heads import Group, Heads, classes_needed, run_out
from app.life import next_heartbeat_s
from app.scheduler import Pick, Score, Seeker, match
from app.store import claims, factories
from app.store.claims import CommitOutcome, Leased, NewLease
from app.store.factories import FactoryFacts
from app.store.session import Connection

ROUNDS_MAX = 50
"""How often a batch goes on after losing picks, before its rest is told to come back."""

PAUSE_S = 0.002
"""How long to let others commit, when all that is left is what they are about to take."""

REFILLS_MAX = 4
"""How many groups are fetched deeper at once: those that ran out first may spare the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A job that a factory got, and why: what it may do until when, under which fence."""

    job: JobRecord
    fence: int
    expires_at: datetime
    next_heartbeat_s: int
    score: Score
    decision_id: DecisionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """What one factory asks for: at most one want per factory in a batch."""

    factory_id: FactoryId
    max_jobs: int = 1
    lease_s: int = 60
    key: str | None = None


@dataclass(slots=True, kw_only=True)
class Served:
    """What a want got in the end; ``factory`` is None if nobody is registered under the id."""

    want: Want
    factory: Factory | None = None
    now: datetime | None = None
    claims: list[Claim] = field(default_factory=list)
    key_used: bool = False
    lost: list[explanation.LostPick] = field(default_factory=list)
    unsettled: bool = False

    @property
    def open(self) -> bool:
        """Whether it may still be given something in this batch."""
        return not self.key_used and len(self.claims) < self.want.max_jobs


async def serve(
    conn: Connection,
    catalog: Catalog,
    wants: Sequence[Want],
    *,
    new_id: Callable[[], UUID],
) -> dict[FactoryId, Served]:
    """Serve a batch of wants, the best pair first, until nothing is left that any of them may take.

    Those that still lose races after :data:`ROUNDS_MAX` rounds come back ``unsettled``.
    """
    served = {want.factory_id: Served(want=want) for want in wants}
    race = Race()
    for _ in range(ROUNDS_MAX):
        lost = await _round(conn, catalog, served, race, new_id=new_id)
        if not lost and not race:
            return served
        if not any(one.open for one in served.values()):
            return served
        if not lost:
            race = Race()
            await asyncio.sleep(PAUSE_S)
    for one in served.values():
        one.unsettled = one.open
    return served


async def take(
    conn: Connection,
    catalog: Catalog,
    want: Want,
    *,
    new_id: Callable[[], UUID],
) -> tuple[Claim, ...]:
    """Serve one factory inside the caller's transaction, as ``claim_next`` does."""
    served = (await serve(conn, catalog, [want], new_id=new_id))[want.factory_id]
    return tuple(served.claims)


@dataclass(slots=True, kw_only=True)
class Race:
    """What others are about to take: jobs at the version that was lost, and locks."""

    jobs: set[tuple[JobId, int]] = field(default_factory=set)
    locks: dict[str, LockHolder] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything is left alone because of it."""
        return bool(self.jobs or self.locks)

    def note(self, job: Job, outcome: CommitOutcome) -> None:
        """Note a pick that was lost to somebody; facts of the factory itself are just read anew."""
        lock = job.job_class.lock
        if outcome is CommitOutcome.LOCK_TAKEN and lock is not None:
            self.locks[lock] = LockHolder(job_id=job.id)
        elif outcome is CommitOutcome.JOB_MOVED:
            self.jobs.add((job.id, job.version))

    def without(self, heads: Heads) -> Heads:
        """Take out of a group what others are about to take."""
        if not self.jobs:
            return heads
        left = tuple(job for job in heads.jobs if (job.id, job.version) not in self.jobs)
        return replace(heads, jobs=left)


async def _round(
    conn: Connection,
    catalog: Catalog,
    served: Mapping[FactoryId, Served],
    race: Race,
    *,
    new_id: Callable[[], UUID],
) -> bool:
    """Match and commit once; tells whether picks were lost, so that another round is due."""
    wanting = [one for one in served.values() if one.open]
    snapshot = await factories.snapshot(conn, [one.want.factory_id for one in wanting])
    facts = {each.factory.id: each for each in snapshot.factories}
    ctx = Context(now=snapshot.now, locks=race.locks)
    seekers = []
    for one in wanting:
        one.now = snapshot.now
        found = facts.get(one.want.factory_id)
        one.factory = _present(found.factory, ctx) if found else None
        if one.factory is not None:
            left = one.want.max_jobs - len(one.claims)
            seekers.append(Seeker(factory=one.factory, max_jobs=left))
    picks = await choose(conn, catalog, seekers, ctx, race)
    if not picks:
        return False
    batch = _Batch(served=served, facts=facts, ctx=ctx, race=race)
    return await _commit(conn, picks, batch, new_id=new_id)


async def choose(
    conn: Connection,
    catalog: Catalog,
    seekers: Sequence[Seeker],
    ctx: Context,
    race: Race | None = None,
) -> tuple[Pick, ...]:
    """Match over as few heads as give the same picks as all ready jobs would.

    How deep a group is fetched at first is a guess from the last batch; what runs out is fetched
    deeper, the first ones first, until nothing that matters does. What others are about to take is
    left out, and so many more are fetched.
    """
    race = race or Race()
    await catalog.refresh(conn)
    needed = classes_needed(catalog.classes, seekers, ctx)
    most = sum(seeker.wanted for seeker in seekers)
    depths = {
        group: catalog.depth(group, most)
        for class_id, repos in needed.items()
        for group in (Group(class_id=class_id), *(Group(class_id=class_id, repo=r) for r in repos))
    }
    supply: dict[Group, Heads] = {}
    picks: tuple[Pick, ...] = ()
    while depths:
        deep = {group: depth + len(race.jobs) for group, depth in depths.items()}
        fetched = await claims.heads(conn, deep, catalog.classes)
        # A group that has no ready job any more must not be remembered as it was: it would be asked
        # for again, and again.
        for group in depths:
            supply.pop(group, None)
        supply.update((heads.group, race.without(heads)) for heads in fetched)
        candidates = {job.id: job for heads in supply.values() for job in heads.jobs}
        picks = match(seekers, candidates.values(), ctx)
        short = run_out(supply.values(), picks, catalog.classes, seekers, ctx)
        depths = dict(islice(short.items(), REFILLS_MAX))
    catalog.drained(supply.values(), picks)
    return picks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    served: Mapping[FactoryId, Served]
    facts: Mapping[FactoryId, FactoryFacts]
    ctx: Context
    race: Race


async def _commit(
    conn: Connection, picks: Sequence[Pick], batch: _Batch, *, new_id: Callable[[], UUID]
) -> bool:
    busier: Counter[FactoryId] = Counter()
    leases = []
    for pick in picks:
        leases.append(_lease(pick, batch, busier[pick.factory_id], new_id()))
        busier[pick.factory_id] += 1
    lost = False
    outcomes = await claims.settle(conn, leases)
    for pick, lease, committed in zip(picks, leases, outcomes, strict=True):
        one = batch.served[pick.factory_id]
        if isinstance(committed, Leased):
            one.claims.append(_claim(committed, pick, lease))
        elif committed.outcome is CommitOutcome.KEY_USED:
            one.key_used = True
        else:
            lost = True
            batch.race.note(pick.job, committed.outcome)
            one.lost.append(explanation.LostPick.of(pick, committed.outcome.value))
    return lost


def _present(factory: Factory, ctx: Context) -> Factory:
    """Who claims is alive: its own claim is the sign of life."""
    return replace(factory, last_seen_at=ctx.now)


def _lease(pick: Pick, batch: _Batch, busier: int, decision_id: UUID) -> NewLease:
    """Write down a pick with the facts it was decided on, ``busier`` by earlier picks."""
    facts = batch.facts[pick.factory_id]
    one = batch.served[pick.factory_id]
    job: Job = pick.job
    factory = replace(facts.factory, seats_used=facts.factory.seats_used + busier)
    return NewLease(
        factory_id=pick.factory_id,
        epoch=facts.epoch,
        job_id=job.id,
        version=job.version,
        lock=job.job_class.lock,
        key=one.want.key,
        lease_s=one.want.lease_s,
        decision_id=DecisionId(decision_id),
        total=pick.score.total,
        record=explanation.decision_record(pick, factory, batch.ctx, lost=one.lost),
    )


def _claim(leased: Leased, pick: Pick, lease: NewLease) -> Claim:
    return Claim(
        job=leased.job,
        fence=leased.job.fence,
        expires_at=leased.expires_at,
        next_heartbeat_s=next_heartbeat_s(lease.lease_s),
        score=pick.score,
        decision_id=lease.decision_id,
    )
