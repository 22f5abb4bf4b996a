"""A pull request that is told of again is verified again, by a job of its own."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from app.coordinator.hear import Delivery, hear
from app.coordinator.repo_forget import remove_pull
from app.coordinator.repo_items import bring_pull
from app.coordinator.repo_reads import get_pull
from app.coordinator.repo_settings import RepoPatch, delete_repo, get_repo, patch_repo
from app.forge.port import PullFacts
from app.forge.webhook import PullEvent
from app.pull import PullNews, PullState
from app.repo import PullStatus, RepoId
from app.runtime.ids import new_id
from app.store.session import Database
from tests.support.factories import OPS
from tests.support.jobs import count_jobs
from tests.support.repos import a_factory, dispatched, end_jobs, set_up

Again: TypeAlias = Callable[[Database, RepoId], Awaitable[None]]


async def watched(db: Database) -> RepoId:
    repo = await set_up(db, pr_watching_enabled=True)
    version = (await get_repo(db, repo)).repo.version
    await patch_repo(db, repo, RepoPatch(github="acme/shop"), if_match=version)
    return repo


async def told(db: Database, state: PullState) -> None:
    """GitHub says that pull request 5 is in this state, at the same commit."""
    said = PullEvent(
        repository="acme/shop",
        url="",
        pull=PullFacts(number=5, head_sha="abc", state=state),
        news=PullNews(state=state),
    )
    await hear(
        db, Delivery(id=str(new_id()), event="pull_request", said=said), forge=None, label="fleet"
    )


async def brought(db: Database, repo: RepoId) -> None:
    async with db.transaction() as conn:
        await bring_pull(conn, repo, 5, "abc")


async def closed_and_reopened(db: Database, _repo: RepoId) -> None:
    await told(db, PullState.CLOSED)
    await told(db, PullState.OPEN)


async def removed_and_brought(db: Database, repo: RepoId) -> None:
    await remove_pull(db, repo, 5)
    await brought(db, repo)


async def its_repo_deleted_and_made_again(db: Database, repo: RepoId) -> None:
    await delete_repo(db, repo, by=OPS)
    await brought(db, await watched(db))


@pytest.mark.parametrize(
    "again", [closed_and_reopened, removed_and_brought, its_repo_deleted_and_made_again]
)
async def test_it_is_verified_anew(db: Database, again: Again) -> None:
    await a_factory(db)
    repo = await watched(db)
    await brought(db, repo)
    for number, verified in enumerate((True, False, True), start=1):
        assert await dispatched(db) == {"shop": "verify_pr"}
        assert await count_jobs(db) == number
        assert await end_jobs(db, result={"verified": verified}) == 1
        assert await dispatched(db) == {"shop": None}
        outcome = PullStatus.VERIFIED if verified else PullStatus.FAILED
        assert (await get_pull(db, repo, 5)).status is outcome
        await again(db, repo)
        assert (await get_pull(db, repo, 5)).status is PullStatus.NEEDS_VERIFY


async def test_one_that_was_being_verified_takes_no_word_of_the_job_before(db: Database) -> None:
    await a_factory(db)
    repo = await watched(db)
    await brought(db, repo)
    assert await dispatched(db) == {"shop": "verify_pr"}
    await closed_and_reopened(db, repo)
    assert await end_jobs(db, result={"verified": True}) == 1
    assert await dispatched(db) == {"shop": "verify_pr"}
    assert (await get_pull(db, repo, 5)).status is PullStatus.VERIFYING
    assert await count_jobs(db) == 2
