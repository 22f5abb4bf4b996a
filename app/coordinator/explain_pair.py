"""Explain a pair: would this factory take this job next, and if not, what would make it.

Asked is about the factory's own claim, so that it counts as alive. Everything offered was tried on
the scheduler with what the factory could take instead, were it repaired.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.changes import Change
from app.coordinator.queue_view import QueueView
from app.coordinator.ranking import rivals
from app.counterfactual import Pair, Wait, smallest_changes, wait_for
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
from app.sentences import pair_headline
from app.store import jobs
from app.store.session import Connection

_FAILED = frozenset({JobState.DEAD, JobState.CANCELLED})


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
    conn: Connection, view: QueueView, job: Job, factory: Factory, ctx: Context
) -> PairExplanation:
    """Try a job and a factory, as they are and as they could be."""
    factory = replace(factory, last_seen_at=ctx.now)
    found = await jobs.by_ids(conn, [job.id])
    record = found[job.id]
    parents = await jobs.by_ids(conn, record.depends_on) if job.state in _FAILED else {}
    pair = Pair(
        job=job,
        factory=factory,
        others=await rivals(view, job, repaired(job, factory)),
        ctx=ctx,
        retriable=_retriable(record, parents),
    )
    # Trying takes a while where classes are many; whoever claims meanwhile must not wait for it.
    taken, changes, wait = await asyncio.to_thread(_try, pair)
    would_take = taken is not None and taken.id == job.id
    instead = taken.id if taken and not would_take else None
    return PairExplanation(
        job_id=job.id,
        factory_id=factory.id,
        would_take=would_take,
        headline=pair_headline(factory.id, job.id, rejections(job, factory, ctx), instead),
        instead=instead,
        changes=changes,
        wait=None if would_take else wait,
        finished_parents=tuple(
            parent for parent in record.depends_on if parent not in job.unfinished_parents
        ),
    )


def _try(pair: Pair) -> tuple[Job | None, tuple[tuple[Change, ...], ...], Wait | None]:
    return pair.taken(), smallest_changes(pair), wait_for(pair)


def repaired(job: Job, factory: Factory) -> Factory:
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
