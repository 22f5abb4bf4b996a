"""A claim desk at work, as a process has one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from app.coordinator.desk import ClaimDesk
from app.coordinator.reports import Reports
from app.runtime.ids import chance, new_id
from app.store.listener import Listener
from app.store.session import Database


@asynccontextmanager
async def open_desk(db: Database) -> AsyncIterator[ClaimDesk]:
    """A desk that serves, with an ear of its own."""
    desk = ClaimDesk(db=db, new_id=new_id, chance=chance)
    listener = Listener(url=db.url, heard=desk.heard)
    tasks = [asyncio.create_task(desk.run()), asyncio.create_task(listener.run())]
    await listener.listening.wait()
    try:
        yield desk
    finally:
        desk.close()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def open_reports(db: Database) -> AsyncIterator[Reports]:
    """Take reports, beside a desk of their own, where their next jobs are claimed."""
    async with open_desk(db) as desk:
        reports = Reports(db, desk)
        yield reports
        await reports.close()
