"""What `deploy/` ships: its command lines, run for real; when they run, and for which window."""

import asyncio
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import yaml

from app.api.application import application
from app.api.document import routes_of
from tests.support.api import Fleet, body_of, fleet_on_port
from tests.support.deployed import DEPLOY, WAYS, Call, cronjobs, crontab
from tests.support.environment import child_environment

SLOT = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
"""A time when a slot of workflows and one of repos begin."""

DATE = """#!/bin/sh
case $1 in +%s) echo "$NOW" ;; *) exec /bin/date "$@" ;; esac
"""


def test_workflows_are_ticked_every_three_minutes_without_gap_or_overlap() -> None:
    environment, entries = crontab()
    assert environment["CRON_TZ"] == "Asia/Ho_Chi_Minh"
    workflows = [each for each in entries if each.path == "/tick/workflows"]
    assert [sorted(each.hour) for each in workflows] == [
        [*range(5, 15)],
        [*range(5), *range(15, 24)],
    ]
    called = [(h, m) for each in workflows for h in each.hour for m in each.minute]
    assert sorted(called) == [(h, m) for h in range(24) for m in range(0, 60, 3)]


def test_repos_never_meet_workflows_at_the_lock() -> None:
    _, entries = crontab()
    (repos,) = (each for each in entries if each.path == "/tick/repos")
    assert repos.command.startswith("sleep 90;")
    assert sorted(repos.minute) == [*range(0, 60, 10)]
    assert all((60 * minute + 90) % 180 != 0 for minute in repos.minute)


def test_the_token_is_on_no_command_line() -> None:
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.name != "README.md"]
    for path in files:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        assert "Bearer" not in "\n".join(lines), path


def test_kubernetes_has_the_same_schedules() -> None:
    _, entries = crontab()
    described = [(each.path, each.minute, each.hour) for each in cronjobs()]
    assert described == [(each.path, each.minute, each.hour) for each in entries]


def test_every_tick_has_a_timer_and_an_alert() -> None:
    timers = {path.name for path in (DEPLOY / "systemd").glob("*.timer")}
    assert timers == {f"fleet-tick-{name}.timer" for name in ("workflows", "repos", "leases")}
    (group,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    watched = " ".join(rule["expr"] for rule in group["rules"])
    assert all(f'tick="{name}"' in watched for name in ("workflows", "repos", "leases"))


async def test_the_health_check_of_the_image_asks_where_it_is_served(database_url: str) -> None:
    instruction = (DEPLOY.parent / "Dockerfile").read_text().partition("HEALTHCHECK")[2]
    (_, *arguments) = json.loads(instruction.partition("CMD ")[2].splitlines()[0])

    async def healthy(port: str) -> bool:
        environment = child_environment(FLEET_PORT=port, http_proxy="http://127.0.0.1:9")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments), env=environment, stderr=asyncio.subprocess.DEVNULL
        )
        return await process.wait() == 0

    async with fleet_on_port(database_url) as fleet:
        port = str(httpx.URL(fleet.url).port)
        assert await healthy(port)
    assert not await healthy(port)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder to look for programs in first, where `sleep` is over at once."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sleep").symlink_to("/bin/true")
    return tmp_path / "bin"


async def run(call: Call, programs: Path, **environment: str) -> None:
    """Run what calls for a tick; it must succeed without a word."""
    ours = child_environment(**call.environment, **environment)
    ours["PATH"] = f"{programs}:{ours['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *call.argv, env=ours, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, complaint = await process.communicate()
    assert (process.returncode, complaint) == (0, b""), call


def calls(way: str, fleet: Fleet, folder: Path) -> list[Call]:
    """What one of the three ways starts, with a token of cron."""
    header = folder / "cron.header"
    header.write_text(f"Authorization: Bearer {fleet.tokens['cron']}\n")
    return [*WAYS[way](fleet.url, header)]


async def windows(fleet: Fleet) -> list[tuple[str, str]]:
    """The windows that were served, by kind, the first first."""
    stored = body_of(await fleet.ops.get("/ticks"))["items"]
    return [(each["kind"], each["window"]) for each in reversed(stored)]


@pytest.mark.parametrize("way", WAYS)
async def test_the_command_lines_tick(
    database_url: str, tmp_path: Path, programs: Path, way: str
) -> None:
    served = {each.path for each in routes_of(application())}
    async with fleet_on_port(database_url) as fleet:
        ran = calls(way, fleet, tmp_path)
        assert {each.path for each in ran} == {"/tick/workflows", "/tick/repos", "/tick/leases"}
        assert {each.path for each in ran} <= served
        for each in ran:
            await run(each, programs)
        found = await windows(fleet)
    assert {kind for kind, _ in found} == {"workflows", "repos"}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", window) for _, window in found)


async def test_machines_that_call_for_one_slot_tick_once(
    database_url: str, tmp_path: Path, programs: Path
) -> None:
    """In whichever way they call, and however late; one after the other, so that no lock helps."""
    (programs / "date").write_text(DATE)
    (programs / "date").chmod(0o755)
    begun = int(SLOT.timestamp())
    async with fleet_on_port(database_url) as fleet:
        for late_s, way in ((0, "cron"), (179, "systemd"), (61, "kubernetes")):
            for each in calls(way, fleet, tmp_path):
                await run(each, programs, NOW=str(begun + late_s))
        one_slot = [("workflows", "2026-03-01T09:30"), ("repos", "2026-03-01T09:30")]
        assert sorted(await windows(fleet)) == sorted(one_slot)
        for late_s, way in ((180, "cron"), (359, "systemd"), (599, "kubernetes"), (600, "cron")):
            for each in calls(way, fleet, tmp_path):
                await run(each, programs, NOW=str(begun + late_s))
        found = await windows(fleet)
    assert [window[-5:] for kind, window in found if kind == "workflows"] == [
        *("09:30", "09:33", "09:39")
    ]
    assert [window[-5:] for kind, window in found if kind == "repos"] == ["09:30", "09:40"]
