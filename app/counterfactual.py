"""What would have to change so that a factory takes a job next: the smallest changes, and waiting.

Nothing is offered that was not tried: each set of changes is applied to the facts, and the
scheduler is asked again. What stands in the way of eligibility must be repaired in any case; only
where that is not enough are levers added, one, and if none does, two.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations, pairwise, product

from app.changes import Change, ChangeKind, apply, levers, repairs
from app.eligibility import Reason, Rejection, free_to_take, may_ever_take, rejections
from app.fleet import Context, Factory, Job, JobState
from app.scheduler import DEFAULT_WEIGHTS, Seeker, match, score_candidate
from app.scoring import (
    STARVATION_LEVEL,
    STARVATION_STEP,
    class_score,
    repo_affinity,
    within_ceiling,
)

LEVERS_MAX = 2
_LEVELS_SEEN = 6
"""After four levels of the youngest job nothing is new; one level on, all has been seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A job, a factory that is claiming, and all that could be taken instead.

    ``others`` hold at least the two oldest jobs of every group that the factory could look in, were
    it repaired (:mod:`app.heads`).
    """

    job: Job
    factory: Factory
    others: tuple[Job, ...]
    ctx: Context
    retriable: bool = True

    def after(self, changes: Sequence[Change]) -> tuple[Job, Factory]:
        """The two as they would be after ``changes``."""
        return apply(changes, self.job, self.factory, now=self.ctx.now)

    def taken(self, changes: Sequence[Change] = ()) -> Job | None:
        """What the factory would take after ``changes``."""
        job, factory = self.after(changes)
        others = [other for other in self.others if other.id != job.id]
        return _taken([job, *others], factory, self.ctx)

    def flips(self, changes: Sequence[Change]) -> bool:
        """Whether the factory would take the job after ``changes``."""
        taken = self.taken(changes)
        return taken is not None and taken.id == self.job.id


def smallest_changes(pair: Pair) -> tuple[tuple[Change, ...], ...]:
    """The sets of changes by which the factory would take the job next; fewest and easiest first.

    None of them contains another. None at all if it would take it anyway, or if no call helps.
    """
    if pair.flips(()):
        return ()
    trials = _Trials(pair=pair, best={})
    tried = (changes for repair in _repair_sets(pair) for changes in _least(trials, repair))
    found = [changes for changes in tried if pair.flips(changes)]
    found.sort(key=lambda changes: (len(changes), [_ORDER[each.kind] for each in changes]))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """When time alone makes a factory take a job next, the queue staying as it is.

    ``until`` is when it would lose its turn again, as the ages of others reach their next levels;
    ``for_good_at`` is from when it would not any more; both None if that never is.
    """

    at: datetime
    until: datetime | None
    for_good_at: datetime | None


def wait_for(pair: Pair) -> Wait | None:
    """Find the exact time from which the factory takes the job by waiting alone, if there is one.

    Reasons that end at a time of their own are waited for; any other means that waiting does not
    help by itself.
    """
    start = _free_at(pair)
    if start is None:
        return None
    ready = replace(
        pair,
        job=replace(pair.job, state=JobState.READY, run_after=None, hold=None),
        factory=replace(
            pair.factory,
            drain=None,
            pause=None,
            quarantined_until=None,
            cooldown_until=None,
            # Whenever it claims, that is its sign of life.
            last_seen_at=None,
        ),
    )
    rivals = _rivals(ready)
    if any(_always_first(ready, rival, start) for rival in rivals):
        return None
    latest = max([start, ready.job.created_at, *(rival.created_at for rival in rivals)])
    end = latest + _LEVELS_SEEN * STARVATION_LEVEL
    lost = _union(span for rival in rivals for span in _lost_to(ready, rival, start=start, end=end))
    return _first_gap(lost, start, end)


def _taken(jobs: Iterable[Job], factory: Factory, ctx: Context) -> Job | None:
    """Ask the scheduler, as a claim for one job does."""
    picks = match([Seeker(factory=factory)], jobs, ctx)
    return picks[0].job if picks else None


_ORDER = {kind: place for place, kind in enumerate(ChangeKind)}

_ENDS_BY_ITSELF = frozenset(
    {
        Reason.NOT_BEFORE,
        Reason.ON_HOLD,
        Reason.DRAINING,
        Reason.PAUSED,
        Reason.QUARANTINED,
        Reason.ACCOUNT_COOLDOWN,
    }
)


def _repair_sets(pair: Pair) -> Iterator[tuple[Change, ...]]:
    """Every way to make the job eligible, one repair for each reason."""
    options = [
        repairs(rejection, pair.job, pair.factory, retriable=pair.retriable)
        for rejection in rejections(pair.job, pair.factory, pair.ctx)
    ]
    for chosen in product(*options):
        # One call may clear several reasons.
        yield tuple({each.kind: each for each in chosen}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trials:
    """Tries changes one after another; what a factory would take of the others is found once."""

    pair: Pair
    best: dict[Factory, Job | None]

    def flips(self, changes: Sequence[Change]) -> bool:
        """As :meth:`Pair.flips`, by a duel with the best of the others."""
        job, factory = self.pair.after(changes)
        if factory not in self.best:
            others = (other for other in self.pair.others if other.id != job.id)
            self.best[factory] = _taken(others, factory, self.pair.ctx)
        rival = self.best[factory]
        taken = _taken([job, rival] if rival else [job], factory, self.pair.ctx)
        return taken is not None and taken.id == job.id


def _least(trials: _Trials, repair: tuple[Change, ...]) -> list[tuple[Change, ...]]:
    """The repair with the fewest levers that do; of each kind only the smallest step."""
    found: list[tuple[Change, ...]] = []
    moves = levers(*trials.pair.after(repair))
    for count in range(LEVERS_MAX + 1):
        kinds: set[tuple[ChangeKind, ...]] = set()
        for chosen in combinations(moves, count):
            named = tuple(each.kind for each in chosen)
            doubled = len(set(named)) < count or named in kinds
            if not doubled and trials.flips(repair + chosen):
                kinds.add(named)
                found.append(repair + chosen)
        if found:
            break
    return found


def _free_at(pair: Pair) -> datetime | None:
    """From when nothing but the ranking stands between the two, if time brings that about."""
    start = pair.ctx.now
    for rejection in rejections(pair.job, pair.factory, pair.ctx):
        if rejection.clears_at is None or not _ends_by_itself(rejection):
            return None
        start = max(start, rejection.clears_at)
    return start


def _ends_by_itself(rejection: Rejection) -> bool:
    waits = {JobState.SCHEDULED, JobState.HELD}
    return rejection.reason in _ENDS_BY_ITSELF or rejection.state in waits


def _rivals(pair: Pair) -> tuple[Job, ...]:
    """Those of the others that could ever be the reason why the job is not taken.

    Of jobs that differ in age alone only the oldest counts, whatever the time.
    """
    oldest: dict[tuple[object, ...], Job] = {}
    factory, weights = pair.factory, DEFAULT_WEIGHTS
    for other in pair.others:
        job_class = other.job_class
        able = may_ever_take(job_class, factory.id, factory.offered)
        if not able or other.id == pair.job.id or not free_to_take(other, pair.ctx):
            continue
        alike = (
            class_score(job_class, factory, factory.offered, weights)
            + weights.affinity * repo_affinity(other.repo, factory),
            job_class.priority,
            job_class.cost_class,
        )
        known = oldest.get(alike)
        if known is None or (other.created_at, other.id) < (known.created_at, known.id):
            oldest[alike] = other
    return tuple(oldest.values())


def _always_first(pair: Pair, rival: Job, start: datetime) -> bool:
    """Whether the rival leads by more than a level, within the ceiling: then it always will."""
    if max(rival.created_at, pair.job.created_at) > start:
        return False
    if not within_ceiling(rival.job_class, pair.factory):
        return False
    ctx = replace(pair.ctx, now=start)
    lead = (
        score_candidate(rival, pair.factory, ctx).total
        - score_candidate(pair.job, pair.factory, ctx).total
    )
    return lead > STARVATION_STEP * DEFAULT_WEIGHTS.starvation


def _lost_to(
    pair: Pair, rival: Job, *, start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """The times from ``start`` to ``end`` at which the factory would rather take the rival."""
    borders = sorted({start, end, *_levels(pair.job, start, end), *_levels(rival, start, end)})
    duel = replace(pair, others=(rival,))
    for since, until in pairwise(borders):
        then = replace(duel, ctx=replace(pair.ctx, now=since))
        if not then.flips(()):
            yield since, until


def _levels(job: Job, start: datetime, end: datetime) -> Iterator[datetime]:
    """When a job reaches its next levels of age."""
    level = max(0, (start - job.created_at) // STARVATION_LEVEL)
    at = job.created_at + level * STARVATION_LEVEL
    while at < end:
        if at > start:
            yield at
        at += STARVATION_LEVEL


def _union(
    spans: Iterable[tuple[datetime, datetime]],
) -> list[tuple[datetime, datetime]]:
    joined: list[tuple[datetime, datetime]] = []
    for since, until in sorted(spans):
        if joined and since <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], until))
        else:
            joined.append((since, until))
    return joined


def _first_gap(
    lost: Sequence[tuple[datetime, datetime]], start: datetime, end: datetime
) -> Wait | None:
    for_good_at: datetime | None = lost[-1][1] if lost else start
    if lost and lost[-1][1] > end - STARVATION_LEVEL:
        # Lost within the last period, which repeats for ever.
        for_good_at = None
    at = start
    for since, until in lost:
        if since > at:
            return Wait(at=at, until=since, for_good_at=for_good_at)
        at = until
    return Wait(at=at, until=None, for_good_at=for_good_at) if at < end else None
