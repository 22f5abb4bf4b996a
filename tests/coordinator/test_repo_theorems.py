"""What holds of random repos over random cycles on PostgreSQL, whatever people do in between."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.coordinator.repo_items import IssuePatch, add_candidate, bring_issue, bring_pull
from app.coordinator.repo_settings import RepoPatch, get_repo, patch_repo
from app.repo import RepoId
from app.store.session import Database
from tests.core.chain_world import RepoFields
from tests.support.postgres import Databases
from tests.support.repos import a_factory, end_jobs, set_up, tick

BARRED = {"scout", "fix_issue", "issue_scout"}
RESULTS: dict[str, Any] = {
    "verified": True,
    "candidates": [{"focus": "found", "score": 1}],
    "issues": [{"title": "found", "score": 1}],
}

flags = st.booleans()
repos = st.builds(
    RepoFields,
    objective=st.sampled_from([None, "", "bump"]),
    focus=st.sampled_from([None, "tests"]),
    explore_enabled=flags,
    pr_watching_enabled=flags,
    issue_solving_enabled=flags,
    issue_scout_enabled=flags,
    daily_run_cap=st.integers(0, 3),
    cooldown_s=st.sampled_from([0, 600]),
)
steps = st.lists(
    st.sampled_from(
        ["tick", "tick", "tick", "twice", "succeed", "die", "wait", "issue", "pull", "idea", "mind"]
    ),
    max_size=14,
)


@dataclass(slots=True, kw_only=True)
class Play:
    """Repos on a database, and what is checked of them after every step."""

    db: Database
    names: list[RepoId]
    number: int = 0
    dispatches: list[str] = field(default_factory=list)

    async def step(self, name: str) -> None:
        self.number += 1
        match name:
            case "tick":
                await self.tick()
            case "twice":
                await asyncio.gather(self.tick(), self.tick())
            case "succeed" | "die":
                await end_jobs(self.db, "succeeded" if name == "succeed" else "dead", RESULTS)
            case "wait":
                await self._let_pass(timedelta(minutes=11))
            case _:
                for repo in self.names:
                    await self._feed(name, repo)

    async def tick(self) -> None:
        before = {repo: await self._facts(repo) for repo in self.names}
        report = await tick(self.db)
        if report["skipped"] is not None:
            return
        for cycle in report["repos"]:
            if cycle["dispatched"] is not None:
                self._check(cycle, before[cycle["repo_id"]])
                self.dispatches.append(cycle["job_id"])

    def _check(self, cycle: dict[str, Any], before: dict[str, Any]) -> None:
        outcomes = [line["outcome"] for line in cycle["trace"]]
        assert outcomes.count("dispatched") == 1
        assert not before["working"], "never while a run is active"
        assert not before["cooling"], "never inside the cooldown"
        if cycle["dispatched"] != "verify_pr":
            assert before["today"] < before["cap"], "never above the cap"
        if before["objective"]:
            assert cycle["dispatched"] not in BARRED

    async def _facts(self, repo: RepoId) -> dict[str, Any]:
        async with self.db.connection() as conn:
            row = await conn.fetchrow(
                "select coalesce(trim(objective), '') <> '' as objective, daily_run_cap as cap,"
                " coalesce(last_run_at + make_interval(secs => cooldown_s)"
                "   > now() + interval '5 s', false) as cooling,"
                " exists (select from repo_run r join job j on j.id = r.job_id"
                "   where r.repo_id = repo.id and j.finished_at is null) as working,"
                " (select count(*) from repo_run r where r.repo_id = repo.id"
                "   and r.status <> 'withdrawn'"
                "   and r.started_at >= date_trunc('day', now() at time zone 'UTC')"
                "     at time zone 'UTC') as today"
                " from repo where id = $1",
                repo,
            )
        assert row is not None
        return dict(row)

    async def nothing_twice(self) -> None:
        """Of one thing at most one job is unfinished; no job was dispatched twice."""
        assert len(self.dispatches) == len(set(self.dispatches))
        async with self.db.connection() as conn:
            most = await conn.fetchval(
                "select coalesce(max(n), 0) from (select count(*) as n from job"
                " where finished_at is null and kind <> 'verify_pr' group by repo) counted"
            )
            same = await conn.fetchval(
                "select coalesce(max(n), 0) from (select count(*) as n from job where finished_at"
                " is null and kind = 'verify_pr' group by repo, payload -> 'pull') counted"
            )
            selected = await conn.fetchval(
                "select coalesce(max(n), 0) from (select count(*) as n from repo_candidate"
                " where status = 'selected' group by repo_id) counted"
            )
        assert max(most, same, selected) <= 1

    async def _feed(self, name: str, repo: RepoId) -> None:
        async with self.db.transaction() as conn:
            if name == "issue":
                patch = IssuePatch(title="bug", score=1.0, solutions_wanted=2)
                await bring_issue(conn, repo, 1 + self.number % 3, patch)
            elif name == "pull":
                await bring_pull(conn, repo, 1 + self.number % 2, f"sha{self.number}")
            elif name == "idea":
                await add_candidate(conn, repo, f"idea {self.number}", 1.0)
        if name == "mind":
            version = (await get_repo(self.db, repo)).repo.version
            await patch_repo(self.db, repo, RepoPatch(focus="mine"), if_match=version)

    async def _let_pass(self, length: timedelta) -> None:
        async with self.db.transaction() as conn:
            await conn.execute("update repo set last_run_at = last_run_at - $1::interval", length)
            await conn.execute(
                "update repo_issue set next_try_at = next_try_at - $1::interval", length
            )


async def play(url: str, wanted: list[RepoFields], todo: list[str]) -> None:
    db = await Database.open(url)
    try:
        await a_factory(db)
        names = [await set_up(db, f"r{place}", **each) for place, each in enumerate(wanted)]
        game = Play(db=db, names=names)
        for each in todo:
            await game.step(each)
            await game.nothing_twice()
    finally:
        await db.close()


@settings(max_examples=12)
@given(wanted=st.lists(repos, min_size=1, max_size=2), todo=steps)
def test_random_repos_over_random_cycles(
    databases: Databases, wanted: list[RepoFields], todo: list[str]
) -> None:
    with databases.fresh() as url:
        asyncio.run(play(url, wanted, todo))
