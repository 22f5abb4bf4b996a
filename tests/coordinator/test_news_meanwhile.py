"""What the forge delivers while it is being asked is newer than its answer."""

from collections.abc import Awaitable, Callable
from typing import Unpack

from app.coordinator.hear import Delivery, hear
from app.coordinator.repo_items import bring_pull
from app.coordinator.repo_reads import get_pull, list_issues, list_pulls
from app.coordinator.repo_settings import RepoPatch, get_repo, patch_repo
from app.forge.port import IssueFacts, PullFacts
from app.forge.webhook import IssueEvent, PullEvent
from app.pull import PullNews, PullState
from app.repo import IssueStatus, RepoId
from app.runtime.ids import new_id
from app.store.session import Database
from tests.core.chain_world import RepoFields
from tests.support.repos import a_factory, dispatched, set_up

OLD = PullFacts(number=5, head_sha="old", state=PullState.OPEN)
ISSUE = IssueFacts(number=7, title="it breaks", open=True, labels=frozenset({"fleet"}), score=None)


class SlowForge:
    """A forge that lists what was open before ``meanwhile`` happens."""

    def __init__(self, meanwhile: Callable[[], Awaitable[None]]) -> None:
        self.meanwhile = meanwhile

    async def open_pulls(self, _repository: str) -> tuple[PullFacts, ...]:
        await self.meanwhile()
        return (OLD,)

    async def labelled_issues(self, _repository: str) -> tuple[IssueFacts, ...]:
        return (ISSUE,)

    async def pull(self, _repository: str, _number: int) -> PullFacts | None:
        return None

    async def issue(self, _repository: str, _number: int) -> IssueFacts | None:
        return None

    async def look(self, _pr_url: str) -> PullNews | None:
        return None


async def watched(db: Database, **features: Unpack[RepoFields]) -> RepoId:
    repo = await set_up(db, **features)
    version = (await get_repo(db, repo)).repo.version
    await patch_repo(db, repo, RepoPatch(github="acme/shop"), if_match=version)
    await a_factory(db)
    return repo


async def delivered(db: Database, said: PullEvent | IssueEvent) -> None:
    await hear(db, Delivery(id=str(new_id()), event="e", said=said), forge=None, label="fleet")


def pull_event(head_sha: str, state: PullState) -> PullEvent:
    facts = PullFacts(number=5, head_sha=head_sha, state=state)
    return PullEvent(repository="acme/shop", url="", pull=facts, news=PullNews(state=state))


async def nothing() -> None:
    pass


async def test_a_pull_request_that_is_closed_meanwhile_stays_closed(db: Database) -> None:
    repo = await watched(db, pr_watching_enabled=True)
    await delivered(db, pull_event("old", PullState.OPEN))

    async def closed() -> None:
        await delivered(db, pull_event("old", PullState.CLOSED))

    assert await dispatched(db, SlowForge(closed)) == {"shop": None}
    assert not (await list_pulls(db, repo, None, 10)).items


async def test_a_newer_commit_is_not_taken_back(db: Database) -> None:
    repo = await watched(db, pr_watching_enabled=True)
    await delivered(db, pull_event("old", PullState.OPEN))

    async def pushed() -> None:
        await delivered(db, pull_event("new", PullState.OPEN))

    await dispatched(db, SlowForge(pushed))
    assert (await get_pull(db, repo, 5)).head_sha == "new"


async def test_an_issue_that_is_closed_meanwhile_is_not_opened_again(db: Database) -> None:
    repo = await watched(db, issue_solving_enabled=True)
    await delivered(db, IssueEvent(repository="acme/shop", issue=ISSUE, gone=False))

    async def closed() -> None:
        over = IssueFacts(number=7, title="it breaks", open=False, labels=ISSUE.labels, score=None)
        await delivered(db, IssueEvent(repository="acme/shop", issue=over, gone=False))

    await dispatched(db, SlowForge(closed))
    (issue,) = (await list_issues(db, repo, None, 10)).items
    assert issue.status is IssueStatus.SOLVED


async def test_what_a_stranger_proposes_is_verified_only_as_it_was_brought(db: Database) -> None:
    repo = await watched(db, pr_watching_enabled=True, issue_solving_enabled=True)
    await delivered(db, IssueEvent(repository="acme/shop", issue=ISSUE, gone=False))
    for sha in ("one", "two"):
        facts = PullFacts(
            number=5, head_sha=sha, state=PullState.OPEN, closes=frozenset({7}), strange=True
        )
        news = PullNews(state=PullState.OPEN)
        await delivered(db, PullEvent(repository="acme/shop", url="", pull=facts, news=news))
        if sha == "one":
            assert not (await list_pulls(db, repo, None, 10)).items
            async with db.transaction() as conn:
                await bring_pull(conn, repo, 5, "one")
    assert (await get_pull(db, repo, 5)).head_sha == "one"
    (issue,) = (await list_issues(db, repo, None, 10)).items
    assert issue.status is IssueStatus.OPEN


async def test_what_did_not_change_meanwhile_is_taken_in(db: Database) -> None:
    repo = await watched(db, pr_watching_enabled=True, issue_solving_enabled=True)
    await delivered(db, pull_event("older", PullState.OPEN))
    await dispatched(db, SlowForge(nothing))
    assert (await get_pull(db, repo, 5)).head_sha == "old"
    assert [each.number for each in (await list_issues(db, repo, None, 10)).items] == [7]
