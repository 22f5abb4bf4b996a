"""``fleet repo``: set up, fed, put elsewhere, explained."""

from pathlib import Path
from typing import Any

from app.wire.factories import FactoryPut
from tests.support.command import Done, fleet
from tests.support.coordinator import Coordinator


async def test_repos_from_the_command_line(coordinator: Coordinator, data_dir: Path) -> None:
    ops = await coordinator.client()
    await ops.factories.put("f1", FactoryPut())

    async def call(*words: object, code: int = 0) -> Done:
        done = await fleet(*words, "--data-dir", data_dir)
        assert done.code == code, done.err
        return done

    async def made(*words: object) -> dict[str, Any]:
        found: dict[str, Any] = (await call(*words, "--json")).json
        return found

    assert "working" in (await call("repo", "set", "shop", "--focus", "tests")).out
    changed = await made(
        *("repo", "set", "shop", "--explore", "--cooldown", "10m", "--github", "acme/shop")
    )
    assert (changed["focus"], changed["cooldown_s"], changed["version"]) == ("tests", 600, 2)
    assert (await made("repo", "set", "shop", "--focus", "", "--cooldown", "0"))["focus"] is None
    assert "--cooldown" in (await call("repo", "set", "shop", "--cooldown", "soon", code=1)).err
    assert "timezone" in (await call("repo", "set", "shop", "--timezone", "Moon", code=1)).err
    await call("repo", "pause", "shop", "--reason", "freeze", "--for", "2h")
    assert "paused: freeze (by " in (await call("repo", "list")).out
    assert "next cycle: paused" in (await call("repo", "explain", "shop")).out
    assert (await made("repo", "resume", "shop"))["paused"] is None

    idea = await made("repo", "candidate", "shop", "tidy up", "--score", "2.5")
    assert "is queued" in (await call("repo", "candidate", "shop", "sleep")).out
    assert "tidy up" in (await call("repo", "candidates", "shop")).out
    dry = await call("tick", "repos", "--dry-run")
    assert "would dispatch spawn" in dry.out
    assert "no cycle yet" in (await call("repo", "explain", "shop")).out
    await call("tick", "repos")
    explained = await call("repo", "explain", "shop")
    assert "next cycle: run_active" in explained.out
    assert "dispatched" in explained.out
    assert "spawn" in (await call("repo", "runs", "shop")).out
    assert "is rejected" in (await call(*_move("candidate", idea["id"], "rejected"))).out

    await call("repo", "issue", "shop", "7", "slow", "--score", "3", "--solutions", "2")
    await call("repo", "pull", "shop", "3", "abc")
    assert "0/2" in (await call("repo", "issues", "shop")).out
    assert (await made(*_move("issue", "#7", "needs_human")))["status"] == "needs_human"
    assert (await made(*_move("pull", "3", "failed")))["status"] == "failed"
    assert "failed" in (await call("repo", "pulls", "shop")).out
    assert "number" in (await call(*_move("pull", "x", "failed"), code=1)).err
    assert "its id" in (await call(*_move("candidate", "7", "done"), code=1)).err
    for noun, key in (("issue", "7"), ("pull", "#3"), ("candidate", idea["id"])):
        assert "is forgotten" in (await call("repo", "forget", "shop", noun, key)).out
    assert "is deleted" in (await call("repo", "delete", "shop")).out
    assert "no repo shop" in (await call("repo", "show", "shop", code=1)).err


def _move(noun: str, key: str, status: str) -> tuple[str, ...]:
    return ("repo", "move", "shop", noun, key, status)
