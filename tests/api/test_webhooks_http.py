"""Webhooks over HTTP: signed or refused, taken once, real payloads read, the rest ignored.

``webhook_examples.json.gz`` holds some events of ``api.github.com/index.json`` as npm ships it in
``@octokit/webhooks-examples`` 7.6.1 (MIT, Gregor Martynus and contributors).
"""

import gzip
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from app.fleet import Json
from app.forge.reading import Unreadable
from app.forge.webhook import IssueEvent, PullEvent, read
from tests.support.api import Fleet, body_of, fleet_in_process, problem_of
from tests.support.github import Server, github_server, pull

SECRET = "shared"
EXAMPLES = Path(__file__).parents[1] / "forge" / "webhook_examples.json.gz"


@pytest.fixture
async def github() -> AsyncIterator[Server]:
    async with github_server() as running:
        yield running


@pytest.fixture
async def fleet(database_url: str, github: Server) -> AsyncIterator[Fleet]:
    settings = {"github_token": "secret", "github_api_url": github.url}
    async with fleet_in_process(database_url, github_webhook_secret=SECRET, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def examples() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(gzip.decompress(EXAMPLES.read_bytes()))
    return found


async def deliver(
    fleet: Fleet,
    event: str,
    payload: Any,  # noqa: ANN401
    *,
    id_: str = "d1",
    secret: str = SECRET,
) -> httpx.Response:
    body = json.dumps(payload).encode()
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": id_,
        "X-Hub-Signature-256": f"sha256={signature}",
        "Content-Type": "application/json",
    }
    return await fleet.anonymous.post("/webhooks/github", content=body, headers=headers)


def about(number: int, action: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    url = f"https://github.com/acme/shop/pull/{number}"
    return {
        "action": action,
        "repository": {"full_name": "Acme/Shop"},
        "pull_request": {**pull(number), "html_url": url, **fields},
        "sender": {"login": "ann"},
    }


async def test_who_does_not_sign_is_refused(fleet: Fleet) -> None:
    forged = await deliver(fleet, "ping", {}, secret="guess")
    problem_of(forged, 401, "unauthenticated")
    bare = await fleet.anonymous.post("/webhooks/github", content=b"{}")
    problem_of(bare, 401, "unauthenticated")
    odd = {b"X-Hub-Signature-256": b"sha256=\xe4"}
    problem_of(
        await fleet.anonymous.post("/webhooks/github", content=b"{}", headers=odd),
        401,
        "unauthenticated",
    )


@pytest.mark.parametrize("unset", [None, "", " "])
async def test_without_a_secret_nobody_is_let_in(database_url: str, unset: str | None) -> None:
    async with fleet_in_process(database_url, github_webhook_secret=unset) as closed:
        problem_of(await deliver(closed, "ping", {}), 403, "forbidden")
        guessed = await deliver(closed, "ping", {}, secret=unset or "")
        problem_of(guessed, 403, "forbidden")


async def test_every_real_payload_is_read(fleet: Fleet, examples: dict[str, list[Any]]) -> None:
    kinds = {event: {type(read(event, each)) for each in all_} for event, all_ in examples.items()}
    assert kinds["pull_request"] == kinds["pull_request_review"] == {PullEvent}
    assert kinds["issues"] == {IssueEvent, type(None)}
    assert kinds["ping"] == kinds["push"] == {type(None)}
    for event, all_ in examples.items():
        answered = await deliver(fleet, event, all_[0], id_=event)
        assert answered.status_code == 202, answered.text


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pull_request", {}),
        ("issues", {"repository": {"full_name": "a/b"}, "issue": {"number": -1}}),
        ("pull_request", {"repository": {"full_name": 1}}),
        ("pull_request_review", []),
    ],
)
async def test_what_is_not_as_documented_is_refused(
    fleet: Fleet, event: str, payload: Json
) -> None:
    with pytest.raises(Unreadable):
        read(event, payload)
    problem_of(await deliver(fleet, event, payload), 422, "invalid-request")


async def test_a_delivery_is_taken_once_and_a_form_as_well(fleet: Fleet) -> None:
    await fleet.client.put("/repos/shop", json={"github": "acme/shop", "pr_watching_enabled": True})
    outcomes = [
        body_of(await deliver(fleet, "pull_request", about(5, "opened"), id_="same"))["outcome"]
        for _ in range(2)
    ]
    assert outcomes == ["taken", "repeated"]
    pulls = body_of(await fleet.client.get("/repos/shop/pulls"))["items"]
    assert [(each["number"], each["head_sha"]) for each in pulls] == [(5, "sha5")]
    head = {"head": {"sha": "newer", "repo": None}}
    body = urlencode({"payload": json.dumps(about(5, "synchronize", **head))}).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "X-GitHub-Event": "pull_request",
        "X-GitHub-Delivery": "other",
        "X-Hub-Signature-256": f"sha256={signature}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    answered = await fleet.anonymous.post("/webhooks/github", content=body, headers=headers)
    assert answered.status_code == 202, answered.text
    assert body_of(await fleet.client.get("/repos/shop/pulls/5"))["head_sha"] == "newer"
    await deliver(fleet, "pull_request", about(5, "closed", state="closed"), id_="third")
    problem_of(await fleet.client.get("/repos/shop/pulls/5"), 404, "not-found")
    ignored = await deliver(fleet, "star", {"action": "created"}, id_="star")
    assert (ignored.status_code, body_of(ignored)["outcome"]) == (202, "ignored")


async def test_issues_with_our_label_come_and_go(fleet: Fleet) -> None:
    await fleet.client.put("/repos/shop", json={"github": "acme/shop"})

    async def tell(action: str, id_: str, **fields: Any) -> None:  # noqa: ANN401
        shown = {"number": 7, "title": "slow", "state": "open", "labels": [], **fields}
        payload = {"action": action, "repository": {"full_name": "acme/shop"}, "issue": shown}
        assert (await deliver(fleet, "issues", payload, id_=id_)).status_code == 202

    await tell("opened", "1")
    problem_of(await fleet.client.get("/repos/shop/issues/7"), 404, "not-found")
    await tell("labeled", "2", labels=[{"name": "fleet"}, {"name": "score:9"}])
    issue = body_of(await fleet.client.get("/repos/shop/issues/7"))
    assert (issue["score"], issue["status"]) == (9, "open")
    await tell("closed", "3", state="closed")
    assert body_of(await fleet.client.get("/repos/shop/issues/7"))["status"] == "solved"
    await tell("reopened", "4")
    assert body_of(await fleet.client.get("/repos/shop/issues/7"))["status"] == "open"
    await tell("transferred", "5")
    problem_of(await fleet.client.get("/repos/shop/issues/7"), 404, "not-found")


async def test_a_review_reaches_the_workflow_and_an_approval_asks_for_all(
    fleet: Fleet, github: Server
) -> None:
    path, url = await _under_review(fleet, github)
    objection = _review(1, "bob", "CHANGES_REQUESTED", "2026-03-01T08:01:00Z")
    approval = _review(2, "ann", "APPROVED", "2026-03-01T08:02:00Z")

    async def submitted(review: dict[str, Any], id_: str) -> str:
        said = about(5, "submitted", html_url=url) | {"review": review}
        assert (await deliver(fleet, "pull_request_review", said, id_=id_)).status_code == 202
        verdict = body_of(await fleet.ops.get(path))["review"]
        assert isinstance(verdict, str)
        return verdict

    github.reviews[5] = [objection, approval]
    assert await submitted(approval, "a") == "changes_requested"
    later = _review(3, "bob", "APPROVED", "2026-03-01T08:03:00Z")
    github.reviews[5].append(later)
    assert await submitted(later, "b") == "approved"


@pytest.mark.parametrize("asks", [True, False])
async def test_a_strangers_review_is_not_heard(
    database_url: str, github: Server, *, asks: bool
) -> None:
    way = {"github_token": "secret", "github_api_url": github.url} if asks else {}
    async with fleet_in_process(database_url, github_webhook_secret=SECRET, **way) as fleet:
        path, url = await _under_review(fleet, github)
        for number, (state, of) in enumerate(
            (state, of)
            for state in ("APPROVED", "CHANGES_REQUESTED")
            for of in ("NONE", "CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", None)
        ):
            at = f"2026-03-01T09:0{number}:00Z"
            review = _review(number, "eve", state, at, author_association=of)
            github.reviews[5] = [review]
            said = about(5, "submitted", html_url=url) | {"review": review}
            told = await deliver(fleet, "pull_request_review", said, id_=str(number))
            assert told.status_code == 202
        after = body_of(await fleet.ops.get(path))
        assert (after["review"], after["review_comments"]) == ("pending", [])
        known = _review(9, "ann", "APPROVED", "2026-03-01T09:30:00Z", author_association="OWNER")
        github.reviews[5].append(known)
        said = about(5, "submitted", html_url=url) | {"review": known}
        await deliver(fleet, "pull_request_review", said, id_="last")
        assert body_of(await fleet.ops.get(path))["review"] == "approved"


async def _under_review(fleet: Fleet, github: Server) -> tuple[str, str]:
    """Make a workflow that waits for a review of its pull request, which the forge has."""
    github.pulls = [pull(5)]
    made = await fleet.ops.post("/projects", json={"name": "shop", "repo": "shop"})
    url = f"{github.url}/acme/shop/pull/5"
    created = await fleet.ops.post(
        "/workflows",
        json={
            "project_id": body_of(made)["id"],
            "kind": "development",
            "title": "cart",
            "prompt": "add a cart",
            "status": "reviewing",
            "pr_url": url,
        },
    )
    return f"/workflows/{body_of(created)['id']}", url


def _review(
    id_: int, user: str, state: str, at: str, *, author_association: str | None = "MEMBER"
) -> dict[str, Any]:
    named = {"id": id_, "user": {"login": user}, "body": "hm", "state": state}
    return {**named, "submitted_at": at, "author_association": author_association}
