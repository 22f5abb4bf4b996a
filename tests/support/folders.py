"""Folders for PostgreSQL's data: in memory where that is roomy, since tests make many databases."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
_ROOMY = 4 * 1024**3


@contextmanager
def data_folder() -> Iterator[Path]:
    """Make a folder outside of pytest's own, which pytest closes to PostgreSQL's user.

    A database is a thousand small files to copy and to remove: cheap in memory, and what they hold
    is forgotten anyway.
    """
    folder = Path(tempfile.mkdtemp(prefix="fleet-test-", dir=_MEMORY if _is_roomy() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _is_roomy() -> bool:
    """Tell whether servers fit there, and whether programs copied there would run."""
    if not os.access(_MEMORY, os.W_OK):
        return False
    there = os.statvfs(_MEMORY)
    return there.f_bavail * there.f_frsize >= _ROOMY and not there.f_flag & os.ST_NOEXEC
