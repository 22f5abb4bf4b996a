"""Numbers: bounded, and of this application alone."""

from datetime import datetime

from tests.support.api import Fleet, body_of, fleet_in_process, problem_of


async def test_noise_makes_no_series(fleet: Fleet) -> None:
    async def series() -> int:
        text = (await fleet.client.get("/metrics")).text
        return sum(not line.startswith("#") for line in text.splitlines())

    async def noise(turn: int) -> None:
        await fleet.ops.get(f"/scan/{turn}")
        await fleet.ops.request(f"ODD{turn}", "/jobs")
        await fleet.ops.request(f"ODD{turn}", f"/scan/{turn}")
        await fleet.anonymous.get(f"/jobs/{turn}")
        await fleet.ops.get(f"/factories/{turn}")

    await noise(0)
    await series()
    before = await series()
    for turn in range(1, 200):
        await noise(turn)
    assert await series() == before


async def test_what_is_counted(fleet: Fleet) -> None:
    f1 = await fleet.factory("f1")
    await fleet.submit()
    claim = body_of(await f1.post("/claim", json={"factory_id": "f1"}))["claims"][0]
    await f1.post(f"/jobs/{claim['job']['id']}/complete", json={"fence": claim["lease"]["fence"]})
    await fleet.submit(required_capabilities=["gpu"])
    await f1.post("/claim", json={"factory_id": "f1"})
    response = await f1.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    lines = response.text.splitlines()
    for expected in (
        'fleet_http_requests_total{method="POST",route="/claim",status="200"} 1.0',
        'fleet_http_requests_total{method="POST",route="/jobs/{job_id}/complete",status="200"} 1.0',
        'fleet_claims_total{outcome="leased"} 1.0',
        'fleet_claims_total{outcome="nothing"} 1.0',
        'fleet_claim_refusals_total{reason="missing_capability"} 1.0',
        'fleet_leases_total{outcome="succeeded"} 1.0',
        "fleet_claimed_jobs_total 1.0",
        "fleet_claims_waiting 0.0",
    ):
        assert expected in lines
    await fleet.cron.post("/tick")
    assert 'fleet_tick_last_success{tick="leases"}' in (await f1.get("/metrics")).text
    problem_of(await fleet.anonymous.get("/metrics"), 401, "unauthenticated")


async def test_what_waits_is_counted_by_what_is_in_the_way(fleet: Fleet) -> None:
    await fleet.factory("f1")
    await fleet.submit()
    await fleet.submit(required_capabilities=["gpu"])
    await fleet.submit(run_after="2999-01-01T00:00:00Z")
    lines = (await fleet.ops.get("/metrics")).text.splitlines()
    waits = {line for line in lines if line.startswith("fleet_jobs_pending{")}
    assert len(waits) == 15
    assert {line for line in waits if not line.endswith(" 0.0")} == {
        'fleet_jobs_pending{reason="claimable"} 1.0',
        'fleet_jobs_pending{reason="missing_capability"} 1.0',
        'fleet_jobs_pending{reason="not_before"} 1.0',
    }


async def test_the_last_tick_is_known_to_every_process_and_after_a_restart(
    database_url: str,
) -> None:
    """Else whoever watches is called at each restart, and by any process that never ticked."""
    async with fleet_in_process(database_url) as ticks, fleet_in_process(database_url) as other:
        assert await last_ticks(other) == {"workflows": 0, "repos": 0}
        for kind in ("workflows", "repos"):
            assert (await ticks.cron.post(f"/tick/{kind}")).status_code == 200
        stored = body_of(await ticks.ops.get("/ticks"))["items"]
        done = {each["kind"]: datetime.fromisoformat(each["at"]).timestamp() for each in stored}
        assert set(done) == {"workflows", "repos"}
        assert await last_ticks(ticks) == await last_ticks(other) == done
        await ticks.cron.post("/tick", params={"dry_run": "true"})
        assert await last_ticks(ticks) == done
    async with fleet_in_process(database_url) as restarted:
        assert await last_ticks(restarted) == done


async def last_ticks(fleet: Fleet) -> dict[str, float]:
    lines = (await fleet.ops.get("/metrics")).text.splitlines()
    values = dict(line.split() for line in lines if line.startswith("fleet_tick_last_success{"))
    return {
        kind: float(values[f'fleet_tick_last_success{{tick="{kind}"}}'])
        for kind in ("workflows", "repos")
    }
