"""The ranking of one factory, as its next claim would find it, as deep as asked.

The best job of all is a head (:mod:`app.heads`), and so the best few are among the oldest few of
those groups whose heads are among the best few: two reads, however many classes there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.coordinator.catalog import Catalog
from app.fleet import Context, Factory, Job, JobId
from app.heads import Group, Heads, classes_needed
from app.scheduler import DEFAULT_WEIGHTS, Ranked, Seeker, Weights, rank
from app.store import claims
from app.store.session import Connection


def groups_for(catalog: Catalog, factories: Sequence[Factory], ctx: Context) -> list[Group]:
    """Name the groups of ready jobs in which a claim of these factories would look."""
    seekers = [Seeker(factory=factory) for factory in factories]
    return [
        group
        for class_id, repos in classes_needed(catalog.classes, seekers, ctx).items()
        for group in (
            Group(class_id=class_id),
            *(Group(class_id=class_id, repo=repo) for repo in sorted(repos)),
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How deep to rank, by which weights, and with which job otherwise than it is stored."""

    limit: int
    weights: Weights = DEFAULT_WEIGHTS
    changed: Job | None = None


async def ranked(
    conn: Connection, catalog: Catalog, factory: Factory, ctx: Context, asked: Question
) -> tuple[Ranked, ...]:
    """Rank the best ready jobs for a factory; none if it may take nothing now."""
    await catalog.refresh(conn)
    groups = groups_for(catalog, [factory], ctx)
    # One row more where the head may be the job that is not to be read as it is stored.
    spare = 1 if asked.changed else 0
    supply = await claims.heads(conn, dict.fromkeys(groups, 1 + spare), catalog.classes)
    best = rank(_jobs(supply, asked), factory, ctx, asked.weights)[: asked.limit]
    if asked.limit > 1:
        leading = {one.job.id for one in best}
        deeper = [heads.group for heads in supply if leading & {job.id for job in heads.jobs}]
        depths = dict.fromkeys(deeper, asked.limit + spare)
        deep = await claims.heads(conn, depths, catalog.classes)
        best = rank(_jobs([*supply, *deep], asked), factory, ctx, asked.weights)[: asked.limit]
    return best


def _jobs(supply: Iterable[Heads], asked: Question) -> Sequence[Job]:
    found: dict[JobId, Job] = {job.id: job for heads in supply for job in heads.jobs}
    if asked.changed:
        found[asked.changed.id] = asked.changed
    return tuple(found.values())
