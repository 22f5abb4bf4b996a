"""Ticks: let time pass, by hand or by cron."""

from typing import Final, Literal, TypeAlias
from uuid import UUID

from pydantic import JsonValue, RootModel

from app.sdk.transport import Call, Transport
from app.wire.ticks import StoredTickPage

TICK_WAIT_S: Final = 105.0
"""How much longer than for other answers is waited: ticks ask the forge, which takes its time."""

Tick: TypeAlias = Literal["leases", "workflows", "repos"]


class _Report(RootModel[dict[str, JsonValue]]):
    """What a tick reports; the members depend on the tick."""


class Ticks:
    """The calls under ``/tick``, for cron and ops."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def run(
        self,
        which: Tick | None = None,
        *,
        dry_run: bool = False,
        window: str | None = None,
        run_workflow_id: UUID | None = None,
    ) -> dict[str, JsonValue]:
        """Run one tick, or all of them; returns its report.

        Args:
            which: the tick; all if not given.
            dry_run: say what it would do, and change nothing.
            window: the occasion: a tick that was served for it already is skipped.
            run_workflow_id: for the tick over workflows: run the stage of this one, too.
        """
        call = Call(
            method="POST",
            path=f"/tick/{which}" if which else "/tick",
            wait_s=TICK_WAIT_S,
            params={
                "dry_run": "true" if dry_run else None,
                "window": window,
                "run_workflow_id": None if run_workflow_id is None else str(run_workflow_id),
            },
        )
        return (await self._transport.reply(call, _Report)).root

    async def page(
        self, *, kind: Tick | None = None, cursor: str | None = None, limit: int | None = None
    ) -> StoredTickPage:
        """Read one page of the reports of ticks that were not skipped, newest first."""
        params = {"kind": kind, "cursor": cursor, "limit": limit}
        call = Call(method="GET", path="/ticks", params=params, repeatable=True)
        return await self._transport.reply(call, StoredTickPage)
