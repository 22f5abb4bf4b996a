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
from datetime import UTC, datetime

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
    standing_score,
    theorems_broken,
    tie_break,
)
from app.wishlist import Pool, WishList, make_pool, wishes_of

__all__ = [
    "DEFAULT_WEIGHTS",
    "ClearsWhen",
    "Pick",
    "Ranked",
    "Reason",
    "Rejection",
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
_NEVER = datetime.min.replace(tzinfo=UTC)


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
    runners_up: tuple[Ranked, ...] = ()

    @property
    def margin(self) -> int | None:
        """By how much it outscored the next best; 0 if a tie-break decided."""
        return self.score.total - self.runners_up[0].score.total if self.runners_up else None


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
    bidders = _bidders(seekers, pool, ctx, weights)
    gone: set[int] = set()
    picks: list[Pick] = []
    while (winner := _best(bidders, gone)) is not None:
        place = winner.wishes.top
        picks.append(_pick(winner, pool, gone, ctx, weights))
        gone.update(pool.claimed_with(place))
        winner.serve(len(picks), weights)
    return tuple(picks)


def open_seekers(seekers: Iterable[Seeker], ctx: Context) -> tuple[Seeker, ...]:
    """Those that can be given anything now, the requests of one factory added up to one."""
    asked: dict[FactoryId, Seeker] = {}
    for seeker in seekers:
        known = asked.get(seeker.factory.id)
        together = seeker.max_jobs + (known.max_jobs if known else 0)
        asked[seeker.factory.id] = replace(known or seeker, max_jobs=together)
    return tuple(
        seeker
        for seeker in asked.values()
        if seeker.wanted > 0 and not factory_rejections(seeker.factory, ctx)
    )


@dataclass(slots=True, kw_only=True)
class _Bidder:
    """A factory in the course of one match; the only thing here that changes."""

    factory: Factory
    wanted: int
    wishes: WishList
    served: tuple[int, datetime, int]
    standing: int

    def bid(self) -> tuple[int, int, tuple[int, datetime, int], FactoryId]:
        """The order of its best pair among all pairs, smallest first."""
        total = self.wishes.top_score + self.standing
        return (-total, self.wishes.top, self.served, self.factory.id)

    def serve(self, ordinal: int, weights: Weights) -> None:
        """Count one more job on it, and let those come first who were served before."""
        self.factory = replace(self.factory, seats_used=self.factory.seats_used + 1)
        self.wanted -= 1
        self.served = (2, _NEVER, ordinal)
        self.standing = standing_score(self.factory, weights)


def _bidders(
    seekers: Iterable[Seeker], pool: Pool, ctx: Context, weights: Weights
) -> tuple[_Bidder, ...]:
    return tuple(
        _Bidder(
            factory=seeker.factory,
            wanted=seeker.wanted,
            wishes=wishes_of(seeker.factory, pool, weights),
            served=_served(seeker.factory),
            standing=standing_score(seeker.factory, weights),
        )
        for seeker in open_seekers(seekers, ctx)
    )


def _served(factory: Factory) -> tuple[int, datetime, int]:
    if factory.last_served_at is None:
        return (0, _NEVER, 0)
    return (1, factory.last_served_at, 0)


def _best(bidders: Iterable[_Bidder], gone: Collection[int]) -> _Bidder | None:
    bidding = (one for one in bidders if one.wanted > 0 and one.wishes.skip(gone))
    return min(bidding, key=_Bidder.bid, default=None)


def _pick(
    winner: _Bidder, pool: Pool, gone: Collection[int], ctx: Context, weights: Weights
) -> Pick:
    best, *others = (
        Ranked(job=job, score=score_candidate(job, winner.factory, ctx, weights))
        for job in (pool.jobs[place] for place in winner.wishes.next_free(gone, 1 + RUNNERS_UP_MAX))
    )
    return Pick(
        factory_id=winner.factory.id,
        job=best.job,
        score=best.score,
        rank=winner.wishes.cursor + 1,
        runners_up=tuple(others),
    )
