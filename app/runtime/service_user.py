"""Running PostgreSQL when we are root: it refuses to, so it runs as a system user of its own.

What that costs is said before it is done, and kept small: a folder on the way to the data is
opened for *passing through* (``o+x``) and never for reading; nothing else of the machine changes.
"""

import os
import pwd
import stat
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

USER: Final = "fleet-postgres"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUser:
    """The user PostgreSQL runs as, by number."""

    uid: int
    gid: int


def needed() -> bool:
    """Tell whether this process is root and so needs another user for PostgreSQL."""
    return os.geteuid() == 0


def ensure_service_user(say: Say) -> ServiceUser:
    """Find the system user of our PostgreSQL, or make it.

    Raises:
        RuntimeError: if it cannot be made; the message says what to do instead.
    """
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        say(f"making the system user {USER}, since PostgreSQL refuses to run as root")
        _make_user()
        entry = pwd.getpwnam(USER)
    return ServiceUser(uid=entry.pw_uid, gid=entry.pw_gid)


def can_use_programs(folder: Path, user: ServiceUser) -> bool:
    """Tell whether ``user`` can get to ``folder`` and run the programs in it."""
    if closed_folders(folder, user):
        return False
    probe = folder / "postgres"
    return all(_allows(path, user, read=True, enter=True) for path in (folder, probe))


def closed_folders(path: Path, user: ServiceUser) -> list[Path]:
    """List the parents of ``path`` that ``user`` may not pass through, outermost first."""
    parents = reversed(path.resolve().parents)
    return [each for each in parents if not _allows(each, user, read=False, enter=True)]


def open_for_passing(folders: Iterable[Path], say: Say) -> None:
    """Let everybody pass through these folders, but not read them; says so first."""
    for folder in folders:
        before = stat.S_IMODE(folder.stat().st_mode)
        after = before | stat.S_IXOTH
        say(f"opening {folder} for passing through, not for reading: {before:04o} -> {after:04o}")
        folder.chmod(after)


def _make_user() -> None:
    command = [
        "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
        "--shell", "/usr/sbin/nologin", "--comment", "PostgreSQL of the fleet coordinator", USER,
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        # Two starts at once: the other one made it, which is all we wanted.
        if USER in {entry.pw_name for entry in pwd.getpwall()}:
            return
        detail = getattr(error, "stderr", None) or str(error)
        message = (
            f"PostgreSQL cannot run as root and the user {USER} could not be made "
            f"({detail.strip()}): start as an ordinary user, or set FLEET_DATABASE_URL"
        )
        raise RuntimeError(message) from error


def _allows(path: Path, user: ServiceUser, *, read: bool, enter: bool) -> bool:
    """Check the mode bits that apply to ``user``, as the kernel picks them."""
    info = path.stat()
    shift = 6 if info.st_uid == user.uid else 3 if info.st_gid == user.gid else 0
    wanted = (4 if read else 0) | (1 if enter else 0)
    return (info.st_mode >> shift) & wanted == wanted
