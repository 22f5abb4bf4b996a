"""The repo tick on PostgreSQL: one dispatch a repo and cycle, results flow back, nothing twice."""

import asyncio
from typing import Any

from app.coordinator.explain_repo import explain_repo
from app.coordinator.repo_items import IssuePatch, add_candidate, bring_issue, bring_pull
from app.coordinator.repo_reads import get_issue, get_pull, list_candidates, list_issues, list_runs
from app.coordinator.repo_settings import RepoPatch, delete_repo, get_repo, patch_repo
from app.coordinator.ticking import TICK, TickKind, last_tick
from app.repo import CandidateStatus, IssueStatus, PullStatus, RepoId, RunStatus
from app.store.session import Database
from tests.support.repos import a_factory, dispatched, end_jobs, set_up, tick


async def put_issue(db: Database, repo: RepoId, number: int, **fields: Any) -> None:  # noqa: ANN401
    async with db.transaction() as conn:
        patch = IssuePatch(**{"title": f"bug {number}", "score": 1.0, **fields})
        await bring_issue(conn, repo, number, patch)


async def put_pull(db: Database, repo: RepoId, number: int, head_sha: str = "abc") -> None:
    async with db.transaction() as conn:
        await bring_pull(conn, repo, number, head_sha)


async def queue(db: Database, repo: RepoId, focus: str, score: float = 1) -> None:
    async with db.transaction() as conn:
        await add_candidate(conn, repo, focus, score)


async def test_example_two_cycle_by_cycle(db: Database) -> None:
    await a_factory(db)
    repo = await set_up(
        db, explore_enabled=True, issue_solving_enabled=True, pr_watching_enabled=True
    )
    await queue(db, repo, "tidy up")
    await put_pull(db, repo, 5)
    await put_issue(db, repo, 7)
    assert await dispatched(db) == {"shop": "verify_pr"}
    assert (await get_repo(db, repo)).repo.focus == "tidy up"
    await end_jobs(db, result={"verified": True})
    assert await dispatched(db) == {"shop": "fix_issue"}
    assert (await get_pull(db, repo, 5)).status is PullStatus.VERIFIED
    await end_jobs(db)
    assert await dispatched(db) == {"shop": "spawn"}
    assert (await get_issue(db, repo, 7)).status is IssueStatus.SOLVED
    await end_jobs(db)
    assert await dispatched(db) == {"shop": "scout"}
    assert (await get_repo(db, repo)).repo.focus is None
    await end_jobs(db, result={"candidates": [{"focus": "more tests", "score": 3}]})
    assert await dispatched(db) == {"shop": "spawn"}
    found = (await list_candidates(db, repo, None, 10)).items
    assert [(each.focus, each.status) for each in found] == [
        ("tidy up", CandidateStatus.DONE),
        ("more tests", CandidateStatus.SELECTED),
    ]
    runs = (await list_runs(db, repo, None, 10)).items
    assert [each.kind for each in runs] == ["spawn", "scout", "spawn", "fix_issue"]


async def test_nothing_is_dispatched_twice_while_its_job_is_unfinished(db: Database) -> None:
    """C67: four ticks, a restart in between, one dispatch; the end of the job settles it."""
    await a_factory(db)
    repo = await set_up(db, issue_solving_enabled=True)
    await put_issue(db, repo, 12)
    assert await dispatched(db) == {"shop": "fix_issue"}
    assert await dispatched(db) == {"shop": None}
    again = await Database.open(db.url)
    assert await dispatched(again) == {"shop": None}
    assert await end_jobs(again) == 1
    assert await dispatched(again) == {"shop": None}
    await again.close()
    assert (await get_issue(db, repo, 12)).solutions_done == 1


async def test_a_failing_issue_waits_and_is_parked_and_the_healthy_one_is_served(
    db: Database,
) -> None:
    """C69: growing waits, a small maximum, then a person; the counters are stored."""
    await a_factory(db)
    repo = await set_up(db, issue_solving_enabled=True, daily_run_cap=100)
    await put_issue(db, repo, 5, score=9.0)
    sent = []
    for _ in range(3):
        assert await dispatched(db) == {"shop": "fix_issue"}
        await end_jobs(db, "dead")
        assert await dispatched(db) == {"shop": None}
        parked = await get_issue(db, repo, 5)
        sent.append(parked.failures)
        async with db.transaction() as conn:
            await conn.execute("update repo_issue set next_try_at = now()")
    assert sent == [1, 2, 3]
    assert (await get_issue(db, repo, 5)).status is IssueStatus.NEEDS_HUMAN
    await put_issue(db, repo, 6)
    assert await dispatched(db) == {"shop": "fix_issue"}
    (run,) = (await list_runs(db, repo, None, 1)).items
    assert run.issue_number == 6


async def test_ten_ticks_at_once_dispatch_once(db: Database) -> None:
    """C29: the others answer at once that another is running."""
    await a_factory(db)
    repo = await set_up(db, focus="go", daily_run_cap=50)
    reports = await asyncio.gather(*(tick(db) for _ in range(10)))
    done = [each for each in reports if each["skipped"] is None]
    assert done
    assert len((await list_runs(db, repo, None, 10)).items) == 1


async def test_a_job_that_nobody_can_take_is_not_sent_and_one_that_was_is_withdrawn(
    db: Database,
) -> None:
    await a_factory(db, "f1", ["docker"])
    repo = await set_up(db, focus="go", required_capabilities=frozenset({"docker"}))
    assert await dispatched(db) == {"shop": "spawn"}
    async with db.transaction() as conn:
        await conn.execute("update factory set capabilities = '{}'")
    report = await tick(db)
    assert report["repos"] == [
        {
            "repo_id": "shop",
            "dispatched": None,
            "job_id": None,
            "skipped": "no_factory",
            "trace": [],
        }
    ]
    (run,) = (await list_runs(db, repo, None, 10)).items
    assert run.status is RunStatus.WITHDRAWN
    async with db.connection() as conn:
        assert await conn.fetchval("select state from job") == "cancelled"


async def test_one_repos_error_stops_no_other(db: Database) -> None:
    await a_factory(db)
    for name in ("a", "b", "c"):
        await set_up(db, name, focus="go")
    async with db.transaction() as conn:
        await conn.execute("update repo set timezone = 'Not/There' where id = 'b'")
    report = await tick(db)
    assert [each["repo_id"] for each in report["repos"]] == ["a", "c"]
    (error,) = report["errors"]
    assert error["repo_id"] == "b"


async def test_a_malformed_result_fails_its_run_and_is_reported(db: Database) -> None:
    await a_factory(db)
    repo = await set_up(db, explore_enabled=True, cooldown_s=3600)
    assert await dispatched(db) == {"shop": "scout"}
    await end_jobs(db, result={"candidates": "none"})
    report = await tick(db)
    (error,) = report["errors"]
    assert "scout must bring candidates" in str(error)
    (run,) = (await list_runs(db, repo, None, 10)).items
    assert run.status is RunStatus.FAILED


async def test_a_dry_run_says_the_same_and_changes_nothing(db: Database) -> None:
    await a_factory(db)
    repo = await set_up(db, focus="go")
    said = await tick(db, dry_run=True)
    assert await last_tick(db, TickKind.REPOS) is None
    assert (await list_runs(db, repo, None, 10)).items == ()
    next_ = (await explain_repo(db, repo)).next
    done = await tick(db)
    (before,), (after,) = said["repos"], done["repos"]
    assert before == {**after, "job_id": None}
    assert next_.as_json()["trace"] == after["trace"]
    last = (await explain_repo(db, repo)).last
    assert last is not None
    assert last["dispatched"] == "spawn"


async def test_the_cap_is_of_the_repos_own_day_and_spares_the_watcher(db: Database) -> None:
    await a_factory(db)
    repo = await set_up(db, focus="go", daily_run_cap=1, pr_watching_enabled=True)
    assert await dispatched(db) == {"shop": "spawn"}
    await end_jobs(db)
    assert await dispatched(db) == {"shop": None}
    await put_pull(db, repo, 3)
    assert await dispatched(db) == {"shop": "verify_pr"}
    async with db.transaction() as conn:
        await conn.execute("update repo_run set started_at = now() - interval '49 hours'")
    assert await dispatched(db) == {"shop": "spawn"}


async def test_an_issue_scout_files_and_a_later_report_makes_no_twin(db: Database) -> None:
    await a_factory(db)
    repo = await set_up(db, issue_scout_enabled=True)
    for _ in range(2):
        assert await dispatched(db) == {"shop": "issue_scout"}
        await end_jobs(db, result={"issues": [{"number": 4, "title": "slow", "score": 2}]})
    assert await dispatched(db) == {"shop": "issue_scout"}
    assert [each.number for each in (await list_issues(db, repo, None, 10)).items] == [4]


async def test_a_disabled_repos_run_is_polled_and_deletion_cancels(db: Database) -> None:
    await a_factory(db)
    repo = await set_up(db, focus="go")
    await dispatched(db)
    version = (await get_repo(db, repo)).repo.version
    await patch_repo(db, repo, RepoPatch(enabled=False), if_match=version)
    await end_jobs(db)
    assert await dispatched(db) == {}
    (run,) = (await list_runs(db, repo, None, 10)).items
    assert run.status is RunStatus.SUCCEEDED
    version = (await get_repo(db, repo)).repo.version
    await patch_repo(db, repo, RepoPatch(enabled=True), if_match=version)
    await dispatched(db)
    await delete_repo(db, repo, by=TICK)
    async with db.connection() as conn:
        assert await conn.fetchval("select count(*) from job where state = 'cancelled'") == 1
        assert await conn.fetchval("select count(*) from repo_run") == 0
