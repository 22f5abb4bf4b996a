"""``fleet explain``: a job and a factory together, past decisions, and watching."""

import asyncio
import signal
from pathlib import Path

from app.fleet import Priority
from app.wire.claims import ClaimRequest
from app.wire.factories import FactoryPut
from app.wire.jobs import JobSubmit
from tests.support.command import PROGRAM, fleet
from tests.support.coordinator import Coordinator
from tests.support.environment import child_environment


async def test_a_pair_is_told_what_would_flip_it(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    first = await ops.jobs.submit(JobSubmit(kind="x", priority=Priority.HIGH))
    second = await ops.jobs.submit(JobSubmit(kind="y"))
    child = await ops.jobs.submit(JobSubmit(kind="z", depends_on=[second.id]))
    pair, taken, blocked, wrong = await asyncio.gather(
        fleet("explain", "-d", data_dir, second.id, "f1"),
        fleet("explain", "-d", data_dir, first.id, "f1"),
        fleet("explain", "-d", data_dir, child.id),
        fleet("explain", "-d", data_dir, "f1", "f1"),
    )
    assert f"its next claim would get {first.id}" in pair.out
    assert "it would, if the job's priority is critical" in pair.out
    assert "1 job ahead of it at f1" in pair.out
    assert f"1 wait for it: {child.id}" in pair.out
    assert f"The next claim of f1 gets {first.id}." in taken.out
    assert f"really blocked by {second.id}: It is ready, and waits for a factory." in blocked.out
    assert (wrong.code, wrong.err) == (1, "error: a second id goes with the id of a job\n")


async def test_a_decision_is_explained_by_its_id(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    f1 = await coordinator.factory("f1")
    await ops.jobs.submit(JobSubmit(kind="x", priority=Priority.HIGH))
    await ops.jobs.submit(JobSubmit(kind="y"))
    (claim,) = (await f1.leases.claim(ClaimRequest(factory_id="f1"))).claims
    shown, plain = await asyncio.gather(
        fleet("explain", "-d", data_dir, claim.decision_id),
        fleet("explain", "-d", data_dir, claim.decision_id, "--json"),
    )
    assert f"f1 got {claim.job.id}" in shown.out
    assert "Today's scheduler decides the same." in shown.out
    assert plain.json["replay"]["identical"] is True


async def test_watching_asks_again_until_it_is_stopped(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    watching = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *("explain", "-d", str(data_dir), "f1", "--watch"),
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(PYTHONUNBUFFERED="1"),
    )
    assert watching.stdout is not None
    await watching.stdout.readuntil(b"no job waits that it may take now.")
    job = await ops.jobs.submit(JobSubmit(kind="x"))
    await watching.stdout.readuntil(f"would get {job.id}".encode())
    watching.send_signal(signal.SIGINT)
    await watching.stdout.read()
    assert await watching.wait() == 130
