"""What if: the questions of explain, with something otherwise. Reads, and changes nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.coordinator.catalog import Catalog
from app.coordinator.explain import no_factory
from app.coordinator.explain_job import situation_of
from app.coordinator.queue_view import QueueView
from app.coordinator.ranking import Question, ranked
from app.eligibility import factory_rejections
from app.fleet import Context, Factory, FactoryId, Job, JobId, LockHolder
from app.replay import recorded
from app.scheduler import Ranked
from app.shapes import Profile, profile
from app.store import decisions, factories
from app.store.decisions import DecisionFilter
from app.store.session import Connection, Database
from app.what_if import Flip, Hypothesis, Move, Past, flips, moves, warnings

FACTORIES_MAX = 10
RANKING_DEPTH = 20
DECISIONS_MAX = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryOutcome:
    """What a factory's next claim gets, and would get; and whose places in its ranking change."""

    factory_id: FactoryId
    before: JobId | None
    after: JobId | None
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOutcome:
    """A hypothesis over the queue as it is now."""

    now: datetime
    warnings: tuple[str, ...]
    factories: tuple[FactoryOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastOutcome:
    """A hypothesis over recorded decisions: how many were looked at, and which flip."""

    warnings: tuple[str, ...]
    decisions: int
    more: bool
    flips: tuple[Flip, ...]


async def what_if_now(
    db: Database, catalog: Catalog, hypothesis: Hypothesis, only: Sequence[FactoryId]
) -> QueueOutcome:
    """Rank the queue for factories as things are, and as they would be.

    Args:
        db: where the queue is.
        catalog: the classes of jobs.
        hypothesis: what would be otherwise.
        only: the factories asked about; those that could claim now if none is named.

    Raises:
        NotFound: there is no such factory, or no such job.
    """
    async with db.connection() as conn:
        named = list(dict.fromkeys([*only, *filter(None, [hypothesis.factory_id])]))
        snapshot = await factories.snapshot(conn, named if only else None)
        ctx = Context(now=snapshot.now)
        known = [replace(each.factory, last_seen_at=ctx.now) for each in snapshot.factories]
        for factory_id in named:
            if factory_id not in {factory.id for factory in known}:
                raise no_factory(factory_id)
        changed, held = await _changed_job(conn, hypothesis)
        ctx = replace(ctx, locks=held)
        asked = _asked(known, hypothesis, ctx)
        otherwise = [hypothesis.factory(factory) for factory in asked]
        view = await QueueView.open(conn, catalog, ctx, [*asked, *otherwise])
        rankings = _Rankings(view=view, found={})
        question = Question(limit=RANKING_DEPTH, weights=hypothesis.weights, changed=changed)
        return QueueOutcome(
            now=ctx.now,
            warnings=warnings(hypothesis.weights),
            factories=tuple(
                [
                    _outcome(
                        factory.id,
                        await rankings.of(factory, Question(limit=RANKING_DEPTH)),
                        await rankings.of(then, question),
                    )
                    for factory, then in zip(asked, otherwise, strict=True)
                ]
            ),
        )


async def what_if_past(
    db: Database, hypothesis: Hypothesis, since: datetime, until: datetime
) -> PastOutcome:
    """Decide the newest recorded decisions of a time span again, as things would have been."""
    async with db.connection() as conn:
        wanted = DecisionFilter(since=since, until=until)
        found = await decisions.page(conn, wanted, after=None, limit=DECISIONS_MAX + 1)
    past = [
        Past(id=each.id, at=each.at, facts=recorded(each.record)) for each in found[:DECISIONS_MAX]
    ]
    return PastOutcome(
        warnings=warnings(hypothesis.weights),
        decisions=len(past),
        more=len(found) > DECISIONS_MAX,
        # A thousand decisions take a while; whoever claims meanwhile must not wait for it.
        flips=await asyncio.to_thread(flips, past, hypothesis),
    )


def _asked(known: Sequence[Factory], hypothesis: Hypothesis, ctx: Context) -> list[Factory]:
    """The changed factory first, then those that could claim now."""
    able = [
        factory
        for factory in known
        if factory.id == hypothesis.factory_id or not factory_rejections(factory, ctx)
    ]
    able.sort(key=lambda factory: (factory.id != hypothesis.factory_id, factory.id))
    return able[:FACTORIES_MAX]


async def _changed_job(
    conn: Connection, hypothesis: Hypothesis
) -> tuple[Job | None, Mapping[str, LockHolder]]:
    """Read the job that would be otherwise, and its lock if somebody holds it."""
    if hypothesis.job_id is None:
        return None, {}
    situation = await situation_of(conn, hypothesis.job_id)
    return hypothesis.job(situation.job), situation.ctx.locks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rankings:
    """Rankings of factories; those that want the same things are ranked once.

    Their totals may differ by load and health, which is no matter here: the order is the same.
    """

    view: QueueView
    found: dict[tuple[Profile, Question, bool], tuple[Ranked, ...]]

    async def of(self, factory: Factory, asked: Question) -> tuple[Ranked, ...]:
        refused = bool(factory_rejections(factory, self.view.ctx))
        key = (profile(factory, self.view.shapes), asked, refused)
        if key not in self.found:
            self.found[key] = await ranked(self.view, factory, asked)
        return self.found[key]


def _outcome(
    factory_id: FactoryId, before: Sequence[Ranked], after: Sequence[Ranked]
) -> FactoryOutcome:
    return FactoryOutcome(
        factory_id=factory_id,
        before=before[0].job.id if before else None,
        after=after[0].job.id if after else None,
        moves=moves(before, after),
    )
