"""Leases: claim the next jobs, and report on them. Every report may be repeated safely."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

import httpx

from app.sdk.errors import retry_after_s
from app.sdk.transport import Call, Transport, key_header, new_key, read
from app.wire.claims import (
    ClaimReply,
    ClaimRequest,
    ClaimsReply,
    CompleteLeasesReply,
    CompleteLeasesRequest,
    CompleteReply,
    CompleteRequest,
    FailRequest,
    ReleaseRequest,
    RenewRequest,
    SettledReply,
)
from app.wire.factories import LeaseReply

_NOTHING: Final = 204
_MARGIN_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The answer to a claim: jobs, best first.

    Without any, ``reasons`` counts what keeps jobs back; ask again after ``retry_after_s``.
    """

    claims: list[ClaimReply] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    retry_after_s: float = 0.0


class Leases:
    """The calls of a factory about its work."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def claim(
        self,
        wanted: ClaimRequest,
        *,
        key: str | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> Claimed:
        """Ask for the best next jobs; a lost answer is asked for again under the same ``key``."""
        call = Call(
            method="POST",
            path="/claim",
            body=wanted,
            headers=key_header(key or new_key()),
            repeatable=True,
            wait_s=wanted.wait_s + _MARGIN_S,
            on_sent=on_sent,
        )
        response = await self._transport.send(call)
        if response.status_code == _NOTHING:
            pause_s = retry_after_s(response) or 0.0
            return Claimed(reasons=_reasons(response), retry_after_s=pause_s)
        return Claimed(claims=read(response, ClaimsReply).claims)

    async def renew(self, job_id: UUID, renewal: RenewRequest) -> LeaseReply:
        """Keep one lease; a heartbeat renews all."""
        return await self._transport.reply(_report(job_id, "renew", renewal), LeaseReply)

    async def complete(self, job_id: UUID, report: CompleteRequest) -> CompleteReply:
        """Report success, and take up to ``claim_next`` next jobs in the same call."""
        return await self._transport.reply(_report(job_id, "complete", report), CompleteReply)

    async def fail(self, job_id: UUID, report: FailRequest) -> SettledReply:
        """Report a failed attempt."""
        return await self._transport.reply(_report(job_id, "fail", report), SettledReply)

    async def release(self, job_id: UUID, report: ReleaseRequest) -> SettledReply:
        """Give a job back without a verdict; burns no attempt."""
        return await self._transport.reply(_report(job_id, "release", report), SettledReply)

    async def complete_all(self, reports: CompleteLeasesRequest) -> CompleteLeasesReply:
        """Report several successes in one call; each is settled on its own."""
        call = Call(method="POST", path="/leases/complete", body=reports, repeatable=True)
        return await self._transport.reply(call, CompleteLeasesReply)


Report = RenewRequest | CompleteRequest | FailRequest | ReleaseRequest


def _report(job_id: UUID, verb: str, body: Report) -> Call:
    return Call(method="POST", path=f"/jobs/{job_id}/{verb}", body=body, repeatable=True)


def _reasons(response: httpx.Response) -> dict[str, int]:
    """Read ``Fleet-Reasons: missing_capability=12, lock_held=3``."""
    pairs = [each.partition("=") for each in response.headers.get("Fleet-Reasons", "").split(",")]
    return {name.strip(): int(count) for name, _, count in pairs if count.strip().isdigit()}
