"""Explain a job: why it is, or is not, taken, what it waits for, and what waits for it.

The verdict of each factory is :func:`app.scheduler.rejections` on the very facts of the filter, and
:func:`app.scheduler.score_candidate`; its rank is its place in the ranking that the factory's next
claim would find, counted by index where the ranking is long.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.blockers import blockers
from app.coordinator.catalog import Catalog
from app.coordinator.explain import Place, no_factory, places_of
from app.coordinator.explain_pair import PairExplanation, explain_pair, repaired
from app.coordinator.explain_tenure import known_to_hold, tenure_now
from app.coordinator.queue_view import QueueView
from app.coordinator.ranking import Question, ranked
from app.eligibility import Rejection, job_rejections, rejections
from app.errors import NotFound
from app.fleet import Context, Factory, FactoryId, Job, JobId, JobState
from app.position import Stretch, stretches
from app.scheduler import DEFAULT_WEIGHTS, Score, Weights, score_candidate
from app.sentences import headline, state_sentence
from app.shapes import Profile, Shape, profile, takeable
from app.store import explaining, factories
from app.store.explaining import Ahead, Dependant, Situation
from app.store.session import Connection, Database
from app.tenure import Tenure

RANKED_MAX = 5
"""In the rankings of how many factories a job's place is looked up: those it suits best."""

AHEAD_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a factory can take a job now: every reason why not, and how it would score.

    ``ahead`` is how many jobs the factory would take before; only known for a few factories.
    """

    factory: Factory
    reasons: tuple[Rejection, ...]
    score: Score
    ahead: Ahead | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A job's place in the queue of the factory that would take it soonest, and who is ahead."""

    factory_id: FactoryId
    ahead: Ahead
    first: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """A job that really holds another up, the way to it, and what it waits for itself."""

    job: Job
    sentence: str
    path: tuple[JobId, ...]
    reasons: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExplanation:
    """Why a job is, or is not, taken: a verdict per factory, and one line for all.

    ``tenure`` is who runs it and what ends that; ``kinds`` are of the job and those ahead of it.
    """

    job: Job
    kinds: Mapping[JobId, str]
    tenure: Tenure | None
    sentence: str
    now: datetime
    weights: Weights
    headline: str
    verdicts: tuple[Verdict, ...]
    queue: Queue | None
    blockers: tuple[Blocker, ...]
    dependants: tuple[Dependant, ...]
    pair: PairExplanation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobQuestion:
    """What is asked about a job: by all factories, or one.

    ``waiting`` are those at the desk; they are alive, however long ago they called.
    """

    job_id: JobId
    waiting: frozenset[FactoryId]
    factory_id: FactoryId | None = None


async def explain_job(db: Database, catalog: Catalog, asked: JobQuestion) -> JobExplanation:
    """Say for every factory, or for one, whether it can take the job now, and if not, why.

    Raises:
        NotFound: there is no such job, or no such factory.
    """
    async with db.connection() as conn:
        situation = await situation_of(conn, asked.job_id)
        only = None if asked.factory_id is None else [asked.factory_id]
        snapshot = await factories.snapshot(conn, only)
        if asked.factory_id is not None and not snapshot.factories:
            raise no_factory(asked.factory_id)
        job, ctx = situation.job, situation.ctx
        verdicts = [
            _verdict(job, _alive(each.factory, asked, ctx), ctx) for each in snapshot.factories
        ]
        verdicts.sort(key=_able_and_best_first)
        asking = [each.factory for each in verdicts[:RANKED_MAX] if not each.reasons]
        if only:
            asking.append(repaired(job, snapshot.factories[0].factory))
        view = await QueueView.open(conn, catalog, ctx, asking) if asking else None
        if view:
            verdicts[:RANKED_MAX] = await _placed(view, job, verdicts[:RANKED_MAX])
        queue = await _queue(view, verdicts) if view else None
        tenure = await tenure_now(conn, situation)
        named = [job.id, *(each.job.id for each in queue.first)] if queue else [job.id]
        return JobExplanation(
            job=job,
            kinds=await explaining.kinds(conn, named),
            tenure=tenure,
            sentence=state_sentence(job, situation.holder),
            now=ctx.now,
            weights=DEFAULT_WEIGHTS,
            headline=_headline(job, verdicts, tenure),
            verdicts=tuple(verdicts),
            queue=queue,
            blockers=await _blockers(conn, situation),
            dependants=await explaining.below(conn, job.id),
            pair=known_to_hold(
                await explain_pair(conn, view, job, snapshot.factories[0].factory, ctx), tenure
            )
            if only and view
            else None,
        )


def _headline(job: Job, verdicts: Sequence[Verdict], tenure: Tenure | None) -> str:
    holder = tenure.factory_id if tenure else None
    return headline(job, [each.reasons for each in verdicts if each.factory.id != holder], holder)


async def situation_of(conn: Connection, job_id: JobId) -> Situation:
    """Read a job with everything that speaks for or against its being taken.

    Raises:
        NotFound: there is no such job.
    """
    found = await explaining.situations(conn, [job_id])
    if job_id not in found:
        detail = f"There is no job {job_id}."
        raise NotFound(detail, job_id=str(job_id))
    return found[job_id]


def _alive(factory: Factory, asked: JobQuestion, ctx: Context) -> Factory:
    return replace(factory, last_seen_at=ctx.now) if factory.id in asked.waiting else factory


def _verdict(job: Job, factory: Factory, ctx: Context) -> Verdict:
    return Verdict(
        factory=factory,
        reasons=rejections(job, factory, ctx),
        score=score_candidate(job, factory, ctx),
    )


async def _placed(view: QueueView, job: Job, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Add to the verdicts of able factories how many jobs each would take before."""
    counted: dict[Profile, Ahead] = {}
    placed: list[Verdict] = []
    for verdict in verdicts:
        if verdict.reasons:
            placed.append(verdict)
            continue
        # Load and health are the same for all jobs of a factory, so that those alike agree.
        alike = profile(verdict.factory, view.shapes)
        if alike not in counted:
            counted[alike] = await view.ahead(_stretches(view, job, verdict.factory))
        placed.append(replace(verdict, ahead=counted[alike]))
    return placed


def _stretches(
    view: QueueView, job: Job, factory: Factory
) -> Iterator[tuple[Shape, frozenset[str], Stretch]]:
    """Where the jobs are that the factory would take before: of a shape, in repos if any is named.

    One class speaks for its shape, and one repo for all that are warm: lines lie alike for each.
    """
    shapes = {one.class_ids[0]: one for one in takeable(view.shapes, factory)}
    warm = factory.warm_repos
    one_repo = sorted(warm)[:1]
    needed = {class_id: (one.job_class, one_repo) for class_id, one in shapes.items()}
    for each in stretches(job, factory, view.ctx, DEFAULT_WEIGHTS, needed):
        repos = frozenset[str]() if each.repo is None else warm
        yield shapes[each.class_id], repos, each


async def _queue(view: QueueView, verdicts: Sequence[Verdict]) -> Queue | None:
    placed = [(each.ahead.jobs, each.factory, each.ahead) for each in verdicts if each.ahead]
    if not placed:
        return None
    _, factory, ahead = min(placed, key=lambda one: (one[0], one[1].id))
    most = min(AHEAD_SHOWN, ahead.jobs)
    best = await ranked(view, factory, Question(limit=most + 1)) if most else ()
    return Queue(factory_id=factory.id, ahead=ahead, first=places_of(best)[:most])


async def _blockers(conn: Connection, situation: Situation) -> tuple[Blocker, ...]:
    """Follow parents and lock holders to the jobs that wait for no other."""
    job = situation.job
    waits_for = await explaining.above(conn, job.id)
    if job.state is not JobState.LEASED:
        _add_lock_holder(waits_for, situation)
    ends = blockers(job.id, waits_for)
    found = await explaining.situations(conn, [path[-1] for path in ends])
    for each in found.values():
        if each.job.state is JobState.READY:
            _add_lock_holder(waits_for, each)
    ends = blockers(job.id, waits_for)
    found |= await explaining.situations(conn, [way[-1] for way in ends if way[-1] not in found])
    return tuple(
        Blocker(
            job=found[path[-1]].job,
            sentence=state_sentence(found[path[-1]].job, found[path[-1]].holder),
            path=path,
            reasons=job_rejections(found[path[-1]].job, found[path[-1]].ctx),
        )
        for path in ends
        if path[-1] in found
    )


def _add_lock_holder(waits_for: dict[JobId, list[JobId]], situation: Situation) -> None:
    for holder in situation.ctx.locks.values():
        if holder.job_id != situation.job.id:
            waits_for.setdefault(situation.job.id, []).append(holder.job_id)


def _able_and_best_first(verdict: Verdict) -> tuple[bool, int, FactoryId]:
    return (bool(verdict.reasons), -verdict.score.total, verdict.factory.id)
