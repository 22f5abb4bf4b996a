"""Job files: the header of seed documents, durations, and what is refused."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.durations import ago, duration_s, short
from app.cli.jobfile import JobFileError, parse_job_file

FRONT_MATTER = """\
---
engine: devin
cwd: /Users/me/code/common_plat
yolo: true
lock: common-plat-scheduler
timeout: 4h
---

ROLE: Senior backend engineer.

---
A rule inside the text is not a header.
"""

TABLE = (
    "agent-queue/docs/jobs/phase2-scheduler.md\n\n"
    "engine\tcwd\tyolo\tlock\ttimeout\n"
    "devin\t/Users/me/code/common_plat\ttrue\tcommon-plat-scheduler\t4h\n\n"
    "ROLE: Senior backend engineer.\n"
)


def test_front_matter_becomes_a_job() -> None:
    assert parse_job_file(FRONT_MATTER) == {
        "kind": "agent",
        "prefers_engine": "devin",
        "lock": "common-plat-scheduler",
        "timeout_s": 14_400,
        "required_capabilities": ["yolo"],
        "payload": {
            "cwd": "/Users/me/code/common_plat",
            "yolo": True,
            "prompt": "ROLE: Senior backend engineer.\n\n---\n"
            "A rule inside the text is not a header.",
        },
    }


def test_the_header_may_be_the_table_that_a_web_page_shows() -> None:
    job = parse_job_file(TABLE)
    assert job["payload"] == {
        "cwd": "/Users/me/code/common_plat",
        "yolo": True,
        "prompt": "ROLE: Senior backend engineer.",
        "title": "agent-queue/docs/jobs/phase2-scheduler.md",
    }
    assert job["timeout_s"] == 14_400
    assert job["prefers_engine"] == "devin"
    assert job["lock"] == "common-plat-scheduler"


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    assert parse_job_file("\ufeff" + FRONT_MATTER.replace("\n", "\r\n")) == parse_job_file(
        FRONT_MATTER
    )


@given(name=st.from_regex(r"[0-9][0-9a-fx_.]{0,8}|[0-9]{1,2}:[0-9]{2}", fullmatch=True))
def test_a_name_that_looks_like_a_number_stays_as_it_is_written(name: str) -> None:
    text = f"---\nlock: {name}\ndedupe_key: {name}\nlabels:\n  build: {name}\n---\ndo it\n"
    job = parse_job_file(text)
    assert (job["lock"], job["dedupe_key"], job["labels"]) == (name, name, {"build": name})


def test_numbers_of_a_payload_are_numbers() -> None:
    job = parse_job_file("---\npayload:\n  a: 16\n  b: 1.5\n---\ndo it\n")
    assert job["payload"] == {"a": 16, "b": 1.5, "prompt": "do it"}


def test_a_file_without_header_is_a_prompt() -> None:
    assert parse_job_file("Tidy the docs.\n") == {
        "kind": "agent",
        "payload": {"prompt": "Tidy the docs."},
    }


def test_every_field_of_a_job_can_be_said() -> None:
    job = parse_job_file(
        "---\nkind: implement\nrepo: shop\npriority: high\ncost: medium\n"
        "capabilities: docker, gpu\ndepends_on: [a, b]\nif_parent_fails: run\n"
        "run_after: 2030-01-02T03:04:05Z\nmax_attempts: 5\ndedupe_key: 12\n"
        "labels: {team: core, sprint: 7}\npayload: {depth: 3, since: 2030-01-02, tags: [a]}\n"
        "yolo: false\n---\nGo.\n"
    )
    assert job == {
        "kind": "implement",
        "repo": "shop",
        "priority": "high",
        "cost_class": "medium",
        "required_capabilities": ["docker", "gpu"],
        "depends_on": ["a", "b"],
        "if_parent_fails": "run",
        "run_after": "2030-01-02T03:04:05+00:00",
        "max_attempts": 5,
        "dedupe_key": "12",
        "labels": {"team": "core", "sprint": "7"},
        "payload": {
            "depth": 3,
            "since": "2030-01-02",
            "tags": ["a"],
            "yolo": False,
            "prompt": "Go.",
        },
    }


def test_yolo_is_added_to_the_capabilities_once() -> None:
    job = parse_job_file("---\nyolo: yes\ncapabilities: [yolo, gpu]\n---\nGo.\n")
    assert job["required_capabilities"] == ["yolo", "gpu"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nlocks: a\ntimout: 4h\n---\nGo.\n", "unknown in the header: locks, timout"),
        ("---\nengine: a\nprefers_engine: b\n---\nGo.\n", "prefers_engine twice"),
        ("---\ntimeout: soon\n---\nGo.\n", "timeout: 'soon' is not a duration"),
        ("---\nyolo: perhaps\n---\nGo.\n", "yolo: must be true or false"),
        ("---\nmax_attempts: some\n---\nGo.\n", "max_attempts: must be a whole number"),
        ("---\nlabels: core\n---\nGo.\n", "labels: must be a list of"),
        ("---\nlock: [a]\n---\nGo.\n", "lock: must be a text"),
        ("---\nlock: [a\n---\nGo.\n", "the header is not YAML"),
        ("---\nlock: a\n\nGo.\n", "the header does not end"),
        ("---\n- lock\n---\nGo.\n", "not a list of `name: value` lines"),
        ("---\nlock: a\n---\n\n", "the prompt is missing"),
        ("engine\tlock\ndevin\n\nGo.\n", "2 names and 1 values"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(JobFileError) as caught:
        parse_job_file(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("4h", 14_400),
        ("1h30m", 5_400),
        ("90", 90),
        ("90s", 90),
        ("1.5h", 5_400),
        ("2D 3h", 183_600),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "4 hours", "-4h", "30m1h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        duration_s(text)


def test_lengths_are_written_in_their_two_largest_units() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert short(timedelta(days=3, hours=4, minutes=5)) == "3d 4h"
    assert short(timedelta(0)) == "0s"
    assert ago(now - timedelta(seconds=65), now) == "1m 5s ago"
    assert ago(now + timedelta(hours=2), now) == "in 2h"
    assert ago(None, now) == "-"
