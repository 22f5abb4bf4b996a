"""Orders about jobs and factories, as a person at a terminal gives them."""

from pathlib import Path

from app.wire.factories import FactoryPut
from app.wire.jobs import JobSubmit
from tests.support.command import fleet
from tests.support.coordinator import Coordinator


async def test_a_job_is_held_unheld_cancelled_and_begun_again(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    job = str((await ops.jobs.submit(JobSubmit(kind="test"))).id)
    held = await fleet("job", "hold", "-d", data_dir, job, "--reason", "release day")
    assert (held.code, held.out.strip()) == (0, f"held: test {job}")
    again = await fleet("job", "unhold", "-d", data_dir, job, "--json")
    assert again.json["state"] == "ready"
    cancelled = await fleet("job", "cancel", "-d", data_dir, job)
    assert cancelled.out.strip() == f"cancelled: test {job}"
    late = await fleet("job", "cancel", "-d", data_dir, job)
    assert late.out.strip() == f"already finished: test {job}"
    begun = await fleet("job", "retry", "-d", data_dir, job)
    assert begun.out.strip() == f"ready: test {job}"


async def test_a_factory_is_drained_paused_resumed_and_removed(
    coordinator: Coordinator, data_dir: Path
) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    drained = await fleet("factory", "drain", "-d", data_dir, "f1", "--reason", "new disk")
    assert drained.code == 0
    assert drained.out.startswith("f1: drained by ")
    paused = await fleet(
        "factory", "pause", "-d", data_dir, "f1", "--reason", "lunch", "--for", "1h", "--json"
    )
    assert paused.json["pause"]["reason"] == "lunch"
    assert paused.json["pause"]["until"] is not None
    resumed = await fleet("factory", "resume", "-d", data_dir, "f1")
    assert resumed.out.strip() == "f1: may work"
    removed = await fleet("factory", "remove", "-d", data_dir, "f1")
    assert removed.out.strip() == "removed: f1"
    assert (await fleet("factory", "drain", "-d", data_dir, "f1", "--reason", "x")).code == 1


async def test_a_command_that_is_not_there_is_refused_before_it_takes_work(
    coordinator: Coordinator, data_dir: Path
) -> None:
    refused = await fleet("factory", "run", "-d", data_dir, "--id", "f1", "--exec", "/nope/nope")
    assert refused.code == 1
    assert "there is no command '/nope/nope'" in refused.err
    ops = await coordinator.client()
    assert (await ops.factories.page()).items == []
