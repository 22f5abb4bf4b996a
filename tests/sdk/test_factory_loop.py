"""The life of a factory: work, lost leases, cancels, outages, and leaving in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue

from app.fleet import JobState
from app.sdk import (
    FactoryLoop,
    FleetClient,
    GiveBack,
    Happening,
    JobFailed,
    LoopEvent,
    LoopOptions,
    Problem,
)
from app.wire.claims import ClaimReply
from app.wire.factories import FactoryPut
from app.wire.jobs import BatchJob, JobBatch, JobReply, JobSubmit
from app.wire.values import CLAIMS_MAX, StandingRequest
from tests.support.coordinator import ONCE, Coordinator, coordinator_on

Handler = Callable[[ClaimReply], Awaitable[JsonValue]]


@dataclass(slots=True, kw_only=True)
class Diary:
    """Everything a loop told, and a way to wait for more."""

    events: list[LoopEvent] = field(default_factory=list)
    _told: asyncio.Queue[LoopEvent] = field(default_factory=asyncio.Queue)

    def tell(self, event: LoopEvent) -> None:
        self.events.append(event)
        self._told.put_nowait(event)

    async def until(self, what: Happening) -> LoopEvent:
        async with asyncio.timeout(20):
            while True:
                event = await self._told.get()
                if event.what is what:
                    return event

    def happened(self, what: Happening) -> int:
        return sum(event.what is what for event in self.events)


@dataclass(slots=True, kw_only=True)
class Patient:
    """A handler that works until it is let go, and notes that it was cancelled."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0

    async def __call__(self, claim: ClaimReply) -> JsonValue:
        self.began.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return {"by": claim.job.factory_id}


@asynccontextmanager
async def factory_at_work(
    coordinator: Coordinator,
    handler: Handler,
    *,
    seats: int = 1,
    grace_s: float = 0.0,
    fleet: FleetClient | None = None,
) -> AsyncIterator[tuple[FactoryLoop, Diary]]:
    diary = Diary()
    fleet = fleet or await coordinator.factory("f1")
    options = LoopOptions(lease_s=5, grace_s=grace_s, farewell_s=5, tell=diary.tell)
    settings = FactoryPut(seat_limit=seats)
    async with FactoryLoop(fleet, "f1", settings, handler, options) as loop:
        yield loop, diary


async def submit(coordinator: Coordinator, job: JobSubmit | None = None) -> JobReply:
    client = await coordinator.client(coordinator.tokens.client)
    return await client.jobs.submit(job or JobSubmit(kind="x"))


async def read(coordinator: Coordinator, job: JobReply) -> JobReply:
    return await (await coordinator.client()).jobs.get(job.id)


async def test_jobs_are_done_as_many_at_a_time_as_there_are_seats(
    coordinator: Coordinator,
) -> None:
    at_work = most = 0
    everybody_here = asyncio.Barrier(2)

    async def handle(claim: ClaimReply) -> JsonValue:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await everybody_here.wait()
        at_work -= 1
        return {"kind": claim.job.kind}

    async with factory_at_work(coordinator, handle, seats=2) as (_, diary):
        await diary.until(Happening.WAITING)
        client = await coordinator.client(coordinator.tokens.client)
        batch = JobBatch(jobs=[BatchJob(kind=f"k{number}") for number in range(6)])
        jobs = (await client.jobs.submit_batch(batch)).jobs
        for _ in jobs:
            await diary.until(Happening.SUCCEEDED)
    assert most == 2
    for job in jobs:
        done = await client.jobs.get(job.id)
        assert (done.state, done.result) == (JobState.SUCCEEDED, {"kind": job.kind})


@pytest.mark.parametrize(
    ("raised", "what", "state", "error"),
    [
        (JobFailed("no luck", retryable=False), Happening.FAILED, JobState.DEAD, "no luck"),
        (JobFailed("try again"), Happening.FAILED, JobState.SCHEDULED, "try again"),
        (ValueError("a bug"), Happening.FAILED, JobState.SCHEDULED, "ValueError: a bug"),
        (GiveBack("not now", retry_after_s=900), Happening.RELEASED, JobState.SCHEDULED, None),
    ],
    ids=["failed", "retryable", "a bug", "given back"],
)
async def test_what_a_handler_raises_decides_what_is_reported(
    coordinator: Coordinator,
    raised: Exception,
    what: Happening,
    state: JobState,
    error: str | None,
) -> None:
    async def handle(_claim: ClaimReply) -> JsonValue:
        raise raised

    job = await submit(coordinator)
    async with factory_at_work(coordinator, handle) as (_, diary):
        await diary.until(what)
    after = await read(coordinator, job)
    assert (after.state, after.error) == (state, error)
    assert after.attempts == (0 if isinstance(raised, GiveBack) else 1)


async def test_a_usage_limit_cools_the_account_down(coordinator: Coordinator) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 - far from any bound

    async def handle(_claim: ClaimReply) -> JsonValue:
        reason = "usage limit"
        raise GiveBack(reason, cooldown_until=until)

    fleet = await coordinator.factory("f1")
    diary = Diary()
    await submit(coordinator)
    settings = FactoryPut(account="team")
    async with FactoryLoop(fleet, "f1", settings, handle, LoopOptions(tell=diary.tell)):
        await diary.until(Happening.RELEASED)
    ops = await coordinator.client()
    assert (await ops.factories.get("f1")).cooldown_until == until


async def test_a_longer_usage_limit_is_cut_to_what_is_taken(coordinator: Coordinator) -> None:
    async def handle(_claim: ClaimReply) -> JsonValue:
        reason = "usage limit"
        raise GiveBack(reason, cooldown_until=datetime(9998, 12, 1, tzinfo=UTC))

    job = await submit(coordinator)
    async with factory_at_work(coordinator, handle) as (_, diary):
        await diary.until(Happening.RELEASED)
    assert (await read(coordinator, job)).state is JobState.READY
    cooled = (await (await coordinator.client()).factories.get("f1")).cooldown_until
    assert cooled is not None
    assert cooled.year < 9998


async def test_a_result_that_is_refused_becomes_a_failure(coordinator: Coordinator) -> None:
    async def handle(_claim: ClaimReply) -> JsonValue:
        return {"text": "a\x00b"}

    job = await submit(coordinator)
    async with factory_at_work(coordinator, handle) as (_, diary):
        await diary.until(Happening.FAILED)
    assert "the result was refused" in ((await read(coordinator, job)).error or "")


async def test_a_cancel_that_is_asked_for_ends_the_work(coordinator: Coordinator) -> None:
    patient = Patient()
    job = await submit(coordinator)
    async with factory_at_work(coordinator, patient) as (_, diary):
        await patient.began.wait()
        ops = await coordinator.client()
        assert (await ops.jobs.cancel(job.id)).outcome == "cancel_requested"
        await diary.until(Happening.RELEASED)
    assert patient.cancelled == 1
    assert (await read(coordinator, job)).state is JobState.CANCELLED


async def test_a_lost_lease_ends_the_work_without_a_report(coordinator: Coordinator) -> None:
    patient = Patient()
    job = await submit(coordinator, JobSubmit(kind="x", timeout_s=1, max_attempts=1))
    async with factory_at_work(coordinator, patient) as (_, diary):
        await patient.began.wait()
        await diary.until(Happening.LOST)
    assert patient.cancelled == 1
    assert diary.happened(Happening.RELEASED) == 0
    assert (await read(coordinator, job)).state is JobState.DEAD


async def test_leaving_gives_jobs_back(coordinator: Coordinator) -> None:
    patient = Patient()
    job = await submit(coordinator)
    async with factory_at_work(coordinator, patient):
        await patient.began.wait()
    after = await read(coordinator, job)
    assert (after.state, after.attempts, patient.cancelled) == (JobState.READY, 0, 1)


async def test_leaving_with_grace_lets_jobs_end(coordinator: Coordinator) -> None:
    patient = Patient()
    job = await submit(coordinator)
    async with factory_at_work(coordinator, patient, grace_s=60) as (_, diary):
        await patient.began.wait()
        asyncio.get_running_loop().call_later(0.01, patient.go_on.set)
    assert (await read(coordinator, job)).state is JobState.SUCCEEDED
    assert diary.events[-1].what is Happening.STOPPED


def nested(depth: int) -> JsonValue:
    found: JsonValue = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("outcome", "what"),
    [
        (GiveBack("later", retry_after_s=-1), Happening.RELEASED),
        (GiveBack("later", retry_after_s=12.5), Happening.RELEASED),  # type: ignore[arg-type]
        (GiveBack("later", cooldown_until=datetime(2026, 1, 1)), Happening.RELEASED),  # noqa: DTZ001 - that is the point
        (JobFailed("half a \udcff letter"), Happening.FAILED),
        *((nested(depth), Happening.FAILED) for depth in (200, 254, 260, 5000)),
        (float("inf"), Happening.FAILED),
        (object(), Happening.FAILED),
    ],
)
async def test_whatever_a_handler_comes_to_is_reported(
    coordinator: Coordinator, outcome: object, what: Happening
) -> None:
    async def handle(_claim: ClaimReply) -> JsonValue:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[return-value]

    job = await submit(coordinator)
    async with factory_at_work(coordinator, handle) as (_, diary):
        await diary.until(what)
    state = (await read(coordinator, job)).state
    assert state in {JobState.READY, JobState.SCHEDULED, JobState.DEAD}


async def test_more_seats_than_one_claim_may_ask_for_are_no_end(coordinator: Coordinator) -> None:
    patient = Patient()
    await submit(coordinator)
    async with factory_at_work(coordinator, patient, seats=CLAIMS_MAX + 1) as (_, diary):
        patient.go_on.set()
        await diary.until(Happening.SUCCEEDED)


async def test_an_observer_that_fails_ends_nothing(coordinator: Coordinator) -> None:
    job = await submit(coordinator)
    seen: asyncio.Queue[Happening] = asyncio.Queue()

    def tell(event: LoopEvent) -> None:
        seen.put_nowait(event.what)
        "тест".encode("latin-1")

    async def handle(_claim: ClaimReply) -> JsonValue:
        return "done"

    fleet = await coordinator.factory("f1")
    options = LoopOptions(lease_s=5, tell=tell)
    async with FactoryLoop(fleet, "f1", FactoryPut(), handle, options):
        while await seen.get() is not Happening.SUCCEEDED:
            pass
    assert (await read(coordinator, job)).result == "done"


async def test_grace_can_be_cut(coordinator: Coordinator) -> None:
    patient = Patient()
    job = await submit(coordinator)
    async with factory_at_work(coordinator, patient, grace_s=3600) as (loop, _):
        await patient.began.wait()
        loop.hurry()
    assert (await read(coordinator, job)).state is JobState.READY


async def test_leaving_while_a_claim_waits_leaves_no_lease_behind(
    coordinator: Coordinator,
) -> None:
    async with factory_at_work(coordinator, Patient()) as (_, diary):
        await diary.until(Happening.WAITING)
        client = await coordinator.client(coordinator.tokens.client)
        submitting = asyncio.create_task(client.jobs.submit(JobSubmit(kind="x")))
    job = await submitting
    assert (await read(coordinator, job)).state is JobState.READY
    (factory,) = (await (await coordinator.client()).factories.page()).items
    assert factory.seats_used == 0


async def test_the_work_outlives_an_outage_of_the_coordinator(database_url: str) -> None:
    patient = Patient()
    async with AsyncExitStack() as first:
        coordinator = await first.enter_async_context(coordinator_on(database_url))
        job = await submit(coordinator)
        token = await coordinator.factory_token("f1")
        async with (
            FleetClient(coordinator.url, token, retries=ONCE) as fleet,
            factory_at_work(coordinator, patient, fleet=fleet) as (_, diary),
        ):
            await patient.began.wait()
            await first.aclose()
            patient.go_on.set()
            await diary.until(Happening.UNREACHABLE)
            port = int(coordinator.url.rpartition(":")[2])
            async with coordinator_on(database_url, port=port) as back:
                await diary.until(Happening.SUCCEEDED)
                assert (await read(back, job)).result == {"by": "f1"}


async def test_a_drain_is_told_and_lifted(coordinator: Coordinator) -> None:
    patient = Patient()
    await submit(coordinator)
    async with factory_at_work(coordinator, patient, seats=2) as (_, diary):
        await patient.began.wait()
        ops = await coordinator.client()
        await ops.factories.drain("f1", StandingRequest(reason="disk"))
        await diary.until(Happening.DRAINED)
        await ops.factories.resume("f1")
        await diary.until(Happening.RESUMED)


async def test_a_factory_that_was_forgotten_registers_again(coordinator: Coordinator) -> None:
    patient = Patient()
    patient.go_on.set()
    async with factory_at_work(coordinator, patient) as (_, diary):
        await diary.until(Happening.WAITING)
        ops = await coordinator.client()
        await ops.factories.delete("f1")
        await submit(coordinator)
        await diary.until(Happening.SUCCEEDED)
    assert diary.happened(Happening.REGISTERED) == 2


async def test_a_token_that_is_refused_ends_the_loop(coordinator: Coordinator) -> None:
    stranger = await coordinator.factory("f2")
    with pytest.raises(Problem) as refused:
        async with factory_at_work(coordinator, Patient(), fleet=stranger) as (loop, _):
            await loop.run(asyncio.Event())
    assert refused.value.status == 403


async def test_run_ends_when_told(coordinator: Coordinator) -> None:
    stop = asyncio.Event()
    async with factory_at_work(coordinator, Patient()) as (loop, diary):
        running = asyncio.create_task(loop.run(stop))
        await diary.until(Happening.WAITING)
        stop.set()
        await running


async def test_a_loop_that_was_not_entered_says_so(coordinator: Coordinator) -> None:
    loop = FactoryLoop(await coordinator.client(), "f1", FactoryPut(), Patient())
    with pytest.raises(RuntimeError, match="enter the loop first"):
        await loop.run(asyncio.Event())
