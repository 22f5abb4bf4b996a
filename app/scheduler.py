"""Which job does a factory get? A hard filter, then a score, then a total order. Start here.

The filter
    :mod:`app.eligibility` names *every* reason why a factory may not take a job now. Only a pair
    without any reason is scored; no score, however high, makes up for a missing capability.

The score
    Six terms, each a whole percent, each times a whole weight (:mod:`app.scoring`)::

        score = 2·capability_fit + 2·affinity + 1·load + 6·cost_fit + 3·health
              - 6·starvation_penalty

    ======================  ========  ============================================================
    term                    percent   meaning
    ======================  ========  ============================================================
    ``capability_fit``      0…100     share of what the factory offers that the job needs
    ``affinity``            0 50 100  50 for the preferred engine, 50 for a warm repo
    ``load``                0…100     100 // (1 + jobs the factory is busy with)
    ``cost_fit``            ≤ 100     within the ceiling 100 - 10 a step; above it -100 a step
    ``health``              50 100    ok 100, degraded 50 (down is filtered out)
    ``starvation_penalty``  ≤ 100     100 - 25 for every full 6 h of age; no floor within the
                                      ceiling, never below 0 above it
    ======================  ========  ============================================================

    Integers, so that the weighted terms add up to the score exactly, and ties are real ties.

The order
    Equal scores fall to :func:`tie_break`: higher priority, then older, then lower cost class,
    then smaller id. Priority breaks ties and is no term: a critical job may well wait for one
    whose repo is warm. Age counts in whole levels of six hours, so that it may decide often.

The theorems
    The weights are no matter of taste. For any queue and fleet, with creation times not ahead of
    ``now``:

    1. *No starvation.* For any factory, a job within its ceiling outscores every job created 24 h
       or more after it. Four levels are worth 6·100 = 600; the younger can gain at most
       2·100 by fit, 2·100 by affinity and 6·20 by cost: 600 > 520.
    2. *Over budget is last.* A job above a factory's ceiling scores below every job within it.
       Their cost fits are 190 apart at least (90 and -100, for nothing is above a high ceiling);
       the one above can gain 200 + 200, and 600 by age, for its penalty stops at 0:
       6·190 = 1140 > 1000.
    3. *Health outweighs idleness.* Of two factories equal but for load and health, an ok one
       outscores a degraded one whatever the loads: 3·50 = 150 > 1·100.

    :func:`theorems_broken` says which of them other weights give up.

Several factories at once
    :func:`match` hands out greedily: the best pair of all first, then the best of what is left.
    Load and health are equal for all jobs of one factory, so they never change *which* job a
    factory wants; they decide which of the waiting factories gets a job that several want. A pick
    makes its factory busier, hence its score for everything lower by one and the same number, and
    leaves the order in which it wants things untouched. So each factory's wish list is sorted
    once, and a pick only compares the tops of the lists: O(pairs · log pairs) for the lists and
    O(factories) for a pick, where rescoring every pair after every pick would cost O(pairs).

Where the candidates come from, if a million are ready, is the matter of :mod:`app.heads`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from app.bidding import Camp, camps
from app.eligibility import (
    ClearsWhen,
    Reason,
    Rejection,
    exclusion_stands,
    factory_rejections,
    job_rejections,
    pair_rejections,
    rejections,
)
from app.fleet import Context, Factory, FactoryId, Job
from app.scoring import (
    DEFAULT_WEIGHTS,
    Score,
    Terms,
    Theorem,
    Weights,
    score_candidate,
    theorems_broken,
    tie_break,
)
from app.wishlist import Pool, make_pool

__all__ = [
    "DEFAULT_WEIGHTS",
    "ClearsWhen",
    "Pick",
    "Ranked",
    "Reason",
    "Rejection",
    "RunnerUp",
    "Score",
    "Seeker",
    "Terms",
    "Theorem",
    "Weights",
    "exclusion_stands",
    "factory_rejections",
    "job_rejections",
    "match",
    "open_seekers",
    "pair_rejections",
    "rank",
    "rejections",
    "score_candidate",
    "select_job",
    "theorems_broken",
    "tie_break",
]

RUNNERS_UP_MAX = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """An eligible job with its score for one factory."""

    job: Job
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeker:
    """A factory that waits for at most ``max_jobs`` jobs; several of one factory add up."""

    factory: Factory
    max_jobs: int = 1

    @property
    def wanted(self) -> int:
        """How many it can be given: never more than it asked for, or has seats for."""
        return max(0, min(self.max_jobs, self.factory.seats_free))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """A job that a factory would have got next, and the total it would have scored."""

    job: Job
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """One job given to one factory, with what the decision record keeps of the choice.

    ``score`` is at the load the factory had at that moment, and so are those of ``runners_up``,
    the next best jobs that were still free for it. ``rank`` is the job's place in the factory's own
    ranking of all candidates: above 1 if better ones went elsewhere, or to itself, before.
    """

    factory_id: FactoryId
    job: Job
    score: Score
    rank: int
    runners_up: tuple[RunnerUp, ...] = ()

    @property
    def margin(self) -> int | None:
        """By how much it outscored the next best; 0 if a tie-break decided."""
        return self.score.total - self.runners_up[0].total if self.runners_up else None


def rank(
    candidates: Iterable[Job], factory: Factory, ctx: Context, weights: Weights = DEFAULT_WEIGHTS
) -> tuple[Ranked, ...]:
    """Every candidate that ``factory`` may take now, the best first."""
    if factory_rejections(factory, ctx):
        return ()
    eligible = [
        Ranked(job=job, score=score_candidate(job, factory, ctx, weights))
        for job in candidates
        if not job_rejections(job, ctx) and not pair_rejections(job.job_class, factory)
    ]
    return tuple(sorted(eligible, key=lambda one: (-one.score.total, tie_break(one.job))))


def select_job(
    candidates: Iterable[Job], factory: Factory, ctx: Context, weights: Weights = DEFAULT_WEIGHTS
) -> Job | None:
    """The one job that ``factory`` should get now, if there is any for it."""
    ranked = rank(candidates, factory, ctx, weights)
    return ranked[0].job if ranked else None


def match(
    seekers: Iterable[Seeker],
    candidates: Iterable[Job],
    ctx: Context,
    weights: Weights = DEFAULT_WEIGHTS,
) -> tuple[Pick, ...]:
    """Who gets what, in the order of picking: the best pair of all first, greedily.

    A job is given once and a lock is used once; a factory gets no more than it asked for and has
    seats for. After a pick its load counts one more; ``now`` and the warm repos stay as they are.
    Equal pairs fall to the jobs' tie-break, then to the factory that was served longest ago (never
    comes first, and a pick of this very batch counts as serving), then to the factory's id.
    With one seeker it is :func:`select_job`, repeated.
    """
    pool = make_pool(candidates, ctx, weights)
    able = ((seeker.factory, seeker.wanted) for seeker in open_seekers(seekers, ctx))
    bidding = camps(able, pool, weights)
    gone: set[int] = set()
    picks: list[Pick] = []
    while (camp := _best(bidding, gone)) is not None:
        picks.append(_pick(camp, pool, gone, ctx, weights))
        gone.update(pool.claimed_with(camp.wishes.top))
        camp.serve(len(picks), weights)
    return tuple(picks)


class OpenSeekers(tuple[Seeker, ...]):
    """Seekers that were found open once; asking about them again changes nothing."""

    __slots__ = ()


def open_seekers(seekers: Iterable[Seeker], ctx: Context) -> OpenSeekers:
    """Those that can be given anything now, the requests of one factory added up to one."""
    if isinstance(seekers, OpenSeekers):
        return seekers
    asked: dict[FactoryId, Seeker] = {}
    for seeker in seekers:
        known = asked.get(seeker.factory.id)
        if known is not None:
            seeker = replace(known, max_jobs=known.max_jobs + seeker.max_jobs)  # noqa: PLW2901
        asked[seeker.factory.id] = seeker
    return OpenSeekers(
        seeker
        for seeker in asked.values()
        if seeker.wanted > 0 and not factory_rejections(seeker.factory, ctx)
    )


def _best(bidding: Iterable[Camp], gone: Collection[int]) -> Camp | None:
    open_camps = (camp for camp in bidding if camp.turns and camp.wishes.advance(gone))
    return min(open_camps, key=Camp.bid, default=None)


def _pick(camp: Camp, pool: Pool, gone: Collection[int], ctx: Context, weights: Weights) -> Pick:
    (_, winner), wishes = camp.turns[0], camp.wishes
    job = pool.jobs[wishes.top]
    others = wishes.next_free(gone, 1 + RUNNERS_UP_MAX)[1:]
    return Pick(
        factory_id=winner.factory.id,
        job=job,
        score=score_candidate(job, winner.as_it_stands(), ctx, weights),
        rank=wishes.cursor + 1,
        runners_up=tuple(
            RunnerUp(job=pool.jobs[place], total=score + winner.standing) for place, score in others
        ),
    )
