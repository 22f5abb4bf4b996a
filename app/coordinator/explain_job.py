"""Explain a job: why it is, or is not, taken.

The verdict of each factory is :func:`app.scheduler.rejections` on the very facts of the filter, and
:func:`app.scheduler.score_candidate`; its rank is its place in the ranking that the factory's next
claim would find.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from app.coordinator.explain import no_factory
from app.eligibility import Rejection, rejections
from app.errors import NotFound
from app.explanation import headline
from app.fleet import Factory, FactoryId, Job, JobId
from app.scheduler import DEFAULT_WEIGHTS, Score, Weights, score_candidate
from app.store import explaining, factories
from app.store.session import Database


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
        raise no_factory(factory_id)
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


def _able_and_best_first(verdict: Verdict) -> tuple[bool, int, FactoryId]:
    return (bool(verdict.reasons), -verdict.score.total, verdict.factory.id)
