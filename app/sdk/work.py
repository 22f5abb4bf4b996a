"""One job in the hands of a factory: run it, and report what came of it.

The *handler* does the work. It returns the result, or raises :class:`JobFailed` or
:class:`GiveBack`; anything else it raises is a failure too. It is cancelled when the lease is
lost, when somebody asked for the job to be cancelled, and when the factory stops; what it started
must end with it.

A result is not lost to a coordinator that is down: the report is repeated until it is taken or
refused. Only the fence decides whether it still counts, never the time that passed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from pydantic import JsonValue, ValidationError

from app.masking import mask
from app.sdk.client import FleetClient
from app.sdk.errors import Problem
from app.sdk.happenings import Happening, LoopEvent, Observer
from app.sdk.patience import Patience
from app.wire.claims import ClaimReply, CompleteRequest, FailRequest, ReleaseRequest
from app.wire.values import COOLDOWN_MAX_S, ERROR_MAX, LEASE_MAX_S, TEXT_MAX

_UNACCEPTABLE: Final = frozenset({413, 422})


class JobFailed(Exception):  # noqa: N818 - an outcome of a job, not an error of the program
    """The attempt failed; raised by a handler."""

    def __init__(self, error: str, *, retryable: bool = True, exclude_me: bool = True) -> None:
        """Say what went wrong, and whether trying again, or elsewhere first, makes sense."""
        super().__init__(error)
        self.error = error
        self.retryable = retryable
        self.exclude_me = exclude_me


class GiveBack(Exception):  # noqa: N818 - the same
    """The job is not to blame and goes back untouched; raised by a handler."""

    def __init__(
        self,
        reason: str,
        *,
        retry_after_s: int | None = None,
        cooldown_until: datetime | None = None,
    ) -> None:
        """Say why, and what keeps it (or the factory's account) from being tried at once.

        A cool-down of more than 7 days is cut to about that, which is as much as is taken.
        """
        super().__init__(reason)
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.cooldown_until = cooldown_until


Handler: TypeAlias = Callable[[ClaimReply], Awaitable[JsonValue]]


class StopReason(StrEnum):
    """Why a handler was cancelled."""

    LOST = "lost"
    CANCEL_REQUESTED = "cancel requested"
    STOPPING = "the factory stops"


_Report: TypeAlias = CompleteRequest | FailRequest | ReleaseRequest


class Work:
    """A claimed job from its claim to the answer to its report."""

    def __init__(
        self, fleet: FleetClient, claim: ClaimReply, *, patience: Patience, tell: Observer
    ) -> None:
        """Prepare; :meth:`run` does it."""
        self.claim = claim
        self._fleet = fleet
        self._patience = patience
        self._tell = tell
        self._handling: asyncio.Future[JsonValue] | None = None
        self._stopped: StopReason | None = None

    def stop(self, reason: StopReason) -> None:
        """Cancel the handler, once: it may take its time; a lost lease outweighs other reasons."""
        first = self._stopped is None
        if first or reason is StopReason.LOST:
            self._stopped = reason
        if first and self._handling is not None:
            self._handling.cancel()

    async def run(self, handler: Handler) -> None:
        """Let the handler work, then report until the report is taken or refused."""
        if self._stopped is None:
            self._handling = asyncio.ensure_future(handler(self.claim))
            await asyncio.wait([self._handling])
        try:
            report = self._report()
        except Exception as error:  # noqa: BLE001 - a handler may raise and return whatever it likes
            report = self._unreportable(error)
        if report is None:
            self._say(Happening.LOST, "the lease is over; whatever came of it is dropped")
            return
        await self._settle(report)

    def _report(self) -> _Report | None:
        """Decide what to report; a result counts even if a cancel came first."""
        fence = self.claim.lease.fence
        if self._handling is None or self._handling.cancelled():
            if self._stopped is StopReason.LOST:
                return None
            reason = self._stopped or "the work was cancelled"
            return ReleaseRequest(fence=fence, reason=reason)
        error = self._handling.exception()
        if error is None:
            return _completed(fence, self._handling.result())
        if isinstance(error, GiveBack):
            return ReleaseRequest(
                fence=fence,
                reason=_cut(error.reason, TEXT_MAX) or "given back",
                retry_after_s=error.retry_after_s,
                cooldown_until=self._within_bounds(error.cooldown_until),
            )
        if isinstance(error, JobFailed):
            return FailRequest(
                fence=fence,
                error=_cut(error.error, ERROR_MAX) or "failed",
                retryable=error.retryable,
                exclude_me=error.exclude_me,
            )
        return FailRequest(fence=fence, error=_cut(f"{type(error).__name__}: {error}", ERROR_MAX))

    def _within_bounds(self, cooldown_until: datetime | None) -> datetime | None:
        """Cut a cool-down by the coordinator's clock: a lease begins before it is reported on."""
        if cooldown_until is None:
            return None
        begun = self.claim.lease.expires_at - timedelta(seconds=LEASE_MAX_S)
        return min(cooldown_until, begun + timedelta(seconds=COOLDOWN_MAX_S))

    async def _settle(self, report: _Report) -> None:
        """Report until it is taken; one that never will be is replaced by one that will."""
        try:
            await self._patience.until_answered(lambda: self._send(report))
        except Problem as problem:
            if problem.status not in _UNACCEPTABLE or isinstance(report, ReleaseRequest):
                self._say(Happening.LOST, str(problem))
                return
            await self._settle(self._instead(report, problem))
        except Exception as error:  # noqa: BLE001 - it cannot even be written: so deep, or no text
            if isinstance(report, ReleaseRequest):
                self._say(Happening.LOST, f"the report cannot be sent: {error}")
                return
            await self._settle(self._instead(report, error))

    def _instead(self, report: _Report, why: Exception) -> _Report:
        """Replace a report that will never be taken by one that will."""
        error = _cut(f"the result was refused: {why}", TEXT_MAX)
        if isinstance(report, CompleteRequest):
            # Run again it would come to the same.
            return FailRequest(fence=report.fence, error=error, retryable=False)
        return ReleaseRequest(fence=report.fence, reason="its report was refused")

    def _unreportable(self, error: Exception) -> _Report:
        """Report an outcome that no report can be made of: what was given back goes back."""
        said = _cut(f"what its handler said cannot be reported: {error}", TEXT_MAX)
        fence = self.claim.lease.fence
        if self._handling is not None and isinstance(self._handling.exception(), GiveBack):
            return ReleaseRequest(fence=fence, reason=said)
        return FailRequest(fence=fence, error=said)

    async def _send(self, report: _Report) -> None:
        job_id = self.claim.job.id
        match report:
            case CompleteRequest():
                done = await self._fleet.leases.complete(job_id, report)
                self._say(Happening.SUCCEEDED, done.outcome)
            case FailRequest():
                failed = await self._fleet.leases.fail(job_id, report)
                self._say(Happening.FAILED, f"{report.error} (now {failed.job.state})")
            case ReleaseRequest():
                released = await self._fleet.leases.release(job_id, report)
                self._say(Happening.RELEASED, f"{report.reason} (now {released.job.state})")

    def _say(self, what: Happening, detail: str) -> None:
        self._tell(LoopEvent(what=what, claim=self.claim, detail=detail))


def _completed(fence: int, result: JsonValue) -> _Report:
    try:
        return CompleteRequest(fence=fence, result=result)
    except ValidationError:
        return FailRequest(fence=fence, error="the result is not JSON", retryable=False)


def _cut(text: str, longest: int) -> str:
    """Keep the end of a text, where the reason stands; what is refused in texts is replaced.

    Secrets are masked first, for half a secret would not be recognised.
    """
    plain = text.replace("\x00", "").encode("utf-8", "backslashreplace").decode()
    return mask(plain)[-longest:]
