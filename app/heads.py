"""Which few of a million ready jobs must be looked at, so that no other could have won.

Within a class, for one factory, and with the repo warm or not warm there in both cases, an older
job never ranks below a younger one: everything else in its score and tie-break is the same. So the
oldest, the *head*, ranks best, and for any factory

    the best job it may take is the head of some class, or of some (class, warm repo).

The head of a class over all repos also speaks for those that are not warm: should it be warm
itself, it beats them by age and by affinity. Filters come before any limit: only classes that the
factory may take are looked at, hence a thousand capped jobs cannot hide one that can run.

A *group* is a class, or a class in one repo, and its rows are its ready jobs by (created_at, id).
A batch gives out more than one job, and may so use up the rows that were fetched of a group. While
each group that has more behind them (``more``) has a fetched row left, the law above holds at every
pick: of any job not fetched, of class c and repo r, and any factory, a row left of (c, r), if r is
warm there, else of (c, any repo), ranks before it. Its lock, if it has one, is the same lock. When
no row is left, the pick after it, or the decision that nothing is left to pick, may be wrong:
:func:`run_out` names these groups, and how deep is deep enough. Fetch them so, match again from
the start, until none ran out; then the result is that of matching over *all* ready jobs.

Two consequences keep this cheap. A single seat is always decided by single heads: its pick leaves
no seat for a second decision. And a class with a lock needs one row, for the lock is used once.

The law leans on what :mod:`app.lease` guarantees of a ready job: no parent is unfinished, no hold
stands, and its ``run_after`` has passed. And it leans on warmth and age never counting against a
job, which is why :class:`Weights` are never negative.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from app.eligibility import may_ever_take
from app.fleet import ClassId, Context, CostClass, Factory, FactoryId, Job, JobClass, JobId
from app.scheduler import DEFAULT_WEIGHTS, Pick, Seeker, Weights, open_seekers
from app.scoring import WARM_REPO, wish_score

_Taste: TypeAlias = tuple[frozenset[str], frozenset[str], CostClass]


class Group(NamedTuple):
    """The ready jobs of a class, or (``repo`` set) those of them in one repo, oldest first."""

    class_id: ClassId
    repo: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The rows fetched of a group; ``more`` if there may be further ones behind them.

    A desk that lost a row to somebody else takes it out of ``jobs`` and leaves ``more`` as it was.
    """

    group: Group
    jobs: tuple[Job, ...]
    more: bool


def classes_needed(
    classes: Mapping[ClassId, JobClass], seekers: Iterable[Seeker], ctx: Context
) -> dict[ClassId, frozenset[str]]:
    """The classes whose heads are needed, each with the repos in which they are needed as well.

    Left out are classes that no seeker may take, and those whose lock is held. The repos are those
    warm at a seeker that may take the class; where it has no ready job there is nothing to fetch.
    """
    crowds: dict[tuple[frozenset[str], frozenset[str]], set[FactoryId]] = {}
    for seeker in open_seekers(seekers, ctx):
        factory = seeker.factory
        crowds.setdefault((factory.offered, factory.warm_repos), set()).add(factory.id)
    needed: dict[ClassId, frozenset[str]] = {}
    for class_id, job_class in classes.items():
        if job_class.lock is not None and job_class.lock in ctx.locks:
            continue
        warm = [
            warm_repos
            for (offered, warm_repos), ids in crowds.items()
            if job_class.required <= offered and not ids <= job_class.excluded
        ]
        if warm:
            needed[class_id] = frozenset().union(*warm)
    return needed


def groups_needed(
    classes: Mapping[ClassId, JobClass], offered: frozenset[str], factory_id: FactoryId | None
) -> frozenset[Group]:
    """Name the classes that one factory may take, as groups over all repos, locks held or not.

    Without an id it stands for any factory that no class excludes. Which warm repos it takes
    besides, :func:`warm_classes` says.
    """
    return frozenset(
        Group(class_id)
        for class_id, job_class in classes.items()
        if may_ever_take(job_class, factory_id, offered)
    )


def warm_classes(
    supply: Iterable[Heads],
    picks: Iterable[Pick],
    seekers: Iterable[Seeker],
    ctx: Context,
    weights: Weights = DEFAULT_WEIGHTS,
) -> dict[FactoryId, tuple[ClassId, ...]]:
    """The classes, by seeker, that may hold something better for it in one of its warm repos.

    The oldest job of a class bounds what any other of it scores, but for the repo's warmth. So no
    warm repo need be looked into for a class whose head, made warm, would score below the worst
    that the seeker got. A seeker that is left with less than it wanted has been through everything,
    but of a class with a lock, which is used once. To be asked once :func:`run_out` names nothing
    any more. Those for whom there is no such class are left out.
    """
    heads = [
        (each.group.class_id, each.jobs[0])
        for each in supply
        if each.group.repo is None and each.more and each.jobs
    ]
    locked = [
        (class_id, job.job_class) for class_id, job in heads if job.job_class.lock is not None
    ]
    got: dict[FactoryId, list[Job]] = {}
    for pick in picks:
        got.setdefault(pick.factory_id, []).append(pick.job)
    tops: dict[_Taste, list[tuple[int, ClassId]]] = {}
    found: dict[FactoryId, tuple[ClassId, ...]] = {}
    for seeker in seekers:
        factory, mine = seeker.factory, got.get(seeker.factory.id, [])
        if not factory.warm_repos:
            continue
        if len(mine) < seeker.wanted:
            near = tuple(
                class_id
                for class_id, job_class in locked
                if may_ever_take(job_class, factory.id, factory.offered)
            )
        else:
            taste = (factory.capabilities, factory.engines, factory.cost_ceiling)
            if taste not in tops:
                tops[taste] = _tops(heads, factory, ctx, weights)
            worst = min(wish_score(job, factory, ctx, weights) for job in mine)
            enough = worst - WARM_REPO * weights.affinity
            near = tuple(class_id for top, class_id in tops[taste] if top >= enough)
        if near:
            found[factory.id] = near
    return found


def _tops(
    heads: Iterable[tuple[ClassId, Job]], factory: Factory, ctx: Context, weights: Weights
) -> list[tuple[int, ClassId]]:
    """What the heads that a factory may take would score if no repo were warm."""
    cold = replace(factory, warm_repos=frozenset())
    return [
        (wish_score(job, cold, ctx, weights), class_id)
        for class_id, job in heads
        if may_ever_take(job.job_class, None, factory.offered)
    ]


def run_out(
    supply: Iterable[Heads],
    picks: Iterable[Pick],
    classes: Mapping[ClassId, JobClass],
    seekers: Iterable[Seeker],
    ctx: Context,
) -> dict[Group, int]:
    """The groups that must be fetched deeper before ``picks`` can be trusted; none: they are exact.

    Each comes with the number of rows that is deep enough for this batch whatever else is fetched,
    so no group is named twice. Those that ran out first come first: up to there the picks are
    exact, and what they fetch may well spare the others, which ran out only because of it.
    """
    ledger = _Ledger.of(picks, open_seekers(seekers, ctx))
    found: list[tuple[int, Group, int]] = []
    for heads in supply:
        if not heads.more or any(job.id not in ledger.picked_at for job in heads.jobs):
            continue
        job_class = classes[heads.group.class_id]
        last = max((ledger.picked_at[job.id] for job in heads.jobs), default=-1)
        if ledger.may_be_missed(job_class, heads.group.repo, last):
            found.append((last, heads.group, 1 if job_class.lock else ledger.demand(job_class)))
    found.sort(key=lambda each: each[0])
    return {group: depth for _, group, depth in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ledger:
    """What a batch gave out, and to whom: the questions that :func:`run_out` asks of it."""

    picks: tuple[Pick, ...]
    seekers: tuple[Seeker, ...]
    picked_at: dict[JobId, int]
    lock_used_at: dict[str, int]

    @classmethod
    def of(cls, picks: Iterable[Pick], seekers: tuple[Seeker, ...]) -> "_Ledger":
        """Index the picks by job and by lock."""
        picks = tuple(picks)
        locks = ((pick.job.job_class.lock, index) for index, pick in enumerate(picks))
        return cls(
            picks=picks,
            seekers=seekers,
            picked_at={pick.job.id: index for index, pick in enumerate(picks)},
            lock_used_at={lock: index for lock, index in locks if lock is not None},
        )

    def may_be_missed(self, job_class: JobClass, repo: str | None, last: int) -> bool:
        """Whether a further row of the group could have been taken after the pick ``last``."""
        if job_class.lock is not None and self.lock_used_at.get(job_class.lock, last + 1) <= last:
            return False
        until_then = [pick.factory_id for pick in self.picks[: last + 1]]
        return any(
            until_then.count(seeker.factory.id) < seeker.wanted
            for seeker in self._able(job_class)
            if repo is None or repo in seeker.factory.warm_repos
        )

    def demand(self, job_class: JobClass) -> int:
        """How many jobs of a class the batch could use if it used no other."""
        return sum(seeker.wanted for seeker in self._able(job_class))

    def _able(self, job_class: JobClass) -> list[Seeker]:
        return [
            seeker
            for seeker in self.seekers
            if may_ever_take(job_class, seeker.factory.id, seeker.factory.offered)
        ]
