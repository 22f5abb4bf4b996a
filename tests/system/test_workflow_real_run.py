"""The real run: a workflow from implementing to closed, by a factory, on a real repository.

The agent is the one that `deploy/` ships and README shows; the remote is a bare repository beside.
"""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.support.command import Done, fleet
from tests.support.coordinator import coordinator_on
from tests.support.real_run import git, until, working

AGENT = Path(__file__).parents[2] / "deploy" / "examples" / "agent.sh"
TEST_OF_THE_REPOSITORY = """
import pathlib
import unittest


class Features(unittest.TestCase):
    def test_each_says_something(self):
        for feature in pathlib.Path("features").glob("*.md"):
            self.assertNotIn("TODO", feature.read_text())
"""


def repository(folder: Path) -> tuple[Path, Path]:
    """Make a bare remote and two clones of it: the factory's, and that of the person who merges."""
    remote, seed, clone = folder / "origin.git", folder / "seed", folder / "shop"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    git(folder, "clone", "--quiet", str(remote), str(seed))
    (seed / "test_features.py").write_text(TEST_OF_THE_REPOSITORY)
    git(seed, "switch", "--quiet", "--create", "main")
    git(seed, "add", "--all")
    git(seed, "commit", "--quiet", "--message", "a repository with tests")
    git(seed, "push", "--quiet", "origin", "main")
    git(folder, "clone", "--quiet", str(remote), str(clone))
    return clone, seed


async def test_a_development_workflow_on_a_real_repository(
    database_url: str, tmp_path: Path
) -> None:
    clone, ann = repository(tmp_path)
    data_dir = tmp_path / "data"
    data_dir.mkdir()

    async def call(*words: object) -> Done:
        done = await fleet(*words, "--data-dir", data_dir)
        assert done.code == 0, done.err
        return done

    async with AsyncExitStack() as stack:
        coordinator = await stack.enter_async_context(coordinator_on(database_url))
        coordinator.write_file(data_dir)
        factory = await stack.enter_async_context(working(data_dir, str(AGENT)))
        await until(factory, "waiting")
        await call("project", "create", "shop", "--directory", clone)
        flags = ("--prompt", "Add a cart.", "--tracks-after-merge", "--uat", "--json")
        made = await call("workflow", "create", "Cart", "--project", "shop", *flags)
        flow = made.json["id"]

        async def now(status: str, *orders: object) -> dict[str, Any]:
            """Order something if it is due, tick, and see where the workflow is."""
            if orders:
                await call("workflow", *orders)
            await call("tick", "workflows")
            shown: dict[str, Any] = (await call("workflow", "show", flow, "--json")).json
            assert shown["status"] == status, shown
            return shown

        assert (await now("implementing"))["processing"]
        await until(factory, "succeeded")
        branch = (await now("reviewing"))["pr_url"]
        assert git(ann, "ls-remote", "origin", branch)
        assert (await now("local_testing", "review", flow, "approved"))["processing"]
        await until(factory, "succeeded")
        await now("done")
        git(ann, "fetch", "--quiet", "origin")
        git(ann, "merge", "--quiet", f"origin/{branch}")
        git(ann, "push", "--quiet", "origin", "main")
        assert (await now("merged", "merged", flow))["processing"]
        await until(factory, "succeeded")
        assert (await now("uat_testing"))["processing"]
        await until(factory, "succeeded")
        closed = await now("closed")
        explained = await call("explain", "workflows")

    assert (closed["stage_attempt"], closed["finished_at"] is not None) == (4, True)
    assert "no workflow is unfinished" in explained.out
    assert git(clone, "log", "-1", "--format=%s", "main") == "Add a cart."
    assert (clone / "features" / f"{branch}.md").read_text() == "Add a cart.\n"
