"""Combining: what arrives while a statement is in flight shares the next one.

Whoever asks waits in line. As soon as nothing is being served, all that wait are served as one
batch: a lone request never waits for company, and a crowd shares the round trips. Requests that
would touch the same thing twice are never in one batch; the later one waits for the next.

Who stops waiting before his turn leaves the line; once a batch is being served it is served to the
end, whoever still waits for it.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from app.errors import Unavailable

Request = TypeVar("Request")
Answer = TypeVar("Answer")

BATCH_MAX: Final = 64
"""How many requests share a statement at most: more would make those wait who came first."""

_RETRY_AFTER_S: Final = 1

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class _Waiting(Generic[Request, Answer]):
    request: Request
    touches: frozenset[Hashable]
    answer: asyncio.Future[Answer]


class Combiner(Generic[Request, Answer]):
    """Serves requests of one kind, batch by batch."""

    def __init__(
        self,
        serve: Callable[[Sequence[Request]], Awaitable[Sequence[Answer]]],
        touches: Callable[[Request], Iterable[Hashable]],
    ) -> None:
        """Start with nobody waiting.

        Args:
            serve: answers a batch, in its order; if it raises, it has changed nothing, or what it
                did may be done again.
            touches: names what a request must have for itself within a batch.
        """
        self._serve_batch = serve
        self._touches = touches
        self._line: deque[_Waiting[Request, Answer]] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._closed = False

    async def ask(self, request: Request) -> Answer:
        """Wait in line until served.

        Raises:
            Unavailable: it is closed; and whatever the request itself is refused with.
        """
        if self._closed:
            detail = "The coordinator is shutting down."
            raise Unavailable(detail, retry_after_s=_RETRY_AFTER_S)
        waiting = _Waiting[Request, Answer](
            request=request,
            touches=frozenset(self._touches(request)),
            answer=asyncio.get_running_loop().create_future(),
        )
        self._line.append(waiting)
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve_all())
        return await waiting.answer

    async def close(self) -> None:
        """Let nobody in any more, and serve those who are."""
        self._closed = True
        if self._serving is not None:
            await self._serving

    async def _serve_all(self) -> None:
        batch: Sequence[_Waiting[Request, Answer]] = ()
        try:
            while batch := self._next_batch():
                await self._serve(batch)
        finally:
            self._serving = None
            # There are any only if this task was cancelled, as the loop it runs on ends.
            for waiting in (*batch, *self._line):
                waiting.answer.cancel()

    def _next_batch(self) -> list[_Waiting[Request, Answer]]:
        """Take from the front of the line what can be served together; the rest keeps its place."""
        batch: list[_Waiting[Request, Answer]] = []
        later: list[_Waiting[Request, Answer]] = []
        touched: set[Hashable] = set()
        while self._line and len(batch) < BATCH_MAX:
            waiting = self._line.popleft()
            if waiting.answer.done():
                continue
            # Who waits for another's turn holds his things, so that nobody overtakes him there.
            (batch if touched.isdisjoint(waiting.touches) else later).append(waiting)
            touched |= waiting.touches
        self._line.extendleft(reversed(later))
        return batch

    async def _serve(self, batch: Sequence[_Waiting[Request, Answer]]) -> None:
        """Serve a batch; if it fails, one by one, so that one spoils none."""
        try:
            answers = await self._serve_batch([waiting.request for waiting in batch])
        except Unavailable as error:
            # Trying one by one would only take as many times as long.
            _refuse(batch, error)
        except Exception as error:
            if len(batch) == 1:
                _refuse(batch, error)
                return
            log.warning("a batch of %d failed: tried one by one", len(batch), exc_info=error)
            for waiting in batch:
                await self._serve([waiting])
        else:
            _answer(batch, answers)


def _answer(batch: Sequence[_Waiting[Request, Answer]], answers: Sequence[Answer]) -> None:
    for waiting, answer in zip(batch, answers, strict=True):
        if not waiting.answer.done():
            waiting.answer.set_result(answer)


def _refuse(batch: Iterable[_Waiting[Request, Answer]], error: Exception) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)
