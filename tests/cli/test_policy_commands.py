"""``fleet policy test``: the shipped scenarios hold, and what does not is said."""

from pathlib import Path

import pytest

from app.cli.policy import EXAMPLES
from tests.support.command import fleet

WRONG = """\
scenarios:
  - name: everything is expected wrongly
    factories:
      f1: {}
      f2: {paused: true, quarantined: true, cooling_down: true}
    jobs:
      young: {}
      old: {age: 1h}
    expect:
      picks: {f1: young, f2: old}
      rankings: {f1: [young, old]}
      together: {f1: []}
      refused:
        - {job: old, factory: f2, reasons: [paused]}
"""


async def test_the_shipped_scenarios_hold() -> None:
    done = await fleet("policy", "test")
    assert done.code == 0, done.out
    assert "FAIL" not in done.out
    assert len(list(EXAMPLES.glob("*.yaml"))) == 3
    plain = await fleet("policy", "test", EXAMPLES / "who.yaml", "--json")
    assert plain.json["failed"] == 0
    assert {each["ok"] for each in plain.json["scenarios"]} == {True}


async def test_what_does_not_hold_is_said(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(WRONG)
    done = await fleet("policy", "test", file)
    assert done.code == 1
    assert "FAIL policy.yaml: everything is expected wrongly" in done.out
    for line in (
        "pick of f1: expected young, found old",
        "pick of f2: expected old, found nothing",
        "ranking of f1: expected young, old, found old, young",
        "jobs of f1, all asking at once: expected none, found old",
        "expected paused, found account_cooldown, paused, quarantined",
    ):
        assert line in done.out
    plain = await fleet("policy", "test", file, "--json")
    assert (plain.code, plain.json["failed"]) == (1, 1)
    assert len(plain.json["scenarios"][0]["findings"]) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("scenarios: []", "scenarios"),
        ("scenarios: [", "while parsing"),
        (WRONG.replace("f1: young", "f9: young"), "there is no f9"),
        (WRONG.replace("age: 1h", "age: soon"), "is not a duration"),
        (WRONG.replace("paused: true", "asleep: true"), "asleep"),
    ],
)
async def test_a_file_that_makes_no_sense_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    done = await fleet("policy", "test", file)
    assert done.code == 1
    assert done.err.startswith(f"error: {file}: ")
    assert said in done.err


async def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = await fleet("policy", "test", tmp_path / "none.yaml")
    assert (done.code, done.err[:7]) == (1, "error: ")
