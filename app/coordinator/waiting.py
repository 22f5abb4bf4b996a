"""Who waits at the claim desk: for what, until when, and which wake-up call concerns him."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from app.coordinator.catalog import Catalog
from app.coordinator.claim import Claim, Served, Want
from app.eligibility import Reason
from app.fleet import ClassId, Context, Factory, FactoryId, JobClass
from app.scheduler import factory_rejections, pair_rejections
from app.store.session import Connection
from app.store.wake import LOCK, SEAT, await_seats


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """``POST /claim``: up to ``max_jobs`` jobs, waiting up to ``wait_s`` for the first."""

    factory_id: FactoryId
    max_jobs: int = 1
    wait_s: float = 0
    lease_s: int = 60
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """There is nothing for this factory now: how many jobs each reason keeps from it."""

    reasons: Mapping[Reason, int]
    retry_after_s: int


Answer: TypeAlias = tuple[Claim, ...] | Nothing


@dataclass(slots=True, eq=False, kw_only=True)
class Waiter:
    """A claim at the desk, and what is known of its factory since it last looked."""

    request: ClaimRequest
    answer: asyncio.Future[Answer]
    deadline: float
    parked: bool = False
    looked_at: float = 0.0
    factory: Factory | None = None
    ctx: Context | None = None

    @property
    def want(self) -> Want:
        """What it asks for."""
        asked = self.request
        return Want(
            factory_id=asked.factory_id,
            max_jobs=asked.max_jobs,
            lease_s=asked.lease_s,
            key=asked.key,
        )

    def settle(self, answer: Answer) -> None:
        """Answer, unless he was answered or went away."""
        if not self.answer.done():
            self.answer.set_result(answer)

    def refuse(self, error: Exception) -> None:
        """Refuse, unless he was answered or went away."""
        if not self.answer.done():
            self.answer.set_exception(error)


async def opened_meanwhile(
    conn: Connection, empty: Iterable[tuple[Waiter, Served]], served: Iterable[Served]
) -> frozenset[FactoryId]:
    """Have those called who go on waiting for a seat of theirs; names those who have one by now.

    Their last seats may have gone to other claims of theirs that were ``served`` beside them.
    """
    now = asyncio.get_running_loop().time()
    got = Counter(one.want.factory_id for one in served for _ in one.claims)
    full = frozenset(
        one.want.factory_id
        for waiter, one in empty
        if one.factory is not None
        and one.factory.seats_free <= got[one.want.factory_id]
        and waiter.deadline > now
    )
    return full - await await_seats(conn, full) if full else full


def clears_in_s(factory: Factory, ctx: Context) -> float | None:
    """Tell after how many seconds the clock alone lifts what refuses a factory, if it does."""
    ends = [each.clears_at for each in factory_rejections(factory, ctx) if each.clears_at]
    return (min(ends) - ctx.now).total_seconds() if ends else None


def whom(payload: str, catalog: Catalog) -> Callable[[Waiter], bool]:
    """Say whom a wake-up call (:mod:`app.store.wake`) may concern; in doubt, everybody."""
    if payload.startswith(SEAT):
        factory_id = payload.removeprefix(SEAT)
        return lambda waiter: waiter.request.factory_id == factory_id
    if payload.startswith(LOCK):
        classes = catalog.with_lock(payload.removeprefix(LOCK))
    else:
        known = catalog.classes.get(ClassId(int(payload) if payload.isdecimal() else -1))
        classes = [] if known is None else [known]
    # A class that is not known yet may be for anybody.
    return lambda waiter: not classes or any(_concerns(waiter, each) for each in classes)


def _concerns(waiter: Waiter, job_class: JobClass) -> bool:
    return waiter.factory is None or not pair_rejections(job_class, waiter.factory)
