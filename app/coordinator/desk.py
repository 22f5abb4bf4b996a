"""The claim desk: one per process, where all who claim wait and are served as one batch.

Whoever asks joins the queue and awaits a future. As soon as the desk is idle it serves all that
wait, so that a lone request never waits for company, and a crowd shares the round trips. Who can be
given nothing and has time left is *parked*: without a query, until something can have changed.

What wakes the parked: a notification of any transaction that made a pair eligible; the earliest
time at which the clock alone lifts what refused a factory; the listening connection coming back
after a gap; and, since notifications get lost, a slow poll. A wake-up call that arrives while a
batch is being served moves ``_generation``: who was found nothing for in that batch looks again.

A client that hangs up cancels its claim and so leaves the queue; if its lease was already
committed, its idempotency key brings it back, and failing that it expires.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from uuid import UUID

from app.coordinator import claim_keys, waiting
from app.coordinator.catalog import Catalog
from app.coordinator.claim import Served, serve
from app.coordinator.flight import Flight
from app.coordinator.tally import Tally
from app.coordinator.waiting import Answer, ClaimRequest, Nothing, Waiter
from app.errors import NotFound, Refusal, Unavailable
from app.fleet import Context, Factory, FactoryId
from app.store.session import Database
from app.store.wake import RACE

BATCHES_MAX = 2
"""How many batches are under way at once: while PostgreSQL is at one, we are at the other."""

SLOW_POLL_S = 10.0
SLOW_POLL_MAX = 256
RETRY_AFTER_S = 1
RETRY_AFTER_JITTER_S = 4
"""An empty answer asks its factory back after this many seconds, and up to so many more."""

log = logging.getLogger(__name__)


class ClaimDesk:
    """Serves the claims of one process."""

    def __init__(
        self, *, db: Database, new_id: Callable[[], UUID], chance: Callable[[], float]
    ) -> None:
        """Start empty; nothing is served before :meth:`run`.

        Args:
            db: where the claims are made.
            new_id: makes the ids of decisions.
            chance: draws 0 <= x < 1, for the jitter of ``retry_after_s``.
        """
        self.catalog = Catalog()
        self._flight = Flight()
        self._batches: dict[asyncio.Task[None], int] = {}
        self._busy: set[FactoryId] = set()
        self._db = db
        self._new_id = new_id
        self._chance = chance
        # In the order in which they came; who is due is neither parked nor being served.
        self._waiters: dict[Waiter, None] = {}
        self._line: dict[Waiter, None] = {}
        self._due = asyncio.Event()
        self.idle = asyncio.Event()
        """Set while nobody is due: everybody who waits is parked."""
        self._generation = 0
        self._tally = Tally()
        self._closed = False

    async def claim(self, request: ClaimRequest) -> Answer:
        """Wait in the queue until served, or until ``wait_s`` is over.

        Raises:
            NotFound: nobody is registered under the factory's id.
            ClaimKeySpent: the key was used and none of its leases is current any more.
            Unavailable: the database cannot be reached, the race was hopeless, or the desk closes.
        """
        if self._closed:
            raise _closing()
        loop = asyncio.get_running_loop()
        waiter = Waiter(
            request=request, answer=loop.create_future(), deadline=loop.time() + request.wait_s
        )
        self._waiters[waiter] = None
        self._line_up(waiter)
        timer = loop.call_at(waiter.deadline, self._time_is_up, waiter)
        try:
            return await waiter.answer
        finally:
            timer.cancel()
            del self._waiters[waiter]
            self._line.pop(waiter, None)

    def waiting(self) -> frozenset[FactoryId]:
        """Who waits at the desk now: each is alive, however long ago it called."""
        return frozenset(waiter.request.factory_id for waiter in self._waiters)

    def heard(self, payload: str) -> None:
        """Take a wake-up call (:mod:`app.store.wake`): those whom it may concern look again."""
        if payload == RACE:
            self._flight.raced()
            return
        self._generation += 1
        concerned = waiting.whom(payload, self.catalog)
        for waiter in self._waiters:
            if waiter.parked and concerned(waiter):
                self._unpark(waiter)

    async def run(self) -> None:
        """Serve whoever is due, for ever; cancel to stop, then :meth:`close`."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._poll_slowly(), name="claim desk's slow poll")
            while True:
                await self._due.wait()
                self.idle.clear()
                while batch := self._next_batch():
                    self._begin(batch, group)
                self._due.clear()
                if not self._batches and not self._line:
                    self.idle.set()

    def _begin(self, batch: Sequence[Waiter], group: asyncio.TaskGroup) -> None:
        serving = group.create_task(self._serve(batch))
        self._batches[serving] = len(batch)
        theirs = {waiter.request.factory_id for waiter in batch}
        self._busy |= theirs
        for waiter in batch:
            del self._line[waiter]

        def over(serving: asyncio.Task[None]) -> None:
            del self._batches[serving]
            self._busy -= theirs
            for waiter in batch:
                if waiter in self._waiters and not waiter.parked:
                    self._line_up(waiter)
            self._due.set()

        serving.add_done_callback(over)

    def close(self) -> None:
        """Send everybody away, kindly, and let nobody in any more."""
        self._closed = True
        for waiter in list(self._waiters):
            waiter.refuse(_closing())

    def _next_batch(self) -> list[Waiter]:
        """Pick those who are due, unless they had better wait for a batch that is under way.

        All who are due are one batch, so that a job goes to the best of them. Whoever comes while
        it is under way may be served beside it, but only by a batch about as large, for many small
        ones cost more than they gain. A factory is in one batch at a time, as its seats are counted
        once; of a claim and its repeat, only the one that came first is.
        """
        if len(self._batches) >= BATCHES_MAX:
            return []
        batch: list[Waiter] = []
        keys: set[tuple[FactoryId, str]] = set()
        for waiter in self._line:
            request = waiter.request
            if waiter.answer.done() or request.factory_id in self._busy:
                continue
            if request.key is not None:
                if (request.factory_id, request.key) in keys:
                    continue
                keys.add((request.factory_id, request.key))
            batch.append(waiter)
        return batch if 2 * len(batch) >= sum(self._batches.values()) else []

    async def _serve(self, batch: Sequence[Waiter]) -> None:
        """Serve a batch; if it fails by a fault of ours, one by one, so that one spoils none."""
        try:
            await self._serve_together(batch)
        except Refusal as refusal:
            for waiter in batch:
                waiter.refuse(refusal)
        except Exception as error:
            log.exception("a batch of %d claims failed", len(batch))
            if len(batch) == 1:
                batch[0].refuse(error)
                return
            for waiter in batch:
                # Who has his answer would be given more, and nobody told of it.
                if not waiter.answer.done():
                    await self._serve([waiter])

    async def _serve_together(self, batch: Sequence[Waiter]) -> None:
        generation = self._generation
        async with self._db.connection() as conn:
            wants = [waiter.want for waiter in batch]
            served = await serve(
                conn,
                self.catalog,
                wants,
                new_id=self._new_id,
                flight=self._flight,
                kept_from=self._tally.kept_from,
            )
            empty: list[tuple[Waiter, Served]] = []
            for waiter, one in zip(batch, served, strict=True):
                if one.claims:
                    waiter.settle(tuple(one.claims))
                else:
                    empty.append((waiter, one))
            await claim_keys.answer_repeats(conn, [waiter for waiter, _ in empty])
            empty = [(waiter, one) for waiter, one in empty if not waiter.answer.done()]
            if empty:
                await self._tally.count(conn)
            opened = await waiting.opened_meanwhile(conn, empty, served)
        for waiter, one in empty:
            self._conclude_empty(waiter, one, generation)
            if waiter.parked and waiter.request.factory_id in opened:
                self._unpark(waiter)

    def _conclude_empty(self, waiter: Waiter, served: Served, generation: int) -> None:
        if served.factory is None or served.now is None:
            detail = f"No factory is registered as {waiter.request.factory_id!r}."
            waiter.refuse(NotFound(detail, factory_id=waiter.request.factory_id))
        elif served.unsettled:
            self._conclude_unsettled(waiter, served.factory, Context(now=served.now))
        else:
            waiter.factory = served.factory
            waiter.looked_at = asyncio.get_running_loop().time()
            waiter.ctx = Context(now=served.now)
            # Who looked before the latest wake-up call looks again.
            waiter.parked = generation == self._generation
            if asyncio.get_running_loop().time() >= waiter.deadline:
                waiter.settle(self._nothing(waiter.factory, waiter.ctx))
            elif (
                waiter.parked
                and (ends := waiting.clears_in_s(waiter.factory, waiter.ctx)) is not None
            ):
                self._unpark_in(ends, waiter)

    def _conclude_unsettled(self, waiter: Waiter, factory: Factory, ctx: Context) -> None:
        """Let others commit for a while, and look again; who has no time left is sent away."""
        now = asyncio.get_running_loop().time()
        if now + RETRY_AFTER_S >= waiter.deadline:
            waiter.refuse(Unavailable("Too many claim at once.", retry_after_s=RETRY_AFTER_S))
        else:
            waiter.factory, waiter.ctx, waiter.looked_at = factory, ctx, now
            waiter.parked = True
            self._unpark_in(RETRY_AFTER_S, waiter)

    def _unpark_in(self, delay_s: float, waiter: Waiter) -> None:
        loop = asyncio.get_running_loop()
        # Later he is gone: a timer for the end of a week's pause would keep him for a week.
        if loop.time() + delay_s < waiter.deadline:
            loop.call_later(delay_s, self._unpark, waiter)

    def _unpark(self, waiter: Waiter) -> None:
        if waiter.parked:
            waiter.parked = False
            self._line_up(waiter)

    def _line_up(self, waiter: Waiter) -> None:
        if waiter in self._waiters and not waiter.answer.done():
            self._line[waiter] = None
            self._due.set()
            self.idle.clear()

    def _time_is_up(self, waiter: Waiter) -> None:
        """Answer who is parked from what is known; who is being served is answered by that."""
        if waiter.parked and waiter.factory is not None and waiter.ctx is not None:
            waiter.settle(self._nothing(waiter.factory, waiter.ctx))

    def _nothing(self, factory: Factory, ctx: Context) -> Nothing:
        return Nothing(
            reasons=self._tally.reasons(factory, ctx),
            retry_after_s=RETRY_AFTER_S + int(self._chance() * RETRY_AFTER_JITTER_S),
        )

    async def _poll_slowly(self) -> None:
        """Count what waits, and let some of the parked look again, the longest unasked first.

        Everybody looks when he comes, and nobody waits longer than a minute, so that a few at a
        time are enough, and a crowd that waits for nothing costs next to nothing.
        """
        while True:
            await self._tally.renew(self._db)
            await asyncio.sleep(SLOW_POLL_S * (0.75 + self._chance() / 2))
            self._generation += 1
            parked = [waiter for waiter in self._waiters if waiter.parked]
            for waiter in sorted(parked, key=lambda each: each.looked_at)[:SLOW_POLL_MAX]:
                self._unpark(waiter)


def _closing() -> Unavailable:
    return Unavailable("The coordinator is shutting down.", retry_after_s=RETRY_AFTER_S)
