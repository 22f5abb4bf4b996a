"""The queue as one explanation looks at it: by shape (:mod:`app.shapes`), no part read twice."""

from collections.abc import Iterable, Sequence
from typing import Self

from app.coordinator.catalog import Catalog
from app.fleet import ClassId, Context, Factory, Job
from app.position import Stretch
from app.scheduler import Weights
from app.shapes import Shape, takeable
from app.store import explaining
from app.store import shapes as store
from app.store.explaining import Ahead
from app.store.session import Connection
from app.wishlist import Pool, make_pool

PROBES_PLAIN = 1000
"""Up to so many pairs of class and repo of a factory, it is cheaper to look than to ask first."""

STEPS_MAX = 4000
"""How much is spent on asking. Where repos have more classes, looking finds something soon."""

STEPS_MIN = 16


class QueueView:
    """Reads the oldest jobs of shapes, and remembers them for as long as the explanation takes."""

    def __init__(self, conn: Connection, catalog: Catalog, ctx: Context) -> None:
        """Use :meth:`open` instead.

        ``shapes`` are those that one of the factories may take.
        """
        self.ctx = ctx
        self.shapes: Sequence[Shape] = ()
        self._conn = conn
        self._catalog = catalog
        self._sparse: dict[str, dict[Shape, list[ClassId]]] = {}
        self._oldest: dict[tuple[Shape, frozenset[str] | None, int], tuple[Job, ...]] = {}
        self._pools: dict[tuple[int, Weights, Job | None], Pool] = {}

    @classmethod
    async def open(
        cls, conn: Connection, catalog: Catalog, ctx: Context, factories: Iterable[Factory]
    ) -> Self:
        """Look at the queue with the eyes of these factories."""
        await catalog.refresh(conn)
        view = cls(conn, catalog, ctx)
        every, factories = catalog.shapes(), tuple(factories)
        able = {id(one) for each in factories for one in takeable(every, each)}
        view.shapes = [one for one in every if id(one) in able]
        most = max((len(each.warm_repos) for each in factories), default=0)
        if most * len(catalog.classes) > PROBES_PLAIN:
            repos = frozenset[str]().union(*(each.warm_repos for each in factories))
            await view._learn(sorted(repos))
        return view

    async def oldest(self, shapes: Sequence[Shape], depth: int) -> dict[Shape, tuple[Job, ...]]:
        """The oldest jobs of each shape, where there are any."""
        missing = [one for one in shapes if (one, None, depth) not in self._oldest]
        if missing:
            groups = [one.class_ids for one in missing]
            read = await store.oldest(self._conn, groups, depth, self._catalog.classes)
            self._keep(missing, None, depth, read)
        return self._kept(shapes, None, depth)

    def pool(self, depth: int, weights: Weights, changed: Job | None) -> Pool:
        """The oldest jobs of all shapes, as read so deep before, ready to be wished for."""
        key = (depth, weights, changed)
        if key not in self._pools:
            read = self._kept(self.shapes, None, depth)
            jobs = {job.id: job for oldest in read.values() for job in oldest}
            if changed:
                jobs[changed.id] = changed
            self._pools[key] = make_pool(jobs.values(), self.ctx, weights)
        return self._pools[key]

    async def oldest_in(
        self, shapes: Sequence[Shape], repos: frozenset[str] | None, depth: int
    ) -> dict[Shape, tuple[Job, ...]]:
        """The oldest jobs of each shape: in these repos, or in any."""
        if repos is None:
            return await self.oldest(shapes, depth)
        return await self.oldest_warm(shapes, repos, depth)

    async def oldest_warm(
        self, shapes: Sequence[Shape], repos: frozenset[str], depth: int
    ) -> dict[Shape, tuple[Job, ...]]:
        """The oldest jobs of each shape in any of the repos, where there are any."""
        missing = [one for one in shapes if (one, repos, depth) not in self._oldest]
        groups = [self.pairs(one, repos) for one in missing]
        if any(groups):
            read = await store.oldest_in_repos(self._conn, groups, depth, self._catalog.classes)
        else:
            read = [()] * len(groups)
        self._keep(missing, repos, depth, read)
        return self._kept(shapes, repos, depth)

    async def ahead(self, where: Iterable[tuple[Shape, frozenset[str], Stretch]]) -> Ahead:
        """Count the jobs of shapes in these stretches, within repos where some are named."""
        where = tuple(where)
        plain = [(one.class_ids, each) for one, repos, each in where if not repos]
        counted = await explaining.ahead(self._conn, plain)
        if counted.at_least:
            return counted
        in_repo = [(self.pairs(one, repos), each) for one, repos, each in where if repos]
        return await explaining.ahead_in_repos(self._conn, in_repo, counted)

    def pairs(self, shape: Shape, repos: Iterable[str]) -> list[tuple[ClassId, str]]:
        """Where jobs of a shape may be that are in one of the repos."""
        return [(class_id, repo) for repo in repos for class_id in self._classes_in(repo, shape)]

    def count_pairs(self, shape: Shape, repos: Iterable[str]) -> int:
        """Count the same."""
        return sum(len(self._classes_in(repo, shape)) for repo in repos)

    def _classes_in(self, repo: str, shape: Shape) -> Sequence[ClassId]:
        sparse = self._sparse.get(repo)
        return shape.class_ids if sparse is None else sparse.get(shape, ())

    async def _learn(self, repos: Sequence[str]) -> None:
        """Ask which classes have jobs in each of the repos, where these are not many."""
        most = max(STEPS_MIN, STEPS_MAX // len(repos))
        for repo, ids in (await store.repo_classes(self._conn, repos, most)).items():
            found: dict[Shape, list[ClassId]] = {}
            for class_id in ids:
                shape = self._catalog.shape(class_id)
                if shape is not None:
                    found.setdefault(shape, []).append(class_id)
            self._sparse[repo] = found

    def _keep(
        self,
        shapes: Sequence[Shape],
        repos: frozenset[str] | None,
        depth: int,
        read: Sequence[tuple[Job, ...]],
    ) -> None:
        for one, jobs in zip(shapes, read, strict=True):
            self._oldest[one, repos, depth] = jobs

    def _kept(
        self, shapes: Sequence[Shape], repos: frozenset[str] | None, depth: int
    ) -> dict[Shape, tuple[Job, ...]]:
        found = ((one, self._oldest[one, repos, depth]) for one in shapes)
        return {one: jobs for one, jobs in found if jobs}
