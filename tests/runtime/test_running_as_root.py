"""What root's start changes outside its folder: little, and said before it is done.

These run wherever the suite runs: an ordinary user sees that nothing at all is said or changed.
"""

import os
import stat
from pathlib import Path

from app.runtime import service_user
from app.runtime.binaries import binaries_dir, copy_binaries
from app.runtime.embedded import embedded_postgres
from app.runtime.service_user import ServiceUser

AS_ROOT = os.geteuid() == 0


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_closed_parents_are_opened_only_for_passing_and_said(private_dir: Path) -> None:
    private = private_dir / "private"
    private.mkdir(mode=0o700)
    said: list[str] = []
    with embedded_postgres(private / "d", durable=False, say=said.append):
        pass
    opened = [line for line in said if line.startswith(f"opening {private} ")]
    if AS_ROOT:
        assert opened == [f"opening {private} for passing through, not for reading: 0700 -> 0701"]
        assert mode_of(private) == 0o701
    else:
        assert said == []
        assert mode_of(private) == 0o700


def test_a_second_start_has_nothing_to_say(private_dir: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        said.clear()
        with embedded_postgres(private_dir / "d", durable=False, say=said.append):
            pass
    assert said == []


def test_the_cluster_is_closed_to_everybody_else(private_dir: Path) -> None:
    with embedded_postgres(private_dir / "d", durable=False):
        assert mode_of(private_dir / "d" / "postgres") == 0o700
        assert mode_of(private_dir / "d" / "postgres.log") == 0o600


def test_closed_folders_are_found_as_the_kernel_would(private_dir: Path) -> None:
    stranger = ServiceUser(uid=54_321, gid=54_321)
    inner = private_dir / "a" / "b" / "c"
    inner.mkdir(parents=True)
    (private_dir / "a").chmod(0o700)
    (private_dir / "a" / "b").chmod(0o711)
    closed = service_user.closed_folders(inner, stranger)
    assert private_dir / "a" in closed
    assert private_dir / "a" / "b" not in closed
    me = ServiceUser(uid=os.geteuid(), gid=os.getegid())
    assert private_dir / "a" not in service_user.closed_folders(inner, me)
    assert not service_user.can_use_programs(inner, stranger)


def test_the_copied_programs_run_and_are_copied_once(private_dir: Path) -> None:
    said: list[str] = []
    folder = copy_binaries(private_dir, said.append)
    assert mode_of(folder) & 0o055 == 0o055
    assert mode_of(folder / "postgres") & 0o055 == 0o055
    assert (folder / "postgres").stat().st_size == (binaries_dir() / "postgres").stat().st_size
    before = (folder / "postgres").stat().st_ino
    assert (copy_binaries(private_dir, said.append) / "postgres").stat().st_ino == before
    assert len(said) == 1
