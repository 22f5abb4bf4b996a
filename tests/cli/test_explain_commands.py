"""``fleet explain``: a job and a factory together, past decisions, and watching."""

import asyncio
import signal
from datetime import UTC, datetime
from pathlib import Path

from app.fleet import CostClass, Priority
from app.wire.claims import ClaimRequest, CompleteRequest
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
    assert f"1 waits for it: {child.id}" in pair.out
    assert f"The next claim of f1 gets {first.id}." in taken.out
    assert f"really blocked by {second.id}: It is ready, and waits for a factory." in blocked.out
    assert (wrong.code, wrong.err) == (1, "error: a second id goes with the id of a job\n")


async def test_a_job_that_runs_is_told_by_who_has_it(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut(capabilities=["docker"]))
    await ops.factories.put("f2", FactoryPut())
    f1 = await coordinator.factory("f1")
    job = await ops.jobs.submit(JobSubmit(kind="build", required_capabilities=["docker"]))
    await f1.leases.claim(ClaimRequest(factory_id="f1"))
    whole, plain, holder, other = await asyncio.gather(
        fleet("explain", "-d", data_dir, job.id),
        fleet("explain", "-d", data_dir, job.id, "--json"),
        fleet("explain", "-d", data_dir, job.id, "f1"),
        fleet("explain", "-d", data_dir, job.id, "f2"),
    )
    first, lease, *_ = whole.out.splitlines()
    assert first.startswith(f"{job.id} (build) runs at f1 since ")
    assert "fence 1, attempt 1 of 3; lease until" in lease
    assert "f1 completes, fails or releases it" in whole.out
    assert "f1 has it. Were it free, 0 of 1 other could take it: 1 lacks docker." in whole.out
    assert "cannot take it" not in whole.out
    assert plain.json["tenure"]["factory_id"] == "f1"
    assert plain.json["kind"] == "build"
    assert f"f1 has {job.id} already, under fence 1." in holder.out
    assert "cannot take" not in holder.out
    assert f"f2 cannot take {job.id} now: it is running, until " in other.out


async def test_what_keeps_a_job_from_all_factories_is_said_once(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    for name in ("f1", "f2", "f3"):
        await ops.factories.put(name, FactoryPut(capabilities=["gpu"] if name == "f3" else []))
    day = datetime(2040, 1, 1, tzinfo=UTC)
    later = await ops.jobs.submit(
        JobSubmit(kind="x", run_after=day, required_capabilities=["gpu"], priority=Priority.LOW)
    )
    done = await fleet("explain", "-d", data_dir, later.id)
    assert done.out.count("2040-01-01 00:00:00Z") == 1
    assert "No factory can take it now; otherwise 1 of 3 could." in done.out
    assert "f3: could otherwise take it" in done.out
    assert "f1, f2: cannot take it\n   missing_capability: the factory lacks gpu" in done.out
    await ops.jobs.cancel(later.id, reason="not any more")
    over = await fleet("explain", "-d", data_dir, later.id)
    assert over.out.splitlines()[1:] == [
        "It was cancelled.",
        "Only a retry revives it. 1 of 3 factories could take it then: 2 lack gpu.",
    ]


async def test_a_decision_is_explained_by_its_id(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    f1 = await coordinator.factory("f1")
    await ops.jobs.submit(JobSubmit(kind="x", priority=Priority.HIGH))
    other = await ops.jobs.submit(JobSubmit(kind="y"))
    dear = await ops.jobs.submit(JobSubmit(kind="z", cost_class=CostClass.MEDIUM))
    (claim,) = (await f1.leases.claim(ClaimRequest(factory_id="f1"))).claims
    assert claim.job.id == dear.id
    (tied,) = (await ops.jobs.page(kind="x")).items
    await f1.leases.complete(dear.id, CompleteRequest(fence=claim.lease.fence))
    (next_one,) = (await f1.leases.claim(ClaimRequest(factory_id="f1"))).claims
    assert next_one.job.id == tied.id
    clear, shown, plain = await asyncio.gather(
        fleet("explain", "-d", data_dir, claim.decision_id),
        fleet("explain", "-d", data_dir, next_one.decision_id),
        fleet("explain", "-d", data_dir, next_one.decision_id, "--json"),
    )
    assert f"f1 got {dear.id} (z) with a score of " in clear.out
    assert "60 points ahead of the next." in clear.out
    assert f"   2. {tied.id} (x), score" in clear.out
    assert "60 behind" in clear.out
    assert f"f1 got {tied.id} (x) with a score of " in shown.out
    assert "by a tie-break, for the next ties." in shown.out
    assert f"   2. {other.id} (y), score" in shown.out
    assert "a tie, decided by priority" in shown.out
    assert "cost_fit              80 % ·  6 =   480" in shown.out
    assert shown.out.index("capability_fit") < shown.out.index("load")
    assert "Today's scheduler decides the same." in shown.out
    assert plain.json["replay"]["identical"] is True
    assert plain.json["kinds"] == {str(tied.id): "x", str(other.id): "y"}


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


async def test_workflows_are_watched_like_the_rest(
    coordinator: Coordinator, data_dir: Path
) -> None:
    del coordinator
    watching = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *("explain", "-d", str(data_dir), "workflows", "--watch"),
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(PYTHONUNBUFFERED="1"),
    )
    assert watching.stdout is not None
    for _ in range(2):
        await watching.stdout.readuntil(b"no workflow is unfinished")
    watching.send_signal(signal.SIGINT)
    await watching.stdout.read()
    assert await watching.wait() == 130
