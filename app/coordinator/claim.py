"""Claim: read the heads, match, commit, and walk on from what was lost.

Correctness rests on the commit alone, which compares every fact that a pick was decided on. What
is read before it may be old by the time of the commit; then the pick is lost, the loser reads anew
and matches again, and leaves alone what it has just lost: whoever won has not committed yet, or it
would be gone. The next best job is then the best one that is free at that moment. An answer
"nothing" is always the answer of a whole read in which nothing was lost and nothing left alone:
never a false one. The bound on rounds turns a hopeless race into *try again soon* instead.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from app import explanation
from app.coordinator.catalog import Catalog
from app.coordinator.choose import Supply, choose
from app.coordinator.flight import Flight, turn
from app.coordinator.race import Race
from app.coordinator.tally import KeptFrom
from app.fleet import Context, DecisionId, Factory, FactoryId, JobRecord
from app.life import next_heartbeat_s
from app.scheduler import Pick, Score, Seeker
from app.store import claims, reading
from app.store.claims import CommitOutcome, Leased, Lost, NewLease
from app.store.factories import FactoryFacts
from app.store.session import Connection

log = logging.getLogger(__name__)

ROUNDS_MAX = 50
"""How often a batch goes on after losing picks, before its rest is told to come back."""

PAUSE_S = 0.002
"""How long to let others commit, when all that is left is what they are about to take."""


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
    """What one factory asks for in one call."""

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
        return not self.key_used and self.left > 0

    @property
    def left(self) -> int:
        """How many jobs it may still be given."""
        return self.want.max_jobs - len(self.claims)


async def serve(
    conn: Connection,
    catalog: Catalog,
    wants: Sequence[Want],
    *,
    new_id: Callable[[], UUID],
    flight: Flight | None = None,
    kept_from: KeptFrom = lambda _factory, _ctx: None,
) -> tuple[Served, ...]:
    """Serve a batch of wants, the best pair first, until nothing is left that any of them may take.

    Those that still lose races after :data:`ROUNDS_MAX` rounds come back ``unsettled``.

    Args:
        conn: in autocommit mode, or in a transaction of the caller's.
        catalog: what this process knows.
        wants: several of one factory add up.
        new_id: makes the ids of decisions.
        flight: what other batches of this process, if there are any, are committing.
        kept_from: counts the jobs that a factory could not take, for the decision record.
    """
    served = tuple(Served(want=want) for want in wants)
    desk = _Desk(
        conn=conn,
        catalog=catalog,
        flight=Flight() if flight is None else flight,
        new_id=new_id,
        kept_from=kept_from,
    )
    race = Race()
    for _ in range(ROUNDS_MAX):
        try:
            round_ = await _round(desk, served, race)
        except claims.UNDONE:
            round_ = _Round(lost=True)  # within a turn all of it is undone
        except Exception:
            # Who was given something in an earlier round must be told, whatever fails.
            if not any(one.claims for one in served):
                raise
            log.exception("a batch of claims failed after some of it was committed")
            break
        if not (round_.lost or round_.left) or not any(one.open for one in served):
            return served
        if not round_.lost:
            race = Race()
            # Of other processes' commits nobody tells: a pause, then another look.
            await (desk.flight.landing() if desk.flight else asyncio.sleep(PAUSE_S))
    for one in served:
        one.unsettled = one.open
    return served


_Offer: TypeAlias = tuple[Pick, Served, NewLease]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Desk:
    """What a batch is served with."""

    conn: Connection
    catalog: Catalog
    flight: Flight
    new_id: Callable[[], UUID]
    kept_from: KeptFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """Why another round is due: picks were lost, or something was left alone for others."""

    lost: bool = False
    left: bool = False


async def _round(desk: _Desk, served: Sequence[Served], race: Race) -> _Round:
    """Read, match and commit once."""
    wanting: dict[FactoryId, list[Served]] = {}
    for one in served:
        if one.open:
            wanting.setdefault(one.want.factory_id, []).append(one)
    flight = desk.flight
    with ExitStack() as flying:  # ends after the turn, when all is committed
        async with AsyncExitStack() as turning:
            async with flight.choosing:
                around = race.beside(flight.jobs())
                await turning.enter_async_context(turn(desk.conn, flight))
                chosen = await _choose(desk, wanting, around)
                if chosen is None:
                    return _Round(left=around.left)
                flying.enter_context(flight.taking(chosen.picks))
            offers = _offers(desk, chosen)
            outcomes = await claims.settle(desk.conn, [lease for _, _, lease in offers])
    # Only here is it committed: within a turn, the transaction has ended just now.
    lost = _conclude(offers, outcomes, race)
    if race.jobs or race.locks:
        await flight.contend(desk.conn)
    return _Round(lost=lost, left=around.left)


async def _choose(
    desk: _Desk, wanting: Mapping[FactoryId, Sequence[Served]], around: Race
) -> "_Batch | None":
    """Read, and match; None if nothing is picked."""
    conn, catalog = desk.conn, desk.catalog
    if not catalog.horizon:
        await catalog.refresh(conn)
    most = sum(one.left for mine in wanting.values() for one in mine)
    asked = catalog.depths(catalog.expected(wanting), most, around)
    read = await reading.read(conn, wanting, asked, around.of_each, catalog.known)
    if read is None:
        return None
    catalog.learn(read.new)
    facts = {each.factory.id: each for each in read.factories}
    ctx = Context(now=read.now, locks=around.locks)
    seekers = _seekers(wanting, facts, ctx)
    known = Supply(asked=asked, heads=read.heads)
    picks = await choose(conn, catalog, seekers, ctx, around, known)
    return _Batch(picks=picks, wanting=wanting, facts=facts, ctx=ctx) if picks else None


def _seekers(
    wanting: Mapping[FactoryId, Sequence[Served]],
    facts: Mapping[FactoryId, FactoryFacts],
    ctx: Context,
) -> list[Seeker]:
    """Let each want seek as its factory now is, and note that with it."""
    seekers = []
    for factory_id, found in facts.items():
        for one in wanting[factory_id]:
            one.now, one.factory = ctx.now, found.factory
            seekers.append(Seeker(factory=found.factory, max_jobs=one.left))
    return seekers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What was picked for whom, and on which facts."""

    picks: tuple[Pick, ...]
    wanting: Mapping[FactoryId, Sequence[Served]]
    facts: Mapping[FactoryId, FactoryFacts]
    ctx: Context

    def takers(self) -> list[Served]:
        """Say who gets each pick: of one factory's wants, those that came first get their fill."""
        open_: dict[FactoryId, list[tuple[Served, int]]] = {}
        takers = []
        for pick in self.picks:
            mine = open_.setdefault(
                pick.factory_id,
                [(one, one.left) for one in reversed(self.wanting[pick.factory_id])],
            )
            one, left = mine.pop()
            if left > 1:
                mine.append((one, left - 1))
            takers.append(one)
        return takers


def _offers(desk: _Desk, batch: _Batch) -> list[_Offer]:
    """Write down the picks, each with its factory as busy as the picks before it make it."""
    busier: Counter[FactoryId] = Counter()
    offers = []
    for pick, one in zip(batch.picks, batch.takers(), strict=True):
        offers.append((pick, one, _lease(desk, pick, one, batch, busier[pick.factory_id])))
        busier[pick.factory_id] += 1
    return offers


def _conclude(offers: Sequence[_Offer], outcomes: Sequence[Leased | Lost], race: Race) -> bool:
    """Give out what was committed; tells whether any pick was lost."""
    lost = False
    for (pick, one, lease), committed in zip(offers, outcomes, strict=True):
        if isinstance(committed, Leased):
            claim = Claim(
                job=committed.job,
                fence=committed.job.fence,
                expires_at=committed.expires_at,
                next_heartbeat_s=next_heartbeat_s(lease.lease_s),
                score=pick.score,
                decision_id=lease.decision_id,
            )
            one.claims.append(claim)
            continue
        lost = True
        if committed.outcome is CommitOutcome.KEY_USED:
            # It got nothing, so that the job is for the others, who went without it in this round.
            one.key_used = True
        else:
            race.note(pick.job, committed.outcome)
            one.lost.append(explanation.LostPick.of(pick, committed.outcome.value))
    return lost


def _lease(desk: _Desk, pick: Pick, one: Served, batch: _Batch, busier: int) -> NewLease:
    """Write down a pick with the facts it was decided on, ``busier`` by earlier picks."""
    facts = batch.facts[pick.factory_id]
    factory = facts.factory
    if busier:
        factory = replace(factory, seats_used=factory.seats_used + busier)
    return NewLease(
        factory_id=pick.factory_id,
        epoch=facts.epoch,
        job=pick.job,
        key=one.want.key,
        lease_s=one.want.lease_s,
        decision_id=DecisionId(desk.new_id()),
        total=pick.score.total,
        record=explanation.decision_record(
            pick, factory, batch.ctx, lost=one.lost, kept=desk.kept_from(factory, batch.ctx)
        ),
    )
