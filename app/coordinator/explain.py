"""Explain a factory: what its next claim would get, and why it gets nothing else.

The law: explanations come from the same functions and the same facts as decisions. The ranking of
a factory is that of :mod:`app.scheduler` over the few jobs that can matter, and what is
kept from it is counted by the filter of the scheduler.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.backlog import FilterStep, Unlock, counted_reasons, survivors, unlocks
from app.coordinator.catalog import Catalog
from app.coordinator.queue_view import QueueView
from app.coordinator.ranking import Question, ranked
from app.eligibility import Reason, Rejection, factory_rejections
from app.errors import NotFound
from app.fleet import Context, Factory, FactoryId, Job, JobId
from app.scheduler import DEFAULT_WEIGHTS, Ranked, Score, Weights
from app.sentences import claim_headline
from app.store import backlogs, explaining, factories
from app.store.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A job's place in a factory's ranking; ``margin`` is its lead over the next, if any."""

    rank: int
    job: Job
    score: Score
    margin: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactoryExplanation:
    """What a factory's next claim would get, first in ``ranking``; none if it would be a 204.

    ``refusals`` are the reasons that refuse the factory as a whole; ``stale`` is a fact, not one of
    them, for a claim would be the sign of life that it lacks. ``steps`` are the survivors of the
    filter, check by check, and ``unlocks`` is what it would gain by offering more. ``kinds`` are
    those of the jobs of the ranking.
    """

    factory: Factory
    stale: bool
    now: datetime
    weights: Weights
    headline: str
    refusals: tuple[Rejection, ...]
    ranking: tuple[Place, ...]
    kinds: Mapping[JobId, str]
    blocked: Mapping[Reason, int]
    steps: tuple[FilterStep, ...]
    unlocks: tuple[Unlock, ...]


async def explain_factory(
    db: Database, catalog: Catalog, factory_id: FactoryId, *, limit: int
) -> FactoryExplanation:
    """Rank the ``limit`` best jobs for a factory, and count what it cannot get by reason.

    Raises:
        NotFound: no factory is registered under the id.
    """
    async with db.connection() as conn:
        snapshot = await factories.snapshot(conn, [factory_id])
        if not snapshot.factories:
            raise no_factory(factory_id)
        stored = snapshot.factories[0].factory
        ctx = Context(now=snapshot.now)
        factory = replace(stored, last_seen_at=ctx.now)
        view = await QueueView.open(conn, catalog, ctx, [factory])
        best = await ranked(view, factory, Question(limit=limit + 1))
        backlog = await backlogs.read(conn)
        kinds = await explaining.kinds(conn, [each.job.id for each in best])
    refusals = factory_rejections(factory, ctx)
    places = places_of(best)
    first = places[0] if places else None
    return FactoryExplanation(
        factory=factory,
        stale=any(each.reason is Reason.STALE for each in factory_rejections(stored, ctx)),
        now=ctx.now,
        weights=DEFAULT_WEIGHTS,
        headline=claim_headline(
            first.job.id if first else None, first.margin if first else None, refusals
        ),
        refusals=refusals,
        ranking=places[:limit],
        kinds=kinds,
        blocked=counted_reasons(backlog, factory, ctx),
        steps=survivors(backlog, factory, ctx),
        unlocks=unlocks(backlog, factory),
    )


def places_of(best: Sequence[Ranked]) -> tuple[Place, ...]:
    """Number a ranking, and measure each lead over the next."""
    following: list[Ranked | None] = [*best[1:], None]
    return tuple(
        Place(
            rank=place,
            job=one.job,
            score=one.score,
            margin=one.score.total - after.score.total if after else None,
        )
        for place, (one, after) in enumerate(zip(best, following, strict=False), start=1)
    )


def no_factory(factory_id: FactoryId) -> NotFound:
    """Say that nobody is registered under the id."""
    return NotFound(f"No factory is registered as {factory_id!r}.", factory_id=factory_id)
