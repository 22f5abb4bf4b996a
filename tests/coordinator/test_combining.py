"""Combining: who shares a batch, who never does, and what one's trouble is to the others."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from app.coordinator.combining import BATCH_MAX, Combiner
from app.errors import LostRace, Unavailable


@dataclass(slots=True)
class Office:
    """Serves words: doubles them, once it is let; what is bad makes a whole batch fail."""

    open: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    batches: list[list[str]] = field(default_factory=list)
    error: Exception = field(default_factory=lambda: ValueError("bad"))

    async def serve(self, words: Sequence[str]) -> list[str]:
        self.batches.append([*words])
        self.begun.set()
        await self.open.wait()
        if any(word.startswith("bad") for word in words):
            raise self.error
        return [word * 2 for word in words]


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def line(office: Office) -> Combiner[str, str]:
    """What two words have in common is their last letter."""
    return Combiner(office.serve, lambda word: word[-1:])


async def asked(line: Combiner[str, str], *words: str) -> list[asyncio.Task[str]]:
    """Let these ask, in this order, and wait until they stand in line."""
    tasks = [asyncio.create_task(line.ask(word)) for word in words]
    await asyncio.sleep(0)
    return tasks


async def test_a_lone_request_does_not_wait_for_company(
    office: Office, line: Combiner[str, str]
) -> None:
    office.open.set()
    assert await line.ask("a") == "aa"
    assert await line.ask("b") == "bb"
    assert office.batches == [["a"], ["b"]]


async def test_what_arrives_meanwhile_shares_the_next_batch(
    office: Office, line: Combiner[str, str]
) -> None:
    first = await asked(line, "a")
    await office.begun.wait()
    crowd = await asked(line, "b", "c", "d")
    office.open.set()
    assert await asyncio.gather(*first, *crowd) == ["aa", "bb", "cc", "dd"]
    assert office.batches == [["a"], ["b", "c", "d"]]


async def test_those_with_something_in_common_are_served_one_after_the_other(
    office: Office, line: Combiner[str, str]
) -> None:
    await asked(line, "a")
    await office.begun.wait()
    crowd = await asked(line, "1b", "2b", "c", "3b")
    office.open.set()
    await asyncio.gather(*crowd)
    assert office.batches == [["a"], ["1b", "c"], ["2b"], ["3b"]]


async def test_a_batch_is_bounded(office: Office) -> None:
    line = Combiner(office.serve, lambda word: [word])
    office.open.set()
    crowd = await asked(line, *(str(number) for number in range(BATCH_MAX + 3)))
    await asyncio.gather(*crowd)
    assert [len(batch) for batch in office.batches] == [BATCH_MAX, 3]


async def test_one_spoils_none(office: Office, line: Combiner[str, str]) -> None:
    first = await asked(line, "a")
    await office.begun.wait()
    crowd = await asked(line, "b", "bad", "c")
    office.open.set()
    answers = await asyncio.gather(*first, *crowd, return_exceptions=True)
    assert answers == ["aa", "bb", office.error, "cc"]
    assert office.batches == [["a"], ["b", "bad", "c"], ["b"], ["bad"], ["c"]]
    assert await line.ask("e") == "ee"


@pytest.mark.parametrize(("error", "tries"), [(LostRace("moved"), 3), (Unavailable("away"), 1)])
async def test_refusals_of_a_batch(error: Exception, tries: int) -> None:
    office = Office(error=error)
    line = Combiner(office.serve, lambda word: [word])
    office.open.set()
    crowd = await asked(line, "bad", "bad too")
    answers = await asyncio.gather(*crowd, return_exceptions=True)
    assert answers == [error, error]
    assert len(office.batches) == tries


async def test_who_leaves_before_his_turn_is_not_served(
    office: Office, line: Combiner[str, str]
) -> None:
    first = await asked(line, "a")
    await office.begun.wait()
    leaving, staying = await asked(line, "b", "c")
    leaving.cancel()
    office.open.set()
    assert await asyncio.gather(*first, staying) == ["aa", "cc"]
    assert office.batches == [["a"], ["c"]]


async def test_who_leaves_while_being_served_stops_nobody(
    office: Office, line: Combiner[str, str]
) -> None:
    leaving, staying = await asked(line, "a", "b")
    await office.begun.wait()
    leaving.cancel()
    await asyncio.sleep(0)
    office.open.set()
    assert await staying == "bb"
    assert leaving.cancelled()


async def test_closing_serves_who_is_there_and_nobody_more(
    office: Office, line: Combiner[str, str]
) -> None:
    crowd = await asked(line, "a", "b")
    closing = asyncio.create_task(line.close())
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await line.ask("c")
    assert not closing.done()
    office.open.set()
    await closing
    assert [await each for each in crowd] == ["aa", "bb"]
    await line.close()
