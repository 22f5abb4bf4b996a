"""``fleet top``: once for scripts, and live on a terminal of its own until Ctrl-C."""

import asyncio
import io
import os
import pty
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from rich.console import Console

from app.cli.top_read import Frame, Running, pending_of, rate_of
from app.cli.top_show import show_frame
from app.fleet import CostClass, JobState, Priority
from app.runtime.clock import now_utc
from app.wire.claims import ClaimRequest, FailRequest
from app.wire.decisions import DecisionSummary
from app.wire.factories import FactoryPut
from app.wire.jobs import JobSubmit
from app.wire.values import StandingRequest
from tests.support.command import PROGRAM, fleet
from tests.support.coordinator import Coordinator
from tests.support.environment import child_environment

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def decision(age_s: float) -> DecisionSummary:
    return DecisionSummary(
        id=UUID(int=1),
        at=NOW - timedelta(seconds=age_s),
        factory_id="f1",
        job_id=UUID(int=2),
        fence=1,
        total=1,
        rank=1,
        margin=None,
        lost=0,
    )


def test_the_pace_of_a_full_page_goes_by_the_time_it_spans() -> None:
    assert rate_of([], NOW, whole=True) == 0
    assert rate_of([decision(1), decision(59)], NOW, whole=True) == 2
    assert rate_of([decision(0), decision(10)], NOW, whole=False) == 12


def test_what_waits_is_taken_from_the_metrics() -> None:
    metrics = (
        "# TYPE fleet_jobs_pending gauge\n"
        'fleet_jobs_pending{reason="stale"} 2.0\nfleet_jobs_pending{reason="no_seat"} 0.0\n'
        "# TYPE fleet_claims_waiting gauge\nfleet_claims_waiting 7.0\n"
    )
    assert pending_of(metrics) == {"stale": 2}


async def test_the_fleet_at_one_moment(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    f1 = await coordinator.factory("f1")
    await ops.factories.put("f1", FactoryPut(seat_limit=3))
    await ops.factories.put("f2", FactoryPut())
    await ops.factories.put("f3", FactoryPut())
    await ops.factories.pause("f3", StandingRequest(reason="new disk"))
    first = await ops.jobs.submit(JobSubmit(kind="build", priority=Priority.HIGH))
    second = await ops.jobs.submit(JobSubmit(kind="deploy", max_attempts=1))
    await ops.jobs.submit(JobSubmit(kind="x", required_capabilities=["gpu"]))
    claims = (await f1.leases.claim(ClaimRequest(factory_id="f1", max_jobs=3))).claims
    fence = next(each.lease.fence for each in claims if each.job.id == second.id)
    await f1.leases.fail(second.id, FailRequest(fence=fence, error="a lot\nwent wrong"))
    shown, plain = await asyncio.gather(
        fleet("top", "-d", data_dir, "--once"), fleet("top", "-d", data_dir, "--json")
    )
    _, totals, _, columns, working, idle, paused, *rest = shown.out.splitlines()
    assert totals.split(" · ") == [
        *("3 factories", "1/5 seats used", "1 running", "1 pending"),
        *("2 claims in the last minute", "1 dead"),
    ]
    assert columns.split() == ["factory", "state", "seats", "runs", "for", "seen"]
    assert working.split()[:5] == ["f1", "working", "1/3", "build", str(first.id)]
    assert idle.split()[:3] == ["f2", "idle", "0/1"]
    assert "paused: new disk" in paused
    assert "pending 1 missing_capability" in rest
    assert str(second.id) in rest[-1]
    assert rest[-1].rstrip().endswith("a lot went wrong")
    said = plain.json
    (runs,) = said["factories"][0]["running"]
    assert (runs["kind"], runs["job_id"]) == ("build", str(first.id))
    assert runs["since"] is not None
    assert (said["pending"], said["claims_per_minute"]) == ({"missing_capability": 1}, 2)
    assert [each["state"] for each in said["factories"][:2]] == ["working", "idle"]


async def test_it_is_live_on_a_terminal_until_it_is_interrupted(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    await ops.factories.put("first-one", FactoryPut())
    ours, theirs = pty.openpty()
    screen = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(screen), os.fdopen(ours, "rb")
    )
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *("top", "-d", str(data_dir), "--interval", "0.5"),
        stdin=theirs,
        stdout=theirs,
        stderr=asyncio.subprocess.PIPE,
        env=child_environment(TERM="xterm", COLUMNS="150", LINES="40"),
    )
    os.close(theirs)
    try:
        async with asyncio.timeout(60):
            await screen.readuntil(b"first-one")
            await ops.factories.put("second-one", FactoryPut())
            await screen.readuntil(b"second-one")
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
        assert process.stderr is not None
        assert await process.stderr.read() == b""
    finally:
        if process.returncode is None:
            process.kill()
        transport.close()


async def test_a_small_screen_shows_who_works_first(coordinator: Coordinator) -> None:
    ops = await coordinator.client()
    worker = await coordinator.factory("z")
    for name in ("z", *(f"f{number}" for number in range(8))):
        await ops.factories.put(name, FactoryPut(cost_ceiling=CostClass.LOW, seat_limit=2))
    for kind in ("build", "deploy"):
        await ops.jobs.submit(JobSubmit(kind=kind))
    await worker.leases.claim(ClaimRequest(factory_id="z", max_jobs=2))
    running = (await ops.jobs.page(state=JobState.LEASED)).items
    frame = Frame(
        at=now_utc(),
        factories=(await ops.factories.page()).items,
        running=[Running(job=each, since=None) for each in running],
        pending={},
        claims_per_minute=0,
        dead=(),
        more=frozenset({"running"}),
    )
    screen = Console(width=120, file=io.StringIO())
    with screen.capture() as shown:
        screen.print(show_frame(frame, "http://here", height=10))
    lines = [each.rstrip() for each in shown.get().splitlines()]
    assert "2+ running" in lines[1]
    assert lines[4].split()[:2] == ["z", "working"]
    assert {lines[4].split()[3], lines[5].split()[0]} == {"build", "deploy"}
    assert lines[9] == "… and 5 more"
    assert lines[-1] == "nothing waits"
