"""The life of a factory: register, claim, show signs of life, work, and leave in order.

A *seat* is room for one job at a time. Whenever a seat is free, one claim waits at the coordinator;
and a heartbeat, at the pace the coordinator sets, renews all leases at once.

What can go wrong, and the answer:

- The coordinator does not answer: everything is tried again, with growing pauses. Jobs go on.
- The answer to a claim is lost: it is asked for again under the same key, which brings the leases.
- A lease is lost, or somebody wants the job cancelled: its handler is cancelled.
- The coordinator does not know the factory (any more): it registers again.
- The token is refused: the loop ends with that :class:`~app.sdk.Problem`.

Leaving: no claim is begun any more, and one that is on its way is asked for once more and what it
brought goes back. Jobs get ``grace_s`` to end; then their handlers are cancelled and the jobs are
released, which costs them no attempt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, TypeVar
from uuid import UUID

from app.sdk.client import FleetClient
from app.sdk.errors import FleetError, Problem
from app.sdk.happenings import Happening, LoopEvent, Observer, careful
from app.sdk.leases import Claimed
from app.sdk.pace import Pace
from app.sdk.patience import Patience
from app.sdk.tasks import end, first_of
from app.sdk.transport import new_key
from app.sdk.work import Handler, StopReason, Work
from app.wire.claims import ClaimReply, ClaimRequest
from app.wire.factories import FactoryPut, Heartbeat, HeartbeatReply, HeldLease
from app.wire.values import CLAIMS_MAX

T = TypeVar("T")

_HEARTBEAT_S: Final = 60.0
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409


def _silent(event: LoopEvent) -> None:
    del event


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopOptions:
    """How a factory works; ``tell`` is called with everything that happens."""

    lease_s: int = 60
    wait_s: int = 50
    grace_s: float = 0.0
    """How long jobs may go on once the factory is told to stop."""
    farewell_s: float = 10.0
    """How long the last reports may take; leases left after that end by themselves."""
    tell: Observer = _silent


class FactoryLoop:
    """A factory at work; an async context manager whose end is an orderly leave."""

    def __init__(
        self,
        fleet: FleetClient,
        factory_id: str,
        settings: FactoryPut,
        handler: Handler,
        options: LoopOptions | None = None,
    ) -> None:
        """Prepare; nothing is sent before the block is entered.

        Args:
            fleet: the coordinator, under the token of this factory.
            factory_id: the factory's id.
            settings: what it offers; ``seat_limit`` is how many jobs it runs at a time.
            handler: does a job, see :mod:`app.sdk.work`.
            options: times, and an observer.
        """
        self._fleet = fleet
        self._id = factory_id
        self._settings = settings
        self._handler = handler
        self._options = options or LoopOptions()
        self._told = careful(self._options.tell)
        self._patience = Patience(self._told)
        self._work: dict[UUID, Work] = {}
        self._tasks: dict[Work, asyncio.Task[None]] = {}
        self._registered = asyncio.Event()
        self._seat_freed = asyncio.Event()
        self._hurry = asyncio.Event()
        self._pace = Pace(_HEARTBEAT_S)
        self._drained = False
        self._claim_key: str | None = None
        self._claiming: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._claiming = asyncio.create_task(self._claim_for_ever(), name=f"claims of {self._id}")
        self._beating = asyncio.create_task(self._beat_for_ever(), name=f"heart of {self._id}")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tell(Happening.STOPPING)
        await end(self._claiming)
        await self._return_last_claim()
        await self._finish_work()
        await end(self._beating)
        self._tell(Happening.STOPPED)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop`` is set.

        Raises:
            Problem: the coordinator refuses this factory for good, by its token or its settings.
            RuntimeError: the block of the loop was not entered.
        """
        if self._claiming is None or self._beating is None:
            message = "enter the loop first: async with FactoryLoop(…) as loop"
            raise RuntimeError(message)
        told = asyncio.create_task(stop.wait())
        tasks = {told, self._claiming, self._beating}
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
        for task in ended:
            task.result()

    def hurry(self) -> None:
        """Cut the grace that jobs have once the loop leaves."""
        self._hurry.set()

    # --------------------------------------------------------------- claims and work

    async def _claim_for_ever(self) -> None:
        await self._register()
        while True:
            free = (self._settings.seat_limit or 1) - len(self._tasks)
            if free <= 0:
                self._seat_freed.clear()
                await self._seat_freed.wait()
                continue
            # The key lasts until there is an answer, so that no lease of a lost one is lost.
            self._claim_key = new_key()
            answer = await self._known(lambda: self._claim(free, self._options.wait_s))  # noqa: B023 - awaited here
            self._claim_key = None
            for claim in answer.claims:
                self._start(claim)
            if not answer.claims:
                self._tell(Happening.NOTHING, detail=_listed(answer.reasons))
                await asyncio.sleep(answer.retry_after_s)

    async def _claim(self, free: int, wait_s: int) -> Claimed:
        wanted = ClaimRequest(
            factory_id=self._id,
            max_jobs=min(free, CLAIMS_MAX),
            wait_s=wait_s,
            lease_s=self._options.lease_s,
        )
        try:
            return await self._fleet.leases.claim(
                wanted, key=self._claim_key, on_sent=lambda: self._tell(Happening.WAITING)
            )
        except Problem as problem:
            if problem.status != _CONFLICT:
                raise
            return Claimed()  # the answer came so late that its leases are over

    async def _return_last_claim(self) -> None:
        """Ask once more for a claim whose answer was not awaited, and release what it brings."""
        if self._claim_key is None:
            return
        with suppress(FleetError, TimeoutError):
            async with asyncio.timeout(self._options.farewell_s):
                answer = await self._claim(1, 0)
                for claim in answer.claims:
                    self._start(claim).stop(StopReason.STOPPING)

    def _start(self, claim: ClaimReply) -> Work:
        job_id = claim.job.id
        self._tell(Happening.CLAIMED, claim)
        work = Work(self._fleet, claim, patience=self._patience, tell=self._told)
        before = self._work.get(job_id)
        if before is not None:
            before.stop(StopReason.LOST)
        after = self._tasks.get(before) if before else None
        self._work[job_id] = work
        self._tasks[work] = asyncio.create_task(self._do(work, after), name=f"job {job_id}")
        self._pace.at_least(claim.lease.next_heartbeat_s)
        return work

    async def _do(self, work: Work, after: asyncio.Task[None] | None) -> None:
        """Do a job; never beside an earlier lease of the same one, which may use the same clone."""
        try:
            if after is not None:
                await asyncio.wait([after])
            await work.run(self._handler)
        finally:
            if self._work.get(work.claim.job.id) is work:
                del self._work[work.claim.job.id]
            del self._tasks[work]
            self._seat_freed.set()

    async def _finish_work(self) -> None:
        """Let jobs end within the grace, release the others, and report what can be reported."""
        if self._tasks and self._options.grace_s > 0:
            await first_of(self._hurry, list(self._tasks.values()), self._options.grace_s)
        for work in self._work.values():
            work.stop(StopReason.STOPPING)
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=self._options.farewell_s)
        for task in tasks:
            await end(task)

    # --------------------------------------------------------------- signs of life

    async def _beat_for_ever(self) -> None:
        await self._registered.wait()
        while True:
            await self._pace.pause()
            answer, held = await self._known(self._beat)
            # Of a lease that was claimed meanwhile the answer does not know.
            own = [work.claim.lease.next_heartbeat_s for work in self._work.values()]
            self._pace.set(min([answer.next_heartbeat_s, *own]))
            self._heed(answer, {work.claim.job.id: work for work in held})

    async def _beat(self) -> tuple[HeartbeatReply, list[Work]]:
        held = list(self._work.values())
        leases = [
            HeldLease(job_id=work.claim.job.id, fence=work.claim.lease.fence) for work in held
        ]
        beat = Heartbeat(leases=leases)
        return await self._fleet.factories.heartbeat(self._id, beat), held

    def _heed(self, answer: HeartbeatReply, held: dict[UUID, Work]) -> None:
        for lease in answer.leases:
            work = held.get(lease.job_id)
            if work is None:
                continue
            if lease.outcome == "lost":
                work.stop(StopReason.LOST)
            elif lease.outcome == "cancel_requested":
                self._tell(Happening.CANCEL_REQUESTED, work.claim)
                work.stop(StopReason.CANCEL_REQUESTED)
        if answer.drain != self._drained:
            self._drained = answer.drain
            self._tell(Happening.DRAINED if answer.drain else Happening.RESUMED)

    # --------------------------------------------------------------- asking

    async def _register(self) -> None:
        await self._patience.until_answered(
            lambda: self._fleet.factories.put(self._id, self._settings)
        )
        self._tell(Happening.REGISTERED)
        self._registered.set()

    async def _known(self, act: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer; who turns out not to be registered registers again."""
        while True:
            try:
                return await self._patience.until_answered(act)
            except Problem as problem:
                if problem.status != _NOT_FOUND:
                    raise
                await self._register()

    def _tell(self, what: Happening, claim: ClaimReply | None = None, *, detail: str = "") -> None:
        self._told(LoopEvent(what=what, claim=claim, detail=detail))


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={count}" for name, count in reasons.items())
