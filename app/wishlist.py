"""What each factory wants, best first: the data structure that makes :func:`scheduler.match` fast.

A *pool* is the candidates that are free to be taken, in the order of their tie-break, so that a
job's *place* in it stands for the whole tie-break. A *wish list* is the places of the jobs one
factory may take, in its order of preference. A wish is one integer, ``place - score·size``: sorting
such integers sorts by score, then by tie-break, and both can be read back from them.

The score in a wish leaves out load and health, which are the same for all jobs of a factory. That
is why a list stays in order while its factory gets busier.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from app.eligibility import free_to_take, may_ever_take
from app.fleet import Context, CostClass, Factory, FactoryId, Job, JobClass
from app.scoring import (
    WARM_REPO,
    Weights,
    class_score,
    starvation_penalty,
    tie_break,
    within_ceiling,
)

Profile: TypeAlias = tuple[
    frozenset[str], frozenset[str], frozenset[str], CostClass, FactoryId | None
]


Entry: TypeAlias = tuple[int, str | None, int, int]
"""What tells a job from others of its class: its place, its repo, and what its age brings to the
score of a factory within whose ceiling it is, and above. A plain tuple: a claim makes hundreds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The candidates that are free to be taken: in tie-break order, and by class."""

    jobs: tuple[Job, ...]
    classes: tuple[tuple[JobClass, tuple[Entry, ...]], ...]
    places_by_lock: dict[str, tuple[int, ...]]
    excluded: frozenset[FactoryId]

    def profile(self, factory: Factory) -> Profile:
        """What decides a factory's wishes: those with equal profiles wish for the same."""
        return (
            factory.capabilities,
            factory.engines,
            factory.warm_repos,
            factory.cost_ceiling,
            factory.id if factory.id in self.excluded else None,
        )

    def claimed_with(self, place: int) -> tuple[int, ...]:
        """The places that are gone when the job at ``place`` is taken: its own, its lock's."""
        lock = self.jobs[place].job_class.lock
        return (place,) if lock is None else self.places_by_lock[lock]


@dataclass(slots=True, kw_only=True)
class WishList:
    """The wishes of one factory, and how far they are used up."""

    wishes: list[int]
    size: int
    cursor: int = 0

    @property
    def top(self) -> int:
        """The place of its best wish that is left."""
        return self.wishes[self.cursor] % self.size

    @property
    def top_score(self) -> int:
        """The score of that wish, load and health left out."""
        return -(self.wishes[self.cursor] // self.size)

    def advance(self, gone: Collection[int]) -> bool:
        """Move on to the best wish that is not ``gone``; false if none is left."""
        while self.cursor < len(self.wishes) and self.top in gone:
            self.cursor += 1
        return self.cursor < len(self.wishes)

    def next_free(self, gone: Collection[int], limit: int) -> list[tuple[int, int]]:
        """The next ``limit`` wishes that are not ``gone``: their places and scores."""
        free: list[tuple[int, int]] = []
        for index in range(self.cursor, len(self.wishes)):
            score, place = divmod(self.wishes[index], self.size)
            if place not in gone:
                free.append((place, -score))
                if len(free) == limit:
                    break
        return free


def make_pool(candidates: Iterable[Job], ctx: Context, weights: Weights) -> Pool:
    """Keep the candidates that nothing on their own side holds back, each once."""
    free = {job.id: job for job in candidates if free_to_take(job, ctx)}
    jobs = tuple(sorted(free.values(), key=tie_break))
    members: dict[int, list[Entry]] = {}
    locks: dict[str, list[int]] = {}
    for place, job in enumerate(jobs):
        young = -weights.starvation * starvation_penalty(job.created_at, ctx.now)
        entry = (place, job.repo, young, min(0, young))
        # By identity: the jobs of a class share its object, and hashing a class costs more than
        # treating two equal ones as two.
        members.setdefault(id(job.job_class), []).append(entry)
        if job.job_class.lock is not None:
            locks.setdefault(job.job_class.lock, []).append(place)
    return Pool(
        jobs=jobs,
        classes=tuple(
            (jobs[entries[0][0]].job_class, tuple(entries)) for entries in members.values()
        ),
        places_by_lock={lock: tuple(places) for lock, places in locks.items()},
        excluded=frozenset().union(*(job.job_class.excluded for job in jobs)),
    )


def wishes_of(factory: Factory, pool: Pool, weights: Weights) -> WishList:
    """Everything in ``pool`` that ``factory`` may take, the best first."""
    size = max(1, len(pool.jobs))
    offered, warm_repos, warmth = factory.offered, factory.warm_repos, WARM_REPO * weights.affinity
    wishes: list[int] = []
    for job_class, entries in pool.classes:
        if not may_ever_take(job_class, factory.id, offered):
            continue
        alike = class_score(job_class, factory, offered, weights)
        within = within_ceiling(job_class, factory)
        for place, repo, young, old in entries:
            score = alike + (young if within else old)
            if repo in warm_repos:
                score += warmth
            wishes.append(place - size * score)
    wishes.sort()
    return WishList(wishes=wishes, size=size)
