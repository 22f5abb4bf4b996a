"""Explain: why a factory would get what it would get, and why a job is (not) taken.

The law: explanations come from the same functions and the same facts as decisions. The ranking of
a factory is :func:`app.scheduler.rank` over the heads that its next claim would read, as many of
each class as the list is long; the verdict on a job is :func:`app.scheduler.rejections` on the very
facts of the filter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.backlog import counted_reasons
from app.coordinator.catalog import Catalog
from app.eligibility import Reason, Rejection, factory_rejections, rejections
from app.errors import NotFound
from app.explanation import headline
from app.fleet import Context, DecisionId, Factory, FactoryId, Job, JobId
from app.heads import Group, classes_needed
from app.scheduler import (
    DEFAULT_WEIGHTS,
    Ranked,
    Score,
    Seeker,
    Weights,
    rank,
    score_candidate,
)
from app.store import backlogs, claims, explaining, factories
from app.store.explaining import Decision
from app.store.session import Connection, Database


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
    them, for a claim would be the sign of life that it lacks.
    """

    factory: Factory
    stale: bool
    now: datetime
    weights: Weights
    refusals: tuple[Rejection, ...]
    ranking: tuple[Place, ...]
    blocked: Mapping[Reason, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a factory can take a job now: every reason why not, and how it would score."""

    factory: Factory
    reasons: tuple[Rejection, ...]
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExplanation:
    """Why a job is, or is not, taken: a verdict per factory, and one line for all."""

    job: Job
    now: datetime
    weights: Weights
    headline: str
    verdicts: tuple[Verdict, ...]


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
            raise _no_factory(factory_id)
        stored = snapshot.factories[0].factory
        ctx = Context(now=snapshot.now)
        factory = replace(stored, last_seen_at=ctx.now)
        ranked = await _ranked(conn, catalog, factory, ctx, limit=limit + 1)
        backlog = await backlogs.read(conn)
    return FactoryExplanation(
        factory=factory,
        stale=any(each.reason is Reason.STALE for each in factory_rejections(stored, ctx)),
        now=ctx.now,
        weights=DEFAULT_WEIGHTS,
        refusals=factory_rejections(factory, ctx),
        ranking=_places(ranked)[:limit],
        blocked=counted_reasons(backlog, factory, ctx),
    )


async def explain_job(
    db: Database,
    job_id: JobId,
    *,
    waiting: frozenset[FactoryId],
    factory_id: FactoryId | None = None,
) -> JobExplanation:
    """Say for every factory, or for one, whether it can take the job now, and if not, why.

    Args:
        db: where the job is.
        job_id: the job.
        waiting: who waits at the desk; they are alive, however long ago they called.
        factory_id: the one factory that is asked about.

    Raises:
        NotFound: there is no such job, or no such factory.
    """
    async with db.connection() as conn:
        situation = await explaining.situation(conn, job_id)
        if situation is None:
            detail = f"There is no job {job_id}."
            raise NotFound(detail, job_id=str(job_id))
        asked = None if factory_id is None else [factory_id]
        snapshot = await factories.snapshot(conn, asked)
    if factory_id is not None and not snapshot.factories:
        raise _no_factory(factory_id)
    job, ctx = situation.job, situation.ctx
    verdicts = tuple(
        Verdict(
            factory=factory,
            reasons=rejections(job, factory, ctx),
            score=score_candidate(job, factory, ctx),
        )
        for factory in (
            replace(each.factory, last_seen_at=ctx.now)
            if each.factory.id in waiting
            else each.factory
            for each in snapshot.factories
        )
    )
    return JobExplanation(
        job=job,
        now=ctx.now,
        weights=DEFAULT_WEIGHTS,
        headline=headline([verdict.reasons for verdict in verdicts]),
        verdicts=tuple(sorted(verdicts, key=_able_and_best_first)),
    )


async def explain_decision(db: Database, decision_id: DecisionId) -> Decision:
    """Show the record that a claim left.

    Raises:
        NotFound: there is no such decision, or it was pruned.
    """
    async with db.connection() as conn:
        found = await explaining.decision(conn, decision_id)
    if found is None:
        detail = f"There is no decision {decision_id}."
        raise NotFound(detail, decision_id=str(decision_id))
    return found


async def _ranked(
    conn: Connection, catalog: Catalog, factory: Factory, ctx: Context, *, limit: int
) -> tuple[Ranked, ...]:
    """Rank over the ``limit`` oldest of every class: the best ``limit`` of all are among them."""
    await catalog.refresh(conn)
    needed = classes_needed(catalog.classes, [Seeker(factory=factory)], ctx)
    depths = {
        Group(class_id=class_id, repo=repo): limit
        for class_id, repos in needed.items()
        for repo in (None, *sorted(repos))
    }
    supply = await claims.heads(conn, depths, catalog.classes)
    candidates = {job.id: job for heads in supply for job in heads.jobs}
    return rank(candidates.values(), factory, ctx)[:limit]


def _places(ranked: Sequence[Ranked]) -> tuple[Place, ...]:
    following: list[Ranked | None] = [*ranked[1:], None]
    return tuple(
        Place(
            rank=place,
            job=one.job,
            score=one.score,
            margin=one.score.total - after.score.total if after else None,
        )
        for place, (one, after) in enumerate(zip(ranked, following, strict=False), start=1)
    )


def _able_and_best_first(verdict: Verdict) -> tuple[bool, int, FactoryId]:
    return (bool(verdict.reasons), -verdict.score.total, verdict.factory.id)


def _no_factory(factory_id: FactoryId) -> NotFound:
    return NotFound(f"No factory is registered as {factory_id!r}.", factory_id=factory_id)
