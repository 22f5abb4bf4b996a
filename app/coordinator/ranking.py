"""The ranking of one factory, as its next claim would find it, as deep as asked.

The best job of all is a head (:mod:`app.heads`), and so the best few are among the oldest few of
those groups whose heads are among the best few. No job of a class scores more than its head does,
or would if its repo were warm: so most groups of warm repos need not be looked at, either.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from app.coordinator.catalog import Catalog
from app.eligibility import factory_rejections
from app.fleet import Context, CostClass, Factory, Job, JobId
from app.heads import Group, Heads, classes_needed
from app.scheduler import DEFAULT_WEIGHTS, Ranked, Seeker, Weights, score_candidate
from app.scoring import STARVATION_STEP, WARM_REPO
from app.store import claims
from app.store.session import Connection
from app.wishlist import make_pool, wishes_of


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
    # One row more where the head may be the job that is not to be read as it is stored.
    spare = 1 if asked.changed else 0
    plain, repos = await _plain(conn, catalog, factory, ctx, depth=1 + spare)
    best = _best(_jobs(plain, asked), factory, ctx, asked)
    warmth = WARM_REPO * asked.weights.affinity
    enough = best[-1].score.total - warmth if len(best) == asked.limit else None
    tops = _tops(plain, factory, ctx, asked.weights)
    warm = [
        Group(class_id=group.class_id, repo=repo)
        for group, top in tops.items()
        if enough is None or top >= enough
        for repo in repos[group]
    ]
    supply = [
        *plain,
        *await claims.heads(conn, dict.fromkeys(warm, 1 + spare), catalog.classes),
    ]
    best = _best(_jobs(supply, asked), factory, ctx, asked)
    if asked.limit > 1:
        leading = {one.job.id for one in best}
        deeper = [heads.group for heads in supply if leading & {job.id for job in heads.jobs}]
        depths = dict.fromkeys(deeper, asked.limit + spare)
        deep = await claims.heads(conn, depths, catalog.classes)
        best = _best(_jobs([*supply, *deep], asked), factory, ctx, asked)
    return best


async def rivals(
    conn: Connection, catalog: Catalog, job: Job, factory: Factory, ctx: Context
) -> tuple[Job, ...]:
    """Read all that could keep a factory from taking a job, whatever its ceiling, now or later.

    Left out are warm jobs that stay behind the best head by more than they could ever make up: a
    level of age, for levels do not change at the same time.
    """
    plain, repos = await _plain(conn, catalog, factory, ctx, depth=2)
    slack = WARM_REPO * DEFAULT_WEIGHTS.affinity + STARVATION_STEP * DEFAULT_WEIGHTS.starvation
    near: set[Group] = set()
    for ceiling in CostClass:
        tops = _tops(plain, replace(factory, cost_ceiling=ceiling), ctx, DEFAULT_WEIGHTS, job.id)
        best = max(tops.values(), default=0)
        near |= {group for group, top in tops.items() if top + slack >= best}
    groups = [
        Group(class_id=group.class_id, repo=repo)
        for group in repos
        for repo in repos[group]
        if group in near or repo == job.repo
    ]
    warm = await claims.heads(conn, dict.fromkeys(groups, 2), catalog.classes)
    found = {other.id: other for heads in [*plain, *warm] for other in heads.jobs}
    return tuple(found.values())


def _best(
    jobs: Iterable[Job], factory: Factory, ctx: Context, asked: Question
) -> tuple[Ranked, ...]:
    """Rank by the wish list that claims are matched by, and score the few that are shown."""
    if factory_rejections(factory, ctx):
        return ()
    pool = make_pool(jobs, ctx, asked.weights)
    wishes = wishes_of(factory, pool, asked.weights).next_free((), asked.limit)
    return tuple(
        Ranked(job=job, score=score_candidate(job, factory, ctx, asked.weights))
        for job in (pool.jobs[place] for place, _ in wishes)
    )


async def _plain(
    conn: Connection, catalog: Catalog, factory: Factory, ctx: Context, *, depth: int
) -> tuple[tuple[Heads, ...], dict[Group, Sequence[str]]]:
    """Read the heads of the classes that a factory may take, and in which repos they count too."""
    await catalog.refresh(conn)
    needed = classes_needed(catalog.classes, [Seeker(factory=factory)], ctx)
    depths = {Group(class_id=class_id): depth for class_id in needed}
    plain = await claims.heads(conn, depths, catalog.classes)
    return plain, {heads.group: sorted(needed[heads.group.class_id]) for heads in plain}


def _tops(
    plain: Iterable[Heads],
    factory: Factory,
    ctx: Context,
    weights: Weights,
    without: JobId | None = None,
) -> dict[Group, int]:
    """The best score in each class, of those heads that are read."""
    return {
        heads.group: max(score_candidate(job, factory, ctx, weights).total for job in jobs)
        for heads in plain
        if (jobs := [job for job in heads.jobs if job.id != without])
    }


def _jobs(supply: Iterable[Heads], asked: Question) -> Sequence[Job]:
    found: dict[JobId, Job] = {job.id: job for heads in supply for job in heads.jobs}
    if asked.changed:
        found[asked.changed.id] = asked.changed
    return tuple(found.values())
