"""The scheduler said a second time: slowly, without structure, straight from its definition.

Nothing here is shared with the scheduler but the nouns. Where the two disagree, one is wrong.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from itertools import product

from app.fleet import Context, Factory, FactoryId, Job, JobState
from app.scheduler import Seeker, Weights

PRIORITIES = ["critical", "high", "normal", "low"]
COSTS = ["low", "medium", "high"]


def offers(factory: Factory) -> set[str]:
    return set(factory.capabilities) | {f"engine:{engine}" for engine in factory.engines}


def reasons(job: Job, factory: Factory, ctx: Context) -> set[str]:
    """The codes of everything that is in the way."""
    now, job_class = ctx.now, job.job_class
    holder = ctx.locks.get(job_class.lock or "")
    checks = {
        "not_ready": job.state != "ready",
        "parent_unfinished": len(job.unfinished_parents) > 0,
        "lock_held": holder is not None
        and not (job.state == JobState.LEASED and holder.job_id == job.id),
        "not_before": job.run_after is not None and job.run_after > now,
        "on_hold": job.hold is not None and (job.hold.until is None or job.hold.until > now),
        "missing_capability": any(need not in offers(factory) for need in job_class.required),
        "excluded": factory.id in job_class.excluded,
        "draining": factory.drain is not None
        and (factory.drain.until is None or factory.drain.until > now),
        "paused": factory.pause is not None
        and (factory.pause.until is None or factory.pause.until > now),
        "down": factory.health == "down",
        "quarantined": factory.quarantined_until is not None and factory.quarantined_until > now,
        "stale": factory.last_seen_at is not None
        and factory.last_seen_at < now - 3 * timedelta(seconds=60),
        "no_seat": factory.seats_used >= factory.seat_limit,
        "account_cooldown": factory.cooldown_until is not None and factory.cooldown_until > now,
    }
    return {code for code, fails in checks.items() if fails}


def percents(job: Job, factory: Factory, ctx: Context) -> dict[str, int]:
    """The six terms, by the table."""
    offered, needed = offers(factory), set(job.job_class.required)
    over = COSTS.index(job.job_class.cost_class) - COSTS.index(factory.cost_ceiling)
    levels = 0
    while ctx.now - job.created_at >= (levels + 1) * timedelta(hours=6):
        levels += 1
    penalty = 100 - 25 * levels
    if over > 0 and penalty < 0:
        penalty = 0
    affinity = 0
    if job.job_class.prefers_engine is not None and job.job_class.prefers_engine in factory.engines:
        affinity += 50
    if job.repo is not None and job.repo in factory.warm_repos:
        affinity += 50
    return {
        "capability_fit": 100 * len(offered & needed) // len(offered) if offered else 100,
        "affinity": affinity,
        "load": 100 // (1 + factory.seats_used + factory.external_load),
        "cost_fit": -100 * over if over > 0 else 100 + 10 * over,
        "health": {"ok": 100, "degraded": 50, "down": 0}[factory.health],
        "starvation_penalty": penalty,
    }


def score(job: Job, factory: Factory, ctx: Context, weights: Weights) -> int:
    parts = percents(job, factory, ctx)
    return (
        weights.capability * parts["capability_fit"]
        + weights.affinity * parts["affinity"]
        + weights.load * parts["load"]
        + weights.cost * parts["cost_fit"]
        + weights.health * parts["health"]
        - weights.starvation * parts["starvation_penalty"]
    )


def comes_first(one: Job, other: Job) -> bool:
    """Whether ``one`` wins a tie: priority, then age, then cost, then id."""
    mine, theirs = one.job_class, other.job_class
    if mine.priority != theirs.priority:
        return PRIORITIES.index(mine.priority) < PRIORITIES.index(theirs.priority)
    if one.created_at != other.created_at:
        return one.created_at < other.created_at
    if mine.cost_class != theirs.cost_class:
        return COSTS.index(mine.cost_class) < COSTS.index(theirs.cost_class)
    return str(one.id) < str(other.id)


def served_first(one: Factory, other: Factory, order: list[FactoryId]) -> bool:
    """Whether ``one`` was served longer ago; ``order`` says who was served in this batch."""
    batch = {factory_id: index for index, factory_id in enumerate(order)}
    if (one.id in batch) != (other.id in batch):
        return other.id in batch
    if one.id in batch:
        return batch[one.id] < batch[other.id]
    if one.last_served_at == other.last_served_at:
        return one.id < other.id
    if one.last_served_at is None or other.last_served_at is None:
        return one.last_served_at is None
    return one.last_served_at < other.last_served_at


def naive_match(
    seekers: Iterable[Seeker], jobs: Iterable[Job], ctx: Context, weights: Weights
) -> list[tuple[FactoryId, Job, int]]:
    """Look at every pair, take the best, and look at every pair again."""
    fleet = {seeker.factory.id: seeker.factory for seeker in seekers}
    left = {seeker.factory.id: seeker.max_jobs for seeker in seekers}
    queue, locks_used, order = list(jobs), set[str | None](), list[FactoryId]()
    picks: list[tuple[FactoryId, Job, int]] = []
    while True:
        best: tuple[int, Factory, Job] | None = None
        for factory, job in product(fleet.values(), queue):
            if left[factory.id] <= 0 or job.job_class.lock in locks_used:
                continue
            if reasons(job, factory, ctx):
                continue
            pair = (score(job, factory, ctx, weights), factory, job)
            if best is None or _beats(pair, best, order):
                best = pair
        if best is None:
            return picks
        points, factory, job = best
        picks.append((factory.id, job, points))
        order.append(factory.id)
        left[factory.id] -= 1
        fleet[factory.id] = replace(factory, seats_used=factory.seats_used + 1)
        queue.remove(job)
        locks_used |= {job.job_class.lock} - {None}


def _beats(
    pair: tuple[int, Factory, Job], other: tuple[int, Factory, Job], order: list[FactoryId]
) -> bool:
    if pair[0] != other[0]:
        return pair[0] > other[0]
    if pair[2].id != other[2].id:
        return comes_first(pair[2], other[2])
    return served_first(pair[1], other[1], order)
