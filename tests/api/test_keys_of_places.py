"""An idempotency key belongs to one request: the same body sent elsewhere is another."""

import pytest

from app.api.application import application
from tests.support.api import Fleet, body_of, problem_of

BODIES = {
    "/repos/{repo_id}/candidates": {"focus": "tests"},
    "/repos/{repo_id}/pulls": {"number": 5, "head_sha": "a" * 40},
    "/repos/{repo_id}/issues": {"number": 7, "title": "slow"},
}


def test_these_are_all_that_make_something_somewhere_under_a_key() -> None:
    keyed = {
        path
        for path, methods in application().openapi()["paths"].items()
        for parameter in methods.get("post", {}).get("parameters", [])
        if parameter["name"] == "Idempotency-Key"
    }
    assert {path for path in keyed if "{" in path} == BODIES.keys()


@pytest.mark.parametrize("path", BODIES)
async def test_the_same_body_under_the_same_key_sent_to_another_is_refused(
    fleet: Fleet, path: str
) -> None:
    key = {"Idempotency-Key": '"k"'}
    for repo in ("one", "two"):
        assert (await fleet.client.put(f"/repos/{repo}", json={})).status_code == 201
    one, two = (path.format(repo_id=repo) for repo in ("one", "two"))
    made = await fleet.client.post(one, json=BODIES[path], headers=key)
    assert made.status_code == 201, made.text

    elsewhere = await fleet.client.post(two, json=BODIES[path], headers=key)

    problem_of(elsewhere, 409, "idempotency-key-reused")
    assert body_of(await fleet.client.get(two))["items"] == []
    repeated = await fleet.client.post(one, json=BODIES[path], headers=key)
    assert (repeated.status_code, body_of(repeated)) == (201, body_of(made))
    assert repeated.headers["idempotent-replayed"] == "true"
