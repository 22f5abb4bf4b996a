"""Small things one does with tasks."""

import asyncio
from collections.abc import Collection


async def end(task: asyncio.Task[None] | None) -> None:
    """Cancel a task, if there is one, and wait until it is over."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def first_of(
    event: asyncio.Event, tasks: Collection[asyncio.Task[None]], timeout_s: float
) -> None:
    """Wait until an event is set or all tasks are over, or for so long; ends none of them."""
    told = asyncio.create_task(_happened(event))
    over = asyncio.create_task(_over(tasks))
    await asyncio.wait([told, over], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    await end(told)
    await end(over)


async def _happened(event: asyncio.Event) -> None:
    await event.wait()


async def _over(tasks: Collection[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks)
