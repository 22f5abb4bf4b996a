"""What factories report is stored without the secrets that agents print."""

from typing import Any

import httpx
import pytest

from tests.support.api import Fleet, body_of

SECRET = "ghp_" + "a1B2" * 9
SAID = f"exit code 128: cannot push to https://me:hush@forge.example/acme with {SECRET}"
MASKED = "exit code 128: cannot push to https://me:***@forge.example/acme with ghp_***"


async def claimed(served: Fleet, factory: httpx.AsyncClient) -> tuple[str, int]:
    await served.submit()
    (claim,) = body_of(await factory.post("/claim", json={"factory_id": "f1"}))["claims"]
    return claim["job"]["id"], claim["lease"]["fence"]


async def everything_of(served: Fleet, job_id: str) -> tuple[dict[str, Any], str]:
    job = await served.client.get(f"/jobs/{job_id}")
    events = await served.client.get(f"/jobs/{job_id}/events")
    assert events.status_code == 200
    return body_of(job), job.text + events.text


async def test_an_error_is_masked(served: Fleet) -> None:
    f1 = await served.factory("f1")
    job_id, fence = await claimed(served, f1)
    report = {"fence": fence, "error": SAID}
    assert (await f1.post(f"/jobs/{job_id}/fail", json=report)).status_code == 200
    job, all_of_it = await everything_of(served, job_id)
    assert job["error"] == MASKED
    assert SECRET not in all_of_it
    # The same report again is recognised, and answered as the first was.
    again = body_of(await f1.post(f"/jobs/{job_id}/fail", json=report))
    assert again["replayed"] is True


async def test_the_reason_of_a_release_is_masked(served: Fleet) -> None:
    f1 = await served.factory("f1")
    job_id, fence = await claimed(served, f1)
    released = await f1.post(f"/jobs/{job_id}/release", json={"fence": fence, "reason": SAID})
    assert released.status_code == 200
    _, all_of_it = await everything_of(served, job_id)
    assert SECRET not in all_of_it
    assert MASKED in all_of_it


@pytest.mark.parametrize("together", [False, True])
async def test_what_a_result_says_is_masked_and_what_it_found_is_not(
    served: Fleet, together: bool
) -> None:
    f1 = await served.factory("f1")
    job_id, fence = await claimed(served, f1)
    result = {"error": SAID, "stdout_tail": SAID, "stderr_tail": 7, "branch": SECRET}
    if together:
        lease = {"job_id": job_id, "fence": fence, "result": result}
        done = await f1.post("/leases/complete", json={"leases": [lease]})
    else:
        body = {"fence": fence, "result": result}
        done = await f1.post(f"/jobs/{job_id}/complete", json=body)
    assert done.status_code == 200
    job, _ = await everything_of(served, job_id)
    assert job["result"] == result | {"error": MASKED, "stdout_tail": MASKED}
