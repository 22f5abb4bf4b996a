"""How many jobs stand before one in a factory's ranking, without looking at them.

Within a class, and with the repo warm or not warm, jobs rank by age alone (:mod:`app.heads`). So
those of them that rank before a given job are the oldest ones up to some *line*: a point of the
order (created_at, id). Where the line lies follows from the score and the tie-break, and what is
older is counted by an index.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from app.fleet import ClassId, Context, Factory, Job, JobClass
from app.scheduler import tie_break
from app.scoring import (
    STARVATION_LEVEL,
    STARVATION_STEP,
    WARM_REPO,
    Weights,
    class_score,
    starvation_penalty,
    within_ceiling,
)

_ABOVE_CEILING_LEVELS = 4
"""Above a ceiling the penalty stops at zero: after so many levels age adds nothing."""


class Line(NamedTuple):
    """A point of the order (created_at, id): before it is what is older."""

    at: datetime
    id: UUID


_FIRST, _LAST = UUID(int=0), UUID(int=2**128 - 1)
NOBODY = Line(datetime(1, 1, 2, tzinfo=UTC), _FIRST)
EVERYBODY = Line(datetime(9999, 12, 30, tzinfo=UTC), _LAST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Jobs of a class (``repo`` set: in one repo) that rank before the one asked about.

    They are those from one line to another.
    """

    class_id: ClassId
    repo: str | None = None
    since: Line
    before: Line


def stretches(
    job: Job,
    factory: Factory,
    ctx: Context,
    weights: Weights,
    needed: Mapping[ClassId, tuple[JobClass, Iterable[str]]],
) -> tuple[Stretch, ...]:
    """Where the jobs are that rank before ``job`` at ``factory``; no two stretches overlap.

    Args:
        job: an eligible job.
        factory: who would take it.
        ctx: the time.
        weights: the weights of the score.
        needed: the classes that the factory may take now, with its warm repos.
    """
    mine = _points(job.job_class, factory, weights, warm=job.repo in factory.warm_repos)
    level = (100 - starvation_penalty(job.created_at, ctx.now)) // STARVATION_STEP
    target = mine.at(level)
    found: list[Stretch] = []
    for class_id, (job_class, repos) in needed.items():
        cold = _line(_points(job_class, factory, weights, warm=False), target, job_class, job, ctx)
        found.append(Stretch(class_id=class_id, since=NOBODY, before=cold))
        warm = _line(_points(job_class, factory, weights, warm=True), target, job_class, job, ctx)
        if cold < warm:
            found.extend(
                Stretch(class_id=class_id, repo=repo, since=cold, before=warm) for repo in repos
            )
    return tuple(each for each in found if each.since < each.before)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Points:
    """The score of a class's jobs by their level of age, load and health left out."""

    youngest: int
    step: int
    within: bool

    def at(self, level: int) -> int:
        """The score of a job of this level."""
        return self.youngest + self.step * (
            level if self.within else min(level, _ABOVE_CEILING_LEVELS)
        )

    def beats_from(self, target: int) -> int | None:
        """The least level whose score is greater than ``target``."""
        if self.youngest > target:
            return 0
        if self.step == 0:
            return None
        level = (target - self.youngest) // self.step + 1
        return None if not self.within and level > _ABOVE_CEILING_LEVELS else level

    def ties_from(self, target: int) -> int | None:
        """The least level whose score equals ``target``."""
        if self.youngest == target:
            return 0
        if self.youngest > target or self.step == 0 or (target - self.youngest) % self.step:
            return None
        level = (target - self.youngest) // self.step
        return None if not self.within and level > _ABOVE_CEILING_LEVELS else level


def _points(job_class: JobClass, factory: Factory, weights: Weights, *, warm: bool) -> _Points:
    alike = class_score(job_class, factory, factory.offered, weights)
    return _Points(
        youngest=alike + WARM_REPO * weights.affinity * warm - 100 * weights.starvation,
        step=STARVATION_STEP * weights.starvation,
        within=within_ceiling(job_class, factory),
    )


def _line(points: _Points, target: int, job_class: JobClass, job: Job, ctx: Context) -> Line:
    beating = _age_line(points.beats_from(target), ctx)
    tying = _age_line(points.ties_from(target), ctx)
    # Among equal scores the tie-break decides: all of a class, none, or those that are older.
    return max(beating, min(tying, _tie_line(job_class, job)))


def _age_line(level: int | None, ctx: Context) -> Line:
    if level is None:
        return NOBODY
    return Line(ctx.now - level * STARVATION_LEVEL, _LAST) if level else EVERYBODY


def _tie_line(job_class: JobClass, job: Job) -> Line:
    (theirs, _, their_cost, _), (mine, created_at, cost, _) = (
        tie_break(Job(id=job.id, job_class=job_class, created_at=job.created_at)),
        tie_break(job),
    )
    if theirs != mine:
        return EVERYBODY if theirs < mine else NOBODY
    if their_cost != cost:
        return Line(created_at, _LAST if their_cost < cost else _FIRST)
    return Line(created_at, job.id)
