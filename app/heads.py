"""Which few of a million ready jobs must be looked at, so that no other could have won.

Within a class, for one factory, and with the repo warm or not warm there in both cases, an older
job never ranks below a younger one: everything else in its score and tie-break is the same. So the
oldest, the *head*, ranks best, and for any factory

    the best job it may take is the head of some class, or of some (class, warm repo).

The head of a class over all repos also speaks for those that are not warm: should it be warm
itself, it beats them by age and by affinity. Filters come before any limit: only classes that the
factory may take are looked at, hence a thousand capped jobs cannot hide one that can run.

Of a class with a lock a batch can use one job, for the lock is used once. So of all classes that
differ in their lock alone, the *kin*, only the heads matter, and among these the same law holds:
the oldest ranks best. A lock for each pull request, or clone, makes ten thousand classes of a kin,
and a batch needs few of their heads.

A *group* is a class without a lock, or a kin, over all repos or in one, and its rows are by
(created_at, id): of a class its ready jobs, of a kin the heads of those of its classes whose lock
is free. A batch gives out more than one job, and may so use up the rows that were fetched of a
group: they are taken, or their lock is. While each group that has more behind them (``more``) has a
fetched row left, the law above holds at every pick: of any job not fetched, of group g and repo r,
and any factory, a row left of (g, r), if r is warm there, else of (g, any repo), ranks before it.
When no row is left, the pick after it, or the decision that nothing is left to pick, may be wrong:
:func:`run_out` names these groups, and how deep is deep enough. Fetch them so, match again from
the start, until none ran out; then the result is that of matching over *all* ready jobs.

One consequence keeps this cheap: a single seat is always decided by single heads, for its pick
leaves no seat for a second decision.

The law leans on what :mod:`app.lease` guarantees of a ready job: no parent is unfinished, no hold
stands, and its ``run_after`` has passed. And it leans on warmth and age never counting against a
job, which is why :class:`Weights` are never negative.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, NewType, TypeAlias

from app.eligibility import may_ever_take
from app.fleet import ClassId, Context, CostClass, Factory, FactoryId, Job, JobClass, JobId
from app.scheduler import DEFAULT_WEIGHTS, Pick, Seeker, Weights, open_seekers
from app.scoring import WARM_REPO, wish_score

_Taste: TypeAlias = tuple[frozenset[str], frozenset[str], CostClass]


Kin = NewType("Kin", bytes)
"""Names all classes that differ in their lock alone, and have one."""


class Group(NamedTuple):
    """A class without a lock, or a kin: over all repos, or (``repo`` set) in one."""

    of: ClassId | Kin
    repo: str | None = None

    @property
    def is_kin(self) -> bool:
        """Whether its classes have locks."""
        return isinstance(self.of, bytes)


class Heads(NamedTuple):
    """The rows fetched of a group; ``more`` if there may be further ones behind them.

    ``job_class`` is the class, or what all classes of the kin are but for their locks. A desk that
    lost a row to somebody else takes it out of ``jobs`` and leaves ``more`` as it was.
    """

    group: Group
    job_class: JobClass
    jobs: tuple[Job, ...]
    more: bool


def groups_needed(
    known: Mapping[ClassId | Kin, JobClass], offered: frozenset[str], factory_id: FactoryId | None
) -> frozenset[Group]:
    """Name the groups over all repos that one factory may take from, locks held or not.

    Without an id it stands for any factory that no class excludes. Which warm repos it takes
    besides, :func:`warm_groups` says.
    """
    return frozenset(
        Group(of)
        for of, job_class in known.items()
        if may_ever_take(job_class, factory_id, offered)
    )


def warm_groups(
    supply: Iterable[Heads],
    picks: Iterable[Pick],
    seekers: Iterable[Seeker],
    ctx: Context,
    weights: Weights = DEFAULT_WEIGHTS,
) -> dict[FactoryId, tuple[Group, ...]]:
    """The groups, by seeker, that may hold something better for it in one of its warm repos.

    The oldest job of a group bounds what any other of it scores, but for the repo's warmth. So no
    warm repo need be looked into for a group whose head, made warm, would score below the worst
    that the seeker got. A seeker that is left with less than it wanted has been through everything,
    but of a kin: behind each head there may be others of its class. To be asked once
    :func:`run_out` names nothing any more. Those for whom there is no such group are left out.
    """
    heads = [
        (each.group, each.jobs[0])
        for each in supply
        if each.group.repo is None and each.jobs and (each.more or each.group.is_kin)
    ]
    locked = [(group, job.job_class) for group, job in heads if group.is_kin]
    got: dict[FactoryId, list[Job]] = {}
    for pick in picks:
        got.setdefault(pick.factory_id, []).append(pick.job)
    tops: dict[_Taste, list[tuple[int, Group]]] = {}
    found: dict[FactoryId, tuple[Group, ...]] = {}
    for seeker in seekers:
        factory, mine = seeker.factory, got.get(seeker.factory.id, [])
        if not factory.warm_repos:
            continue
        if len(mine) < seeker.wanted:
            near = tuple(
                group
                for group, job_class in locked
                if may_ever_take(job_class, factory.id, factory.offered)
            )
        else:
            taste = (factory.capabilities, factory.engines, factory.cost_ceiling)
            if taste not in tops:
                tops[taste] = _tops(heads, factory, ctx, weights)
            worst = min(wish_score(job, factory, ctx, weights) for job in mine)
            enough = worst - WARM_REPO * weights.affinity
            near = tuple(group for top, group in tops[taste] if top >= enough)
        if near:
            found[factory.id] = near
    return found


def _tops(
    heads: Iterable[tuple[Group, Job]], factory: Factory, ctx: Context, weights: Weights
) -> list[tuple[int, Group]]:
    """What the heads that a factory may take would score if no repo were warm."""
    cold = replace(factory, warm_repos=frozenset())
    return [
        (wish_score(job, cold, ctx, weights), group)
        for group, job in heads
        if may_ever_take(job.job_class, None, factory.offered)
    ]


def run_out(
    supply: Iterable[Heads],
    picks: Iterable[Pick],
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
        if not heads.more:
            continue
        last = ledger.used_up_at(heads)
        if last is not None and ledger.may_be_missed(heads, last):
            found.append((last, heads.group, ledger.demand(heads)))
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

    def used_up_at(self, heads: Heads) -> int | None:
        """The pick with which the last row of a group was gone; -1 if none was there; else None."""
        last = -1
        for job in heads.jobs:
            lock = job.job_class.lock
            gone = self.picked_at.get(job.id) if lock is None else self.lock_used_at.get(lock)
            if gone is None:
                return None
            last = max(last, gone)
        return last

    def may_be_missed(self, heads: Heads, last: int) -> bool:
        """Whether a further row of the group could have been taken after the pick ``last``."""
        repo = heads.group.repo
        until_then = [pick.factory_id for pick in self.picks[: last + 1]]
        return any(
            until_then.count(seeker.factory.id) < seeker.wanted
            for seeker in self._able(heads.job_class)
            if repo is None or repo in seeker.factory.warm_repos
        )

    def demand(self, heads: Heads) -> int:
        """How many rows of a group the batch could use up at most.

        Of a class that is as many as those may take who can take any. A row of a kin is used up as
        well by who takes another job with the same lock, whatever its class.
        """
        able = self.seekers if heads.group.is_kin else self._able(heads.job_class)
        return sum(seeker.wanted for seeker in able)

    def _able(self, job_class: JobClass) -> list[Seeker]:
        return [
            seeker
            for seeker in self.seekers
            if may_ever_take(job_class, seeker.factory.id, seeker.factory.offered)
        ]
