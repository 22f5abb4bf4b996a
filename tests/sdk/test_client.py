"""The client of the coordinator: typed answers, refusals, and what it does about lost answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from app.fleet import JobState, Role
from app.sdk import FleetClient, NotAFleet, Problem, Retries, Unreachable
from app.wire.claims import (
    ClaimRequest,
    CompleteLeasesRequest,
    CompleteRequest,
    FailRequest,
    LeaseCompletion,
    ReleaseRequest,
    RenewRequest,
)
from app.wire.factories import FactoryPut, Heartbeat, HeldLease
from app.wire.jobs import BatchJob, JobBatch, JobPatch, JobSubmit
from app.wire.tokens import TokenRequest
from app.wire.values import StandingRequest
from tests.support.coordinator import Coordinator

NOWHERE = UUID("01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11")
QUICK = Retries(attempts=3, first_s=0.01, longest_s=0.05)


async def test_a_job_from_submit_to_result(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    f1 = await coordinator.factory("f1")
    await f1.factories.put("f1", FactoryPut(engines=["devin"]))
    job = await client.jobs.submit(JobSubmit(kind="hello", payload={"n": 1}))
    assert (job.state, job.warnings) == (JobState.READY, [])

    (claim,) = (await f1.leases.claim(ClaimRequest(factory_id="f1"))).claims
    assert claim.job.id == job.id
    assert claim.score.total == sum(claim.score.breakdown.values())
    fence = claim.lease.fence
    renewed = await f1.leases.renew(job.id, RenewRequest(fence=fence))
    assert renewed.outcome == "renewed"
    beat = Heartbeat(leases=[HeldLease(job_id=job.id, fence=fence)])
    assert [each.outcome for each in (await f1.factories.heartbeat("f1", beat)).leases] == [
        "renewed"
    ]
    done = await f1.leases.complete(job.id, CompleteRequest(fence=fence, result={"n": 2}))
    assert done.job.state is JobState.SUCCEEDED
    assert (await client.jobs.get(job.id)).result == {"n": 2}
    events = (await client.jobs.events(job.id)).items
    assert "claimed" in [each.event for each in events]
    ops = await coordinator.client()
    assert (await ops.explain.decision(claim.decision_id)).job_id == job.id


async def test_fail_and_release_and_complete_all(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    f1 = await coordinator.factory("f1")
    await f1.factories.put("f1", FactoryPut(seat_limit=3))
    batch = JobBatch(jobs=[BatchJob(kind=kind) for kind in ("a", "b", "c")])
    submitted = await client.jobs.submit_batch(batch)
    claims = (await f1.leases.claim(ClaimRequest(factory_id="f1", max_jobs=3))).claims
    assert {each.job.id for each in claims} == {each.id for each in submitted.jobs}
    first, second, third = claims
    failed = await f1.leases.fail(
        first.job.id, FailRequest(fence=first.lease.fence, error="broken", retryable=False)
    )
    assert failed.job.state is JobState.DEAD
    released = await f1.leases.release(
        second.job.id, ReleaseRequest(fence=second.lease.fence, reason="drain")
    )
    assert released.job.state is JobState.READY
    reports = [LeaseCompletion(job_id=third.job.id, fence=third.lease.fence, result={})]
    answer = await f1.leases.complete_all(CompleteLeasesRequest(leases=reports, claim_next=1))
    assert [each.outcome for each in answer.outcomes] == ["succeeded"]
    assert [each.job.id for each in answer.claims] == [second.job.id]


async def test_an_empty_claim_says_why(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    f1 = await coordinator.factory("f1")
    await f1.factories.put("f1", FactoryPut())
    job = await client.jobs.submit(JobSubmit(kind="x", required_capabilities=["docker"]))
    assert job.warnings
    sent = asyncio.Event()
    answer = await f1.leases.claim(ClaimRequest(factory_id="f1"), on_sent=sent.set)
    assert sent.is_set()
    assert answer.claims == []
    assert answer.reasons == {"missing_capability": 1}
    assert answer.retry_after_s >= 1
    (verdict,) = (await (await coordinator.client()).explain.job(job.id)).verdicts
    assert [each.reason for each in verdict.reasons] == ["missing_capability"]


async def test_what_clients_decide_about_jobs(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    job = await client.jobs.submit(JobSubmit(kind="x", labels={"team": "web"}))
    patched = await client.jobs.patch(job.id, JobPatch(lock="clone"), version=job.version)
    assert patched.lock == "clone"
    held = await client.jobs.hold(job.id, StandingRequest(reason="wait"))
    assert held.state is JobState.HELD
    assert (await client.jobs.unhold(job.id)).state is JobState.READY
    cancelled = await client.jobs.cancel(job.id, reason="not needed")
    assert cancelled.outcome == "cancelled"
    assert (await client.jobs.retry(job.id)).state is JobState.READY
    assert [each.id async for each in client.jobs.each(label=["team=web"])] == [job.id]
    assert [each.id async for each in client.jobs.each(state="dead")] == []


async def test_what_ops_decide_about_factories_and_tokens(coordinator: Coordinator) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())
    drained = await ops.factories.drain("f1", StandingRequest(reason="disk"))
    assert drained.drain is not None
    paused = await ops.factories.pause("f1", StandingRequest(reason="disk"))
    assert paused.pause is not None
    resumed = await ops.factories.resume("f1")
    assert (resumed.drain, resumed.pause) == (None, None)
    assert (await ops.explain.factory("f1", limit=5)).factory.id == "f1"
    assert [each.id async for each in ops.factories.each()] == ["f1"]
    await ops.factories.delete("f1")
    minted = await ops.tokens.create(TokenRequest(role=Role.CLIENT, name="ci"))
    assert minted.token is not None
    other = await coordinator.client(minted.token)
    await other.jobs.page()
    await ops.tokens.revoke(minted.id)
    with pytest.raises(Problem) as refused:
        await other.jobs.page()
    assert refused.value.status == 401
    assert minted.id in [each.id async for each in ops.tokens.each()]


async def test_the_service_itself(coordinator: Coordinator) -> None:
    anybody = FleetClient(coordinator.url)
    async with anybody:
        assert (await anybody.healthz()).ok
        assert (await anybody.readyz()).ready
    ops = await coordinator.client()
    assert "fleet" in await ops.metrics()
    cron = await coordinator.client(coordinator.tokens.cron)
    assert "leases" in await cron.ticks.run()
    assert "expired" in await cron.ticks.run("leases")


async def test_pages_are_followed(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    batch = JobBatch(jobs=[BatchJob(kind="x") for _ in range(130)])
    submitted = await client.jobs.submit_batch(batch)
    listed = {each.id async for each in client.jobs.each()}
    assert listed == {each.id for each in submitted.jobs}


async def test_a_refusal_has_type_status_detail_and_fields(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    with pytest.raises(Problem) as unknown:
        await client.jobs.get(NOWHERE)
    assert (unknown.value.status, unknown.value.slug) == (404, "not-found")
    assert unknown.value.type == "/problems/not-found"
    assert str(NOWHERE) in unknown.value.detail
    job = await client.jobs.submit(JobSubmit(kind="x"))
    with pytest.raises(Problem) as moved:
        await client.jobs.patch(job.id, JobPatch(lock="l"), version=job.version + 1)
    assert moved.value.status == 412
    assert moved.value.extensions["current_version"] == job.version
    wrong = JobSubmit.model_construct(kind="", payload={}, _fields_set={"kind", "payload"})
    with pytest.raises(Problem) as invalid:
        await client.jobs.submit(wrong)
    assert [each.field for each in invalid.value.errors] == ["kind"]
    assert "kind: " in str(invalid.value)


async def test_the_same_key_submits_once(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    key = 'a "quoted" \\ key'
    first = await client.jobs.submit(JobSubmit(kind="x"), key=key)
    again = await client.jobs.submit(JobSubmit(kind="x"), key=key)
    assert first.id == again.id
    with pytest.raises(Problem) as other:
        await client.jobs.submit(JobSubmit(kind="y"), key=key)
    assert other.value.slug == "idempotency-key-reused"
    with pytest.raises(ValueError, match="printable ASCII"):
        await client.jobs.submit(JobSubmit(kind="x"), key="naïve")


async def test_nobody_there_is_said_in_one_sentence() -> None:
    async with FleetClient("http://127.0.0.1:9", retries=QUICK) as fleet:
        with pytest.raises(Unreachable, match=r"no coordinator answers at http://127\.0\.0\.1:9"):
            await fleet.healthz()


Answer = Callable[[int], bytes]
"""The bytes of the n-th answer; none at all hangs up."""


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve raw bytes, as a broken network or a proxy would; yields the URL and what was asked."""
    asked: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = [line for line in head.split("\r\n") if line.lower().startswith("content-length")]
        await reader.readexactly(int(length[0].partition(":")[2]) if length else 0)
        asked.append(head)
        writer.write(answer(len(asked)))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}", asked


def http(status: str, body: str = "", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


GOOD = http("200 OK", '{"ok": true}')


def after(first: bytes, then: bytes = GOOD) -> Answer:
    return lambda number: first if number == 1 else then


@pytest.mark.parametrize(
    "first",
    [b"", http("503 Service Unavailable", "", "retry-after: 0"), http("502 Bad Gateway")],
    ids=["hung up", "503", "502"],
)
async def test_a_read_is_tried_again(first: bytes) -> None:
    async with answering(after(first)) as (url, asked), FleetClient(url, retries=QUICK) as fleet:
        assert (await fleet.healthz()).ok
    assert len(asked) == 2


async def test_a_repeated_submit_carries_the_same_key() -> None:
    refusal = http("422 Unprocessable Entity", "{}")
    async with (
        answering(after(b"", refusal)) as (url, asked),
        FleetClient(url, retries=QUICK) as fleet,
    ):
        with pytest.raises(Problem):
            await fleet.jobs.submit(JobSubmit(kind="x"))
    keys = {
        line
        for head in asked
        for line in head.split("\r\n")
        if line.lower().startswith("idempotency-key")
    }
    assert len(asked) == 2
    assert len(keys) == 1


async def _retry(fleet: FleetClient) -> None:
    await fleet.jobs.retry(NOWHERE)


async def _patch(fleet: FleetClient) -> None:
    await fleet.jobs.patch(NOWHERE, JobPatch(lock="l"), version=1)


@pytest.mark.parametrize("call", [_retry, _patch])
async def test_what_is_not_harmless_twice_is_not_repeated(
    call: Callable[[FleetClient], Awaitable[None]],
) -> None:
    async with answering(after(b"")) as (url, asked), FleetClient(url, retries=QUICK) as fleet:
        with pytest.raises(Unreachable):
            await call(fleet)
    assert len(asked) == 1


async def test_a_long_pause_is_left_to_the_caller() -> None:
    busy = http("503 Service Unavailable", "", "retry-after: 3600")
    async with answering(after(busy)) as (url, asked), FleetClient(url, retries=QUICK) as fleet:
        with pytest.raises(Problem) as refused:
            await fleet.healthz()
    assert (refused.value.status, refused.value.retry_after_s) == (503, 3600)
    assert len(asked) == 1


async def test_another_service_on_that_port_is_recognised() -> None:
    async with (
        answering(after(http("200 OK", "<html></html>"))) as (url, _),
        FleetClient(url, retries=QUICK) as fleet,
    ):
        with pytest.raises(NotAFleet, match="is not what was expected"):
            await fleet.healthz()


async def test_an_answer_that_cannot_be_read_is_no_crash() -> None:
    spoilt = http("200 OK", "hello", "content-encoding: gzip")
    async with answering(after(spoilt)) as (url, _), FleetClient(url, retries=QUICK) as fleet:
        with pytest.raises(NotAFleet, match="cannot be read"):
            await fleet.healthz()


def test_a_token_that_cannot_be_one_is_refused_without_showing_it() -> None:
    for token in ("fleet_secret\n", "fleet_sécret"):
        with pytest.raises(ValueError, match="printable ASCII") as refused:
            FleetClient("http://127.0.0.1:9", token)
        assert "cret" not in str(refused.value)


async def test_a_password_in_the_address_is_not_told() -> None:
    async with FleetClient("http://ann:hunter2@127.0.0.1:9", retries=QUICK) as fleet:
        with pytest.raises(Unreachable) as missed:
            await fleet.healthz()
    assert "hunter2" not in str(missed.value)


async def test_what_is_no_number_is_refused_by_name(coordinator: Coordinator) -> None:
    client = await coordinator.client(coordinator.tokens.client)
    with pytest.raises(Problem) as refused:
        await client.jobs.submit(JobSubmit(kind="x", payload={"a": float("nan")}))
    assert [each.field for each in refused.value.errors] == ["payload.a"]


async def test_ids_of_people_are_quoted_in_addresses(coordinator: Coordinator) -> None:
    ops = await coordinator.client()
    assert (await ops.factories.put("rack 7?#é", FactoryPut())).id == "rack 7?#é"
    assert (await ops.factories.get("rack 7?#é")).id == "rack 7?#é"
