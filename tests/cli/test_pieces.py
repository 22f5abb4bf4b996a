"""Small parts of the command line: results of commands, what the demo's jobs find, score lines."""

import shutil
import subprocess
from pathlib import Path

import pytest

from app.cli.demo import tasks
from app.cli.factory_report import score_line
from app.cli.factory_run import result_of
from app.fleet import Json
from app.wire.claims import ScoreReply


@pytest.mark.parametrize(
    ("stdout", "result"),
    [
        ('thinking\n{"pr_url": "x"}\n\n', {"pr_url": "x"}),
        ("[1, 2]", [1, 2]),
        ("", {}),
        ("done\n", {"stdout_tail": "done\n"}),
        ('{"a": NaN}\n', {"stdout_tail": '{"a": NaN}\n'}),
    ],
)
def test_the_last_line_is_the_result_if_it_is_json(stdout: str, result: Json) -> None:
    assert result_of(stdout) == result


def test_a_score_is_written_as_the_sum_it_is() -> None:
    score = ScoreReply(total=-100, breakdown={"capability_fit": 200, "cost_fit": -300})
    assert score_line(score) == "-100 = capability_fit 200 - cost_fit 300"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository in many languages, with what cannot be read as text among it."""
    program = shutil.which("git")
    assert program is not None
    (tmp_path / "test").mkdir()
    contents = {
        "long.py": "def short(): pass\n\ndef long():\n    a = 1\n    # FIXME\n    return a\n",
        "broken.py": "def (:\n",
        "test/shop.ts": "it('sells', () => {})\ntest('buys', () => {})\n",
        "test/shop_test.go": "func TestSell(t *testing.T) {}\n",
        "test/shop.rs": "#[test]\nfn sells() {}\n",
        "odd": "# XXX: a file without a suffix\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "picture").write_bytes(b"\0\1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    author = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
    for words in (
        ("init", "--quiet"),
        ("add", "."),
        (*author, "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", "first"),
    ):
        subprocess.run([program, "-C", str(tmp_path), *words], check=True)
    return tmp_path


def test_the_jobs_of_the_demo_find_what_is_there(clone: Path) -> None:
    lines = tasks.count_lines(clone)
    assert (lines["files"], lines["lines"]) == (6, 13)
    assert tasks.find_todos(clone) == {
        "count": 2,
        "first": ["long.py:5: FIXME", "odd:1: XXX a file without a suffix"],
    }
    collected = tasks.collect_tests(clone)
    assert (collected["tests"], collected["files"]) == (4, 3)
    history = tasks.read_history(clone)
    assert (history["commits"], history["authors"]) == (1, 1)
    functions = tasks.long_functions(clone)
    assert functions == {
        "functions": 2,
        "longest": [
            {"lines": 4, "function": "long.py:long"},
            {"lines": 1, "function": "long.py:short"},
        ],
    }
