"""What the demo's jobs do: read a clone, and count what is in it.

Every task is a function of the clone's folder; a file that is not text is passed over.
"""

import ast
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from app.fleet import Json, JsonObject

_LANGUAGES: Final[Mapping[str, str]] = {
    ".py": "Python", ".sql": "SQL", ".md": "Markdown", ".toml": "TOML", ".yaml": "YAML",
    ".yml": "YAML", ".json": "JSON", ".js": "JavaScript", ".mjs": "JavaScript", ".ts": "TypeScript",
    ".tsx": "TypeScript", ".go": "Go", ".rs": "Rust", ".c": "C", ".h": "C", ".cc": "C++",
    ".cpp": "C++", ".java": "Java", ".rb": "Ruby", ".sh": "Shell", ".html": "HTML", ".css": "CSS",
    ".txt": "Text",
}  # fmt: skip
_TESTS: Final[Mapping[str, re.Pattern[str]]] = {
    "Python": re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE),
    "JavaScript": re.compile(r"\b(?:it|test)\(\s*['\"`](.+?)['\"`]"),
    "TypeScript": re.compile(r"\b(?:it|test)\(\s*['\"`](.+?)['\"`]"),
    "Go": re.compile(r"^func (Test\w+)\(", re.MULTILINE),
    "Rust": re.compile(r"#\[(?:\w+::)?test\]\s*(?:async )?fn (\w+)"),
}
_MARK: Final = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b[:( ]?(.*)")
_BYTES_MAX: Final = 1_000_000
_SHOWN: Final = 10


def count_lines(clone: Path) -> JsonObject:
    """Count lines per language."""
    lines: Counter[str] = Counter()
    files = 0
    for path, text in _texts(clone):
        files += 1
        lines[_language(path)] += len(text.splitlines())
    return {
        "files": files,
        "lines": lines.total(),
        "by_language": dict(lines.most_common()),
    }


def find_todos(clone: Path) -> JsonObject:
    """Find what somebody meant to do later."""
    found = [
        f"{path.relative_to(clone)}:{number}: {mark[1]} {mark[2].strip()}".rstrip()
        for path, text in _texts(clone)
        for number, line in enumerate(text.splitlines(), 1)
        if (mark := _MARK.search(line))
    ]
    return {"count": len(found), "first": [each[:200] for each in found[:_SHOWN]]}


def collect_tests(clone: Path) -> JsonObject:
    """Collect the tests, by the names that test runners go by."""
    by_file: Counter[str] = Counter()
    for path, text in _texts(clone):
        pattern = _TESTS.get(_language(path))
        if pattern is not None and "test" in str(path.relative_to(clone)).lower():
            by_file[str(path.relative_to(clone))] = len(pattern.findall(text))
    by_file = +by_file
    return {
        "tests": by_file.total(),
        "files": len(by_file),
        "largest": dict(by_file.most_common(_SHOWN)),
    }


def read_history(clone: Path) -> JsonObject:
    """Read who changed what, from the history of the clone."""
    commits = _git(clone, "log", "--format=%an%x09%cs").splitlines()
    days = sorted(line.rpartition("\t")[2] for line in commits)
    changed = Counter(
        line for line in _git(clone, "log", "--format=", "--name-only", "-n", "500").splitlines()
        if line
    )  # fmt: skip
    return {
        "commits": len(commits),
        "authors": len({line.rpartition("\t")[0] for line in commits}),
        "since": days[0],
        "until": days[-1],
        "most_changed": dict(changed.most_common(_SHOWN)),
    }


def long_functions(clone: Path) -> JsonObject:
    """Find the longest functions, by the syntax tree of every Python file."""
    found: list[tuple[int, str]] = []
    for path, text in _texts(clone):
        if _language(path) == "Python":
            found += [
                (length, f"{path.relative_to(clone)}:{name}") for length, name in _functions(text)
            ]
    found.sort(key=lambda each: (-each[0], each[1]))
    return {
        "functions": len(found),
        "longest": [{"lines": length, "function": name} for length, name in found[:_SHOWN]],
    }


def summarise(parts: Mapping[str, JsonObject]) -> JsonObject:
    """Write one sentence from what the other jobs reported."""
    lines = parts["demo.count_lines"]
    languages = lines["by_language"]
    largest = next(iter(languages), "nothing") if isinstance(languages, dict) else "nothing"
    summary = (
        f"{lines['lines']} lines in {lines['files']} files, most of them {largest}; "
        f"{parts['demo.collect_tests']['tests']} tests, {parts['demo.find_todos']['count']} notes "
        f"of things to do, {parts['demo.read_history']['commits']} commits by "
        f"{parts['demo.read_history']['authors']} author(s)."
    )
    read: list[Json] = [*sorted(parts)]
    return {"summary": summary, "read": read}


def _texts(clone: Path) -> Iterator[tuple[Path, str]]:
    """Read every file under version control that is text and not huge."""
    for name in _git(clone, "ls-files", "-z").split("\0"):
        path = clone / name
        if not name or path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()[:_BYTES_MAX]
        if b"\0" not in content:
            yield path, content.decode(errors="replace")


def _functions(text: str) -> Iterator[tuple[int, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, node.name


def _language(path: Path) -> str:
    return _LANGUAGES.get(path.suffix.lower(), path.suffix.lstrip(".") or "other")


def _git(clone: Path, *words: str) -> str:
    program = shutil.which("git") or "git"
    done = subprocess.run([program, "-C", str(clone), *words], check=True, capture_output=True)
    return done.stdout.decode(errors="replace")
