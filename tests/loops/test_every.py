"""The timer of the loops: counts, survival, stopping, and the bound on jitter."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

import pytest

from app.loops.every import JITTER_SHARE, Every


def make_every(
    act: Callable[[], Awaitable[Mapping[str, int]]],
    *,
    interval_s: float = 3600.0,
    chance: float = 0.5,
) -> Every:
    return Every(name="probe", interval_s=interval_s, act=act, chance=lambda: chance)


async def test_run_once_returns_the_counts_and_logs_what_changed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def act() -> Mapping[str, int]:
        return {"expired": 2, "died": 0}

    with caplog.at_level(logging.INFO, logger="app.loops.every"):
        assert await make_every(act).run_once() == {"expired": 2, "died": 0}
    (line,) = caplog.records
    assert line.getMessage() == "loop probe"
    assert vars(line)["expired"] == 2
    assert "died" not in vars(line)


async def test_a_pass_that_changes_nothing_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    async def act() -> Mapping[str, int]:
        return {"expired": 0}

    with caplog.at_level(logging.DEBUG, logger="app.loops.every"):
        await make_every(act).run_once()
    assert not caplog.records


async def test_the_loop_survives_a_pass_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    passes = 0
    third = asyncio.Event()

    async def act() -> Mapping[str, int]:
        nonlocal passes
        passes += 1
        if passes == 3:
            third.set()
            return {}
        message = "the database went away"
        raise OSError(message)

    async with make_every(act, interval_s=0.001).running():
        await third.wait()
    failures = [each for each in caplog.records if each.exc_info]
    assert len(failures) == 2
    assert "loop probe failed; it goes on" in failures[0].getMessage()


async def test_stop_ends_the_pause_at_once() -> None:
    began = asyncio.Event()

    async def act() -> Mapping[str, int]:
        began.set()
        return {}

    stop = asyncio.Event()
    task = asyncio.create_task(make_every(act, interval_s=3600).run(stop))
    await began.wait()
    stop.set()
    async with asyncio.timeout(5):
        await task


async def test_the_pass_at_work_is_let_finish() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()
    ended = False

    async def act() -> Mapping[str, int]:
        nonlocal ended
        began.set()
        await go_on.wait()
        ended = True
        return {}

    async with make_every(act).running():
        await began.wait()
        asyncio.get_running_loop().call_soon(go_on.set)
    assert ended


async def test_a_pass_that_hangs_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.loops.every.STOP_TIMEOUT_S", 0.01)
    began = asyncio.Event()
    cut = False

    async def act() -> Mapping[str, int]:
        nonlocal cut
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cut = True
            raise
        return {}

    async with make_every(act).running():
        await began.wait()
    assert cut


@pytest.mark.parametrize(("chance", "share"), [(0.0, -1), (0.5, 0), (0.999999, 1)])
def test_jitter_is_bounded(chance: float, share: int) -> None:
    async def act() -> Mapping[str, int]:
        return {}

    pause = make_every(act, interval_s=100, chance=chance).pause_s()
    assert pause == pytest.approx(100 * (1 + JITTER_SHARE * share), abs=0.01)
