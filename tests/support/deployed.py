"""What `deploy/` ships, read as cron, systemd and Kubernetes read it: command lines to run."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
URL_OF_KUBERNETES = "http://fleet:8420"
HEADER = "/etc/fleet/cron.header"
ASSIGNMENT = re.compile(r"^(\w+)=(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the crontab, or a CronJob."""

    minute: frozenset[int]
    hour: frozenset[int]
    command: str

    @property
    def path(self) -> str:
        return path_of(self.command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A process that calls for a tick, and what is set for it."""

    path: str
    argv: tuple[str, ...]
    environment: dict[str, str]


def path_of(command: str) -> str:
    """Tell which tick a command calls for."""
    (path,) = re.findall(r"/tick/\w+", command)
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


def cronjobs() -> list[Entry]:
    """Read the CronJobs; each is in the zone of the crontab."""
    entries = []
    for each in yaml.safe_load_all((DEPLOY / "cronjobs.yaml").read_text()):
        assert each["spec"]["timeZone"] == "Asia/Ho_Chi_Minh"
        minute, hour, *_ = each["spec"]["schedule"].split()
        (container,) = each["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["/bin/sh", "-c"]
        (command,) = container["args"]
        assert "$$" not in command, "Kubernetes makes one of two"
        entries.append(Entry(minute=field_of(minute, 60), hour=field_of(hour, 24), command=command))
    return entries


def calls_of_cron(url: str, header: Path) -> Iterable[Call]:
    """What cron starts."""
    environment, entries = crontab()
    ours = {**environment, "FLEET_URL": url, "FLEET_CRON_HEADER": str(header)}
    for each in entries:
        argv = (environment["SHELL"], "-c", each.command)
        yield Call(path=each.path, argv=argv, environment=ours)


def calls_of_kubernetes(url: str, header: Path) -> Iterable[Call]:
    """What Kubernetes starts, with the service and the secret of the test."""
    for each in cronjobs():
        command = each.command.replace(URL_OF_KUBERNETES, url).replace(HEADER, str(header))
        yield Call(path=each.path, argv=("/bin/sh", "-c", command), environment={})


def calls_of_systemd(url: str, header: Path) -> Iterable[Call]:
    """What systemd starts, by its rules of lines that go on, of quotes, `$$` and `%`."""
    unit = (DEPLOY / "systemd" / "fleet-tick@.service").read_text().replace("\\\n", " ")
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    for name in ("workflows", "repos", "leases"):
        specifiers = {"%": "%", "i": name, "d": str(header.parent)}
        argv = tuple(
            re.sub("%(.)", lambda found: specifiers[found[1]], word).replace("$$", "$")  # noqa: B023 - used at once
            for word in shlex.split(line)
        )
        yield Call(path=f"/tick/{name}", argv=argv, environment={"FLEET_URL": url})


WAYS = {
    "cron": calls_of_cron,
    "systemd": calls_of_systemd,
    "kubernetes": calls_of_kubernetes,
}
