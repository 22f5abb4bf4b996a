"""What `deploy/` ships: the crontab's own command lines, run for real; and when they run."""

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml

from app.api.application import application
from app.api.document import routes_of
from tests.support.api import body_of, fleet_on_port
from tests.support.environment import child_environment

DEPLOY = Path(__file__).parents[2] / "deploy"
ASSIGNMENT = re.compile(r"^(\w+)=(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the crontab."""

    minute: frozenset[int]
    hour: frozenset[int]
    command: str

    @property
    def path(self) -> str:
        (path,) = re.findall(r"/tick/\w+", self.command)
        return str(path)


def field_of(text: str, size: int) -> frozenset[int]:
    """Read a field of a crontab as the numbers that it stands for."""
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        everything = span == "*"
        numbers = range(size) if everything else range(int(first), int(last or first) + 1)
        found.update(numbers[:: int(step or 1)])
    return frozenset(found)


def crontab() -> tuple[dict[str, str], list[Entry]]:
    """Read what the crontab sets, and its entries as cron would run them."""
    environment, entries = {}, []
    for line in (DEPLOY / "crontab").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if assigned := ASSIGNMENT.match(line):
            environment[assigned[1]] = assigned[2]
            continue
        minute, hour, *any_day, command = line.split(" ", 5)
        assert any_day == ["*", "*", "*"]
        assert not re.search(r"(?<!\\)%", command), "cron ends a command at a bare %"
        entries.append(
            Entry(
                minute=field_of(minute, 60),
                hour=field_of(hour, 24),
                command=command.replace("\\%", "%"),
            )
        )
    return environment, entries


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
    jobs = [*yaml.safe_load_all((DEPLOY / "cronjobs.yaml").read_text())]
    assert {each["spec"]["timeZone"] for each in jobs} == {"Asia/Ho_Chi_Minh"}
    described = []
    for each in jobs:
        minute, hour, *_ = each["spec"]["schedule"].split()
        container = each["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
        (path,) = re.findall(r"/tick/\w+", container["args"][0])
        described.append((path, field_of(minute, 60), field_of(hour, 24)))
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
def no_waiting(tmp_path: Path) -> str:
    """A folder to look for programs in first, where `sleep` is over at once."""
    (tmp_path / "sleep").symlink_to("/bin/true")
    return str(tmp_path)


async def test_the_command_lines_of_the_crontab_tick(
    database_url: str, tmp_path: Path, no_waiting: str
) -> None:
    environment, entries = crontab()
    served = {each.path for each in routes_of(application())}
    async with fleet_on_port(database_url) as fleet:
        header = tmp_path / "cron.header"
        header.write_text(f"Authorization: Bearer {fleet.tokens['cron']}\n")
        ours = child_environment(
            **{**environment, "FLEET_URL": fleet.url, "FLEET_CRON_HEADER": str(header)}
        )
        ours["PATH"] = f"{no_waiting}:{ours['PATH']}"
        ran = [each for each in entries if each.path in served]
        for each in ran:
            process = await asyncio.create_subprocess_shell(
                each.command, env=ours, stderr=asyncio.subprocess.PIPE
            )
            _, complaint = await process.communicate()
            assert (process.returncode, complaint) == (0, b""), each.command
        stored = body_of(await fleet.ops.get("/ticks", params={"kind": "workflows"}))["items"]
    assert {each.path for each in ran} >= {"/tick/workflows", "/tick/leases"}
    # Both entries call for the same minute here (or for two, at its turn), and a window once.
    assert len(stored) == len({each["window"] for each in stored})
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", each["window"]) for each in stored)
