"""The demo: two factories, clones of a real repository, a graph of real jobs."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.fleet import JobState
from app.wire.jobs import JobReply
from tests.support.command import fleet_process
from tests.support.started import Started, alive, data_dir_of_a_test, fleet_up

DONE = "demo: 6 of 6 jobs succeeded"


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with data_dir_of_a_test() as folder:
        yield folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A small repository with something to find."""
    folder = tmp_path / "shop"
    (folder / "tests").mkdir(parents=True)
    (folder / "shop.py").write_text("# TODO: sell things\ndef sell():\n    return 1\n")
    (folder / "tests" / "test_shop.py").write_text("def test_sell():\n    assert True\n")
    (folder / "logo.png").write_bytes(b"\x89PNG\0\0")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    author = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
    git(folder, *author, "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "first")
    return folder


def git(folder: Path, *words: str) -> None:
    program = shutil.which("git")
    assert program is not None
    subprocess.run([program, "-C", str(folder), *words], check=True)


async def results(up: Started) -> dict[str, JobReply]:
    async with up.client() as ops:
        return {job.kind: job async for job in ops.jobs.each()}


async def test_who_gets_what_and_why(data_dir: Path, repo: Path) -> None:
    async with fleet_up(data_dir, "--demo", cwd=repo / "tests") as up:
        await up.until(DONE)
        jobs = await results(up)
        said = "\n".join(up.lines)
        family = up.family()
        await _still_serves(up)
        assert await up.stop() == 0
    assert not alive(family)
    assert f"works on {repo} (the repository around the current folder)" in said
    assert f" jobs --data-dir {data_dir}" in next(each for each in up.lines if DONE in each)
    assert {job.state for job in jobs.values()} == {JobState.SUCCEEDED}
    holders = {kind: job.factory_id for kind, job in jobs.items()}
    assert holders["demo.read_history"] == holders["demo.long_functions"] == "demo-large"
    assert "demo-small could not: the factory lacks git-history" in said
    assert "demo-large got demo.long_functions: score " in said
    found = {kind: job.result for kind, job in jobs.items()}
    assert found["demo.count_lines"] == {"files": 2, "lines": 5, "by_language": {"Python": 5}}
    assert found["demo.find_todos"] == {"count": 1, "first": ["shop.py:1: TODO sell things"]}
    assert found["demo.collect_tests"] == {
        "tests": 1, "files": 1, "largest": {"tests/test_shop.py": 1}
    }  # fmt: skip
    summary = "5 lines in 2 files, most of them Python; 1 tests, 1 notes of things to do"
    assert summary in str(found["demo.summarise"])
    assert summary in said


async def _still_serves(up: Started) -> None:
    """The factories stay: a job that comes now is taken as well."""
    async with up.client() as ops:
        factories = [factory async for factory in ops.factories.each()]
        assert [factory.id for factory in factories] == ["demo-large", "demo-small"]
        assert not any(factory.seats_used for factory in factories)


async def test_it_runs_again_on_the_same_folder_and_can_end_by_itself(
    data_dir: Path, repo: Path
) -> None:
    for _ in range(2):
        done = await fleet_process(
            *("up", "--data-dir", data_dir, "--port", 0, "--demo", "--exit-when-done"),
            *("--repo", repo),
            measured=False,
        )
        assert done.code == 0, done.err
        assert DONE in done.out
        assert f"works on {repo} (as asked)" in done.out


async def test_outside_of_a_repository_it_works_on_its_own_source(
    data_dir: Path, tmp_path: Path
) -> None:
    words = ("up", "--data-dir", data_dir, "--port", 0, "--demo", "--exit-when-done")
    done = await fleet_process(*words, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "(the source of this program, since" in done.out
    assert DONE in done.out


async def test_a_repository_that_is_none_is_said_so(data_dir: Path, tmp_path: Path) -> None:
    words = ("up", "--data-dir", data_dir, "--port", 0, "--demo", "--exit-when-done")
    done = await fleet_process(*words, "--repo", tmp_path)
    assert done.code == 1
    assert f"error: --repo: {tmp_path} is not a git repository with a commit" in done.err


async def test_a_kill_leaves_no_factory_behind(data_dir: Path, repo: Path) -> None:
    async with fleet_up(data_dir, "--demo", "--repo", repo, measured=False) as up:
        await up.until("demo-large is here")
        factories = [each for each in up.family() if "factory" in _words(each)]
        assert len(factories) == 2
        up.process.kill()
        await up.ended()
        _, left = await asyncio.to_thread(psutil.wait_procs, factories, timeout=60)
        assert not left


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
