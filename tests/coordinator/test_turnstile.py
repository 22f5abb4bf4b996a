"""Few explanations at once, some in the queue, none beyond."""

import asyncio
from contextlib import suppress

import pytest

from app.coordinator.turnstile import Turnstile
from app.errors import Unavailable


async def test_so_many_at_once_some_wait_and_others_are_told_to_come_again() -> None:
    turnstile = Turnstile(at_once=2, queue_max=1, rest=0)
    inside: list[int] = []
    leave = asyncio.Event()

    async def work(number: int) -> None:
        async with turnstile.turn():
            inside.append(number)
            await leave.wait()

    async with asyncio.TaskGroup() as tasks:
        for number in range(3):
            tasks.create_task(work(number))
        await asyncio.sleep(0)
        assert inside == [0, 1]
        with pytest.raises(Unavailable):
            await work(3)
        leave.set()
    assert inside == [0, 1, 2]


async def test_who_gives_up_in_the_queue_leaves_room() -> None:
    turnstile = Turnstile(at_once=1, queue_max=1, rest=0)
    async with turnstile.turn():

        async def wait() -> None:
            async with turnstile.turn():
                pass

        for _ in range(3):
            impatient = asyncio.create_task(wait())
            await asyncio.sleep(0)
            impatient.cancel()
            await asyncio.gather(impatient, return_exceptions=True)
    async with turnstile.turn():
        pass


async def test_who_was_let_in_leaves_the_turn_empty_for_longer_than_it_took() -> None:
    loop = asyncio.get_running_loop()
    turnstile = Turnstile(at_once=1, rest=3)
    async with turnstile.turn():
        began = loop.time()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.02):
                await asyncio.Event().wait()
        took_s = loop.time() - began
    ended = loop.time()
    async with turnstile.turn():
        assert loop.time() - ended > 2 * took_s
