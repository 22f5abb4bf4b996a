"""The real run: a repo with explore and issue solving on, fed by API, over ten ticks.

A factory does the jobs with the agent that `deploy/` ships, in a clone of a real repository.
"""

from contextlib import AsyncExitStack
from pathlib import Path

from tests.support.command import Done, fleet
from tests.support.coordinator import coordinator_on
from tests.support.real_run import AGENTS, git, until, working

SHOP = """
# TODO: name the currency
# TODO: add a cart
def total(prices):
    return sum(prices)
"""
TEST = """
import unittest

import shop


class Totals(unittest.TestCase):
    def test_a_total(self):
        self.assertEqual(shop.total([1, 2]), 3)
"""


def repository(folder: Path) -> tuple[Path, Path]:
    """Make a remote, a folder of clones with one of it, and a clone of a person's own."""
    remote, ann, clones = folder / "origin.git", folder / "ann", folder / "clones"
    clones.mkdir()
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    git(folder, "clone", "--quiet", str(remote), str(ann))
    (ann / "shop.py").write_text(SHOP)
    (ann / "test_shop.py").write_text(TEST)
    git(ann, "switch", "--quiet", "--create", "main")
    git(ann, "add", "--all")
    git(ann, "commit", "--quiet", "--message", "a shop with notes of things to do")
    git(ann, "push", "--quiet", "origin", "main")
    git(clones, "clone", "--quiet", str(remote), "shop")
    return clones, ann


async def test_ten_ticks_of_a_repo_with_a_working_factory(
    database_url: str, tmp_path: Path
) -> None:
    clones, ann = repository(tmp_path)
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    done: list[str | None] = []

    async def call(*words: object) -> Done:
        came = await fleet(*words, "--data-dir", data_dir)
        assert came.code == 0, came.err
        return came

    async with AsyncExitStack() as stack:
        coordinator = await stack.enter_async_context(coordinator_on(database_url))
        coordinator.write_file(data_dir)
        agent = f"{AGENTS / 'repo-agent.sh'} {clones}"
        factory = await stack.enter_async_context(working(data_dir, agent))
        await until(factory, "waiting")

        async def tick() -> None:
            """Do a tick, and let the factory do what came of it."""
            report = (await call("tick", "repos", "--json")).json
            assert report["errors"] == []
            (cycle,) = report["repos"]
            done.append(cycle["dispatched"])
            if cycle["job_id"] is not None:
                await until(factory, "succeeded")

        await call("repo", "set", "shop", "--explore", "--level", "max", "--solve-issues")
        await call("repo", "set", "shop", "--watch-pulls", "--cap", 20)
        await call("repo", "issue", "shop", 7, "Totals are wrong", "--score", 80)
        await call("repo", "issue", "shop", 9, "Slow", "--score", 5, "--solutions", 2)
        for _ in range(3):
            await tick()
        fixed = git(ann, "ls-remote", "origin", "refs/heads/issue-7-*").split()
        await call("repo", "pull", "shop", 1, fixed[0])
        for _ in range(6):
            await tick()
        explained = await call("repo", "explain", "shop")
        await call("repo", "set", "shop", "--objective", "Bump the dependencies")
        await tick()
        await call("tick", "repos", "--json")
        issues = (await call("repo", "issues", "shop", "--json")).json["items"]
        pulls = (await call("repo", "pulls", "shop", "--json")).json["items"]
        candidates = (await call("repo", "candidates", "shop", "--json")).json["items"]
        runs = (await call("repo", "runs", "shop", "--json")).json["items"]

    assert done == [
        *("scout", "fix_issue", "fix_issue", "verify_pr", "fix_issue"),
        *("spawn", "spawn", "scout", "scout", "spawn"),
    ]
    assert "no candidate is queued" in explained.out
    assert [(each["status"], each["solutions_done"]) for each in issues] == [
        ("solved", 1),
        ("solved", 2),
    ]
    assert [each["status"] for each in pulls] == ["verified"]
    assert {each["focus"]: each["status"] for each in candidates} == {
        "add a cart": "done",
        "name the currency": "done",
    }
    # The eleventh tick's run has begun; a verify job is no run.
    assert [each["status"] for each in runs][1:] == ["succeeded"] * 9
    git(ann, "fetch", "--quiet", "origin")
    log = git(ann, "log", "--format=%s", "origin/main").splitlines()
    assert log[-4:] == [
        "Bump the dependencies",
        "name the currency",
        "add a cart",
        "a shop with notes of things to do",
    ]
    assert "TODO" not in git(ann, "show", "origin/main:shop.py")
    assert len(git(ann, "branch", "--remotes", "--list", "origin/issue-9-*").split()) == 2
