"""Calls that must not give up: repeated, with growing pauses, until the coordinator answers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from app.sdk.errors import FleetError, Problem
from app.sdk.happenings import Happening, LoopEvent, Observer
from app.sdk.transport import Retries

T = TypeVar("T")

_PAUSES: Final = Retries(first_s=0.5, longest_s=15.0)
_SERVER_FAULT: Final = 500
_TOO_MANY: Final = 429


class Patience:
    """Asks again and again, and tells once that the coordinator went and once that it is back."""

    def __init__(self, tell: Observer) -> None:
        """Tell ``tell`` of every change."""
        self._tell = tell
        self._reachable = True

    async def until_answered(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do ``act`` until it succeeds.

        Raises:
            Problem: the coordinator refused, for a reason that trying again does not change.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = await act()
            except Problem as problem:
                if problem.status < _SERVER_FAULT and problem.status != _TOO_MANY:
                    self._found()
                    raise
                self._missed(problem)
            except FleetError as error:
                self._missed(error)
            else:
                self._found()
                return answer
            await asyncio.sleep(_PAUSES.pause_s(attempt))

    def _missed(self, error: FleetError) -> None:
        if self._reachable:
            self._reachable = False
            self._tell(LoopEvent(what=Happening.UNREACHABLE, detail=str(error)))

    def _found(self) -> None:
        if not self._reachable:
            self._reachable = True
            self._tell(LoopEvent(what=Happening.REACHABLE))
