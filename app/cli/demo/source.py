"""The repository that the demo works on, and a clone of it for each factory.

It is the one asked for; else the one around the current folder; else, where there is none, this
very program, put under version control for the purpose.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.cli.errors import CliError

_SOURCES: Final = ("*.py", "*.sql", "*.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A repository, and how it came to be this one."""

    path: Path
    why: str

    @property
    def name(self) -> str:
        """What jobs call it."""
        return self.path.name


def find_source(asked: Path | None, *, here: Path, work: Path) -> Source:
    """Find the repository to work on.

    Args:
        asked: the one that was named, if any.
        here: the current folder.
        work: where one may be made, if there is none.

    Raises:
        CliError: the one that was named is none that can be cloned, or there is no git.
    """
    if shutil.which("git") is None:
        message = "the demo works on a git repository and finds no git on this machine"
        raise CliError(message)
    if asked is not None:
        top = _top(asked.expanduser())
        if top is None:
            message = f"--repo: {asked} is not a git repository with a commit"
            raise CliError(message)
        return Source(path=top, why="as asked")
    top = _top(here)
    if top is not None:
        return Source(path=top, why="the repository around the current folder")
    return Source(
        path=_own_source(work / "fleet"),
        why=f"the source of this program, since {here} is not in a git repository with a commit",
    )


def clone(source: Source, target: Path) -> Path:
    """Clone the repository anew.

    Raises:
        CliError: git cannot; the message is git's.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    done = _git("clone", "--quiet", "--", str(source.path), str(target))
    if done.returncode != 0:
        message = f"cannot clone {source.path}: {' '.join(done.stderr.split())}"
        raise CliError(message)
    return target


def _top(folder: Path) -> Path | None:
    """Find the top of the repository around ``folder``; None without one, or without a commit."""
    if not folder.is_dir():
        return None
    found = _git("-C", str(folder), "rev-parse", "--show-toplevel")
    commit = _git("-C", str(folder), "rev-parse", "--verify", "--quiet", "HEAD")
    if found.returncode != 0 or commit.returncode != 0:
        return None
    return Path(found.stdout.strip() or folder)


def _own_source(target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    package = Path(__file__).resolve().parents[2]
    for pattern in _SOURCES:
        for path in package.rglob(pattern):
            copy = target / package.name / path.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    author = ("-c", "user.name=fleet", "-c", "user.email=fleet@localhost")
    for words in (
        ("init", "--quiet"),
        ("add", "--all"),
        (*author, "-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "the source"),
    ):
        done = _git("-C", str(target), *words)
        if done.returncode != 0:
            message = f"cannot make a repository in {target}: {' '.join(done.stderr.split())}"
            raise CliError(message)
    return target


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("git") or "git"
    return subprocess.run(
        [program, *words], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
