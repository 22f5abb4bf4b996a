"""Explain a pair: would this factory take this job next, and if not, what would make it.

Asked is about the factory's own claim, so that it counts as alive. Everything offered was tried on
the scheduler with what the factory could take instead, were it repaired.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.changes import Change
from app.coordinator.catalog import Catalog
from app.coordinator.ranking import groups_for
from app.counterfactual import Pair, Wait, smallest_changes, wait_for
from app.explanation import pair_headline
from app.fleet import (
    Context,
    Factory,
    FactoryId,
    Health,
    IfParentFails,
    Job,
    JobId,
    JobRecord,
    JobState,
)
from app.scheduler import rejections
from app.store import claims, jobs
from app.store.session import Connection

_FAILED = frozenset({JobState.DEAD, JobState.CANCELLED})
_DEPTH = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PairExplanation:
    """Whether a factory's next claim gets a job, what it gets instead, and what would flip that.

    ``finished_parents`` are what the job depends on beside the parents it still waits for.
    """

    job_id: JobId
    factory_id: FactoryId
    would_take: bool
    headline: str
    instead: JobId | None
    changes: tuple[tuple[Change, ...], ...]
    wait: Wait | None
    finished_parents: tuple[JobId, ...]


async def explain_pair(
    conn: Connection, catalog: Catalog, job: Job, factory: Factory, ctx: Context
) -> PairExplanation:
    """Try a job and a factory, as they are and as they could be."""
    factory = replace(factory, last_seen_at=ctx.now)
    found = await jobs.by_ids(conn, [job.id])
    record = found[job.id]
    parents = await jobs.by_ids(conn, record.depends_on) if job.state in _FAILED else {}
    await catalog.refresh(conn)
    groups = groups_for(catalog, [_repaired(job, factory)], ctx)
    supply = await claims.heads(conn, dict.fromkeys(groups, _DEPTH), catalog.classes)
    others = {other.id: other for heads in supply for other in heads.jobs}
    pair = Pair(
        job=job,
        factory=factory,
        others=tuple(others.values()),
        ctx=ctx,
        retriable=_retriable(record, parents),
    )
    taken = pair.taken()
    would_take = taken is not None and taken.id == job.id
    instead = taken.id if taken and not would_take else None
    return PairExplanation(
        job_id=job.id,
        factory_id=factory.id,
        would_take=would_take,
        headline=pair_headline(factory.id, job.id, rejections(job, factory, ctx), instead),
        instead=instead,
        changes=smallest_changes(pair),
        wait=None if would_take else wait_for(pair),
        finished_parents=tuple(
            parent for parent in record.depends_on if parent not in job.unfinished_parents
        ),
    )


def _repaired(job: Job, factory: Factory) -> Factory:
    """The factory with everything that might be changed about it: it looks wherever it could."""
    repos = frozenset({job.repo} if job.repo else ())
    return replace(
        factory,
        capabilities=factory.capabilities | job.job_class.required,
        warm_repos=factory.warm_repos | repos,
        seat_limit=factory.seats_used + 1,
        health=Health.OK,
        drain=None,
        pause=None,
        quarantined_until=None,
        cooldown_until=None,
    )


def _retriable(record: JobRecord, parents: Mapping[JobId, JobRecord]) -> bool:
    failed = any(parent.state in _FAILED for parent in parents.values())
    return not failed or record.if_parent_fails is IfParentFails.RUN
