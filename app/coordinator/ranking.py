"""The ranking of one factory, as its next claim would find it, as deep as asked.

The best job of all is among the oldest of the shapes (:mod:`app.shapes`), and so the best few are
among the oldest few of those groups whose oldest are among the best few. Behind a job that is not
among the best no other of its group is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.coordinator.queue_view import QueueView
from app.eligibility import factory_rejections
from app.fleet import Context, CostClass, Factory, Job, JobId
from app.scheduler import DEFAULT_WEIGHTS, Ranked, Weights, score_candidate
from app.scoring import STARVATION_STEP, WARM_REPO
from app.shapes import Place, Shape, place_of, takeable, warm_bound
from app.wishlist import Pool, make_pool, wishes_of

ROWS_AT_ONCE = 100
"""Up to so many rows are read as deep as asked at once, which spares a round trip."""

DEEPER = 4
"""How much deeper a group is read whose jobs are all among the best."""

PROBES_FIRST = 500
PROBES_GROWTH = 4
"""How many pairs of class and repo are looked into at first, and how much more each time after."""


_Groups: TypeAlias = Sequence[tuple[Mapping[Shape, tuple[Job, ...]], frozenset[str] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """How deep to rank, by which weights, and with which job otherwise than it is stored."""

    limit: int
    weights: Weights = DEFAULT_WEIGHTS
    changed: Job | None = None

    @property
    def spare(self) -> int:
        """One row more where the oldest may be the job that is not to be read as it is stored."""
        return 1 if self.changed else 0


async def ranked(view: QueueView, factory: Factory, asked: Question) -> tuple[Ranked, ...]:
    """Rank the best ready jobs for a factory; none if it may take nothing now."""
    if factory_rejections(factory, view.ctx):
        return ()
    full = asked.limit + asked.spare
    depth = full if len(view.shapes) * full <= ROWS_AT_ONCE else 1 + asked.spare
    read = await view.oldest(view.shapes, depth)
    plain = {one: read[one] for one in takeable(read, factory)}
    best = _best_of(view.pool(depth, asked.weights, asked.changed), factory, view.ctx, asked)
    warm = _Warm(view=view, factory=factory, asked=asked, depth=depth, found={})
    best = await warm.look(plain, best)
    groups: _Groups = [(plain, None), (warm.found, factory.warm_repos)]
    while depth < full and (open_ends := _open_ends(groups, best, depth, asked)):
        depth = min(full, depth * DEEPER)
        groups = [
            (await view.oldest_in(shapes, repos, depth), repos) for shapes, repos in open_ends
        ]
        rows = [*(one.job for one in best), *(job for read, _ in groups for job in _flat(read))]
        best = _best(rows, factory, view.ctx, asked)
    return best


def _open_ends(
    groups: _Groups,
    best: tuple[Ranked, ...],
    depth: int,
    asked: Question,
) -> list[tuple[list[Shape], frozenset[str] | None]]:
    """The groups of which the last job read is among the best: one behind it may be, too."""
    leading = {one.job.id for one in best}
    if asked.changed:
        leading.add(asked.changed.id)
    found = []
    for read, repos in groups:
        shapes = [
            shape
            for shape, jobs in read.items()
            if len(jobs) >= depth and all(job.id in leading for job in jobs)
        ]
        if shapes:
            found.append((shapes, repos))
    return found


async def rivals(view: QueueView, job: Job, factory: Factory) -> tuple[Job, ...]:
    """Read all that could keep a factory from taking a job, whatever its ceiling, now or later.

    Of each shape the two oldest, for one of them may be the job itself; and in the repo of the job,
    and in the others that are warm. Left out are warm jobs that stay behind the best by more than
    they could ever make up: a level of age, for levels do not change at the same time.
    """
    shapes = takeable(view.shapes, factory)
    plain = await view.oldest(shapes, 2)
    slack = WARM_REPO * DEFAULT_WEIGHTS.affinity + STARVATION_STEP * DEFAULT_WEIGHTS.starvation
    near: set[Shape] = set()
    for ceiling in CostClass:
        tops = _tops(plain, replace(factory, cost_ceiling=ceiling), view.ctx, job.id)
        best = max(tops.values(), default=0)
        near |= {shape for shape, top in tops.items() if top + slack >= best}
    own = frozenset({job.repo} if job.repo else ())
    warm = await view.oldest_warm(
        [shape for shape in plain if shape in near], factory.warm_repos - own, 2
    )
    beside = await view.oldest_warm(list(plain), own, 2)
    found = [*_flat(plain), *_flat(warm), *_flat(beside)]
    return tuple({other.id: other for other in found}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Warm:
    """Looks for a factory's best jobs in its warm repos, the most promising shapes first."""

    view: QueueView
    factory: Factory
    asked: Question
    depth: int
    found: dict[Shape, tuple[Job, ...]]

    async def look(
        self, plain: Mapping[Shape, tuple[Job, ...]], best: tuple[Ranked, ...]
    ) -> tuple[Ranked, ...]:
        """Improve on the best few, until no shape that is left could."""
        if not self.factory.warm_repos:
            return best
        ctx, weights = self.view.ctx, self.asked.weights
        bounds = [
            (warm_bound(jobs[0], self.factory, ctx, weights), shape)
            for shape, jobs in plain.items()
        ]
        bounds.sort(key=lambda each: each[0], reverse=True)
        most = PROBES_FIRST
        while chunk := self._promising(bounds, best, most):
            read = await self.view.oldest_warm(chunk, self.factory.warm_repos, self.depth)
            self.found.update(read)
            rows = [*(one.job for one in best), *_flat(read)]
            best = _best(rows, self.factory, ctx, self.asked)
            most *= PROBES_GROWTH
        return best

    def _promising(
        self, bounds: list[tuple[Place, Shape]], best: tuple[Ranked, ...], most: int
    ) -> list[Shape]:
        """Take from the end of ``bounds`` what could get among the best, up to so many pairs."""
        enough = place_of(best[-1]) if len(best) == self.asked.limit else None
        chunk: list[Shape] = []
        pairs = 0
        while bounds and pairs < most and (enough is None or bounds[-1][0] < enough):
            _, shape = bounds.pop()
            pairs += self.view.count_pairs(shape, self.factory.warm_repos)
            chunk.append(shape)
        return chunk


def _best(
    jobs: Iterable[Job], factory: Factory, ctx: Context, asked: Question
) -> tuple[Ranked, ...]:
    """Rank by the wish list that claims are matched by, and score the few that are shown."""
    found = {job.id: job for job in jobs}
    if asked.changed:
        found[asked.changed.id] = asked.changed
    return _best_of(make_pool(found.values(), ctx, asked.weights), factory, ctx, asked)


def _best_of(pool: Pool, factory: Factory, ctx: Context, asked: Question) -> tuple[Ranked, ...]:
    wishes = wishes_of(factory, pool, asked.weights).next_free((), asked.limit)
    return tuple(
        Ranked(job=job, score=score_candidate(job, factory, ctx, asked.weights))
        for job in (pool.jobs[place] for place, _ in wishes)
    )


def _tops(
    plain: Mapping[Shape, tuple[Job, ...]], factory: Factory, ctx: Context, without: JobId
) -> dict[Shape, int]:
    """The best score of each shape, of those that are read."""
    return {
        shape: max(score_candidate(job, factory, ctx).total for job in others)
        for shape, jobs in plain.items()
        if (others := [job for job in jobs if job.id != without])
    }


def _flat(read: Mapping[Shape, tuple[Job, ...]]) -> Iterable[Job]:
    return (job for jobs in read.values() for job in jobs)
