"""Embedded PostgreSQL: a real server, started with the process and stopped with it.

Terms. The *data folder* belongs to one process at a time, which holds a lock on it from start to
stop. Inside lie ``postgres`` (PostgreSQL's own), ``postgres.log`` of the running server, with the
one before as ``postgres.log.1``, and ``postgres.lock``.

The server listens on a Unix socket only, and trusts whoever can open it; the socket therefore lies
in a folder only PostgreSQL's user can enter. Usually that is its own folder; if its path would be
too long for a socket, or hold signs that URLs give a meaning, it is a fresh private folder in the
place for temporary files.

What can go wrong, and the answer:

- The process was killed and its server lives on. Nobody holds the lock, so the server is a
  leftover: it is stopped in order and started anew.
- The server was killed too and left ``postmaster.pid``. PostgreSQL sees that nobody has that
  number and goes on, unless the number was given to another process; then the file is removed.
- ``initdb`` was interrupted. It works under another name, so half a cluster is never started.
- Another process uses the folder: :class:`DataFolderInUseError`.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from types import FrameType
from typing import Final

from app.runtime import leftovers, service_user
from app.runtime.binaries import binaries_dir, copy_binaries
from app.runtime.cluster import (
    DATABASE,
    STOP_TIMEOUT_S,
    SUPERUSER,
    Cluster,
    DataFolderInUseError,
    EmbeddedPostgresError,
    initialize,
    start,
    stop,
    wait_until_ready,
)
from app.runtime.service_user import Say, ServiceUser

__all__ = ["DataFolderInUseError", "EmbeddedPostgres", "EmbeddedPostgresError", "embedded_postgres"]

_LOG = getLogger(__name__)

_SOCKET_NAME: Final = ".s.PGSQL.5432"
_SOCKET_PATH_MAX: Final = 103  # bytes; 107 on Linux, less on other systems
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPostgres:
    """A running server. ``url`` works for asyncpg, SQLAlchemy and psql alike."""

    url: str
    programs: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The server's first process, of which all others are children."""
        return self.process.pid

    def fallen(self) -> bool:
        """Tell whether it ended by itself."""
        return self.process.poll() is not None


@contextmanager
def embedded_postgres(
    data_dir: Path,
    *,
    durable: bool = True,
    options: Mapping[str, str] | None = None,
    say: Say | None = None,
    start_timeout_s: float = 120.0,
) -> Iterator[EmbeddedPostgres]:
    """Run PostgreSQL for as long as the block lasts; blocking, about a second at the first start.

    A SIGTERM during the block ends it in order, as Ctrl-C does, unless a handler is set already.

    Args:
        data_dir: the folder for state; made if missing, with mode 0700 (0711 when we are root).
        durable: False trades safety at a power cut for speed; for tests.
        options: server settings by name, which win over ours.
        say: told in a sentence what is about to be changed elsewhere; logs if not given.
        start_timeout_s: longest wait for the server, recovery after a crash included.

    Yields:
        The running server.

    Raises:
        DataFolderInUseError: if another process runs PostgreSQL there.
        EmbeddedPostgresError: if the server does not start.
        BinariesMissingError: if there are no programs for this machine.
    """
    tell = say or _LOG.warning
    data_dir = data_dir.expanduser().absolute()
    with _sigterm_as_exit(), _prepared_folder(data_dir, tell) as user:
        cluster = Cluster(
            data_dir=data_dir,
            programs=_usable_programs(data_dir, user, tell),
            user=user,
            durable=durable,
            options=options or {},
        )
        initialize(cluster)
        leftovers.clear(cluster.pgdata, say=tell, timeout_s=STOP_TIMEOUT_S)
        with _socket_folder(cluster) as sockets:
            process = start(cluster, sockets)
            try:
                wait_until_ready(cluster, process, start_timeout_s)
                url = f"postgresql://{SUPERUSER}@/{DATABASE}?host={sockets}"
                yield EmbeddedPostgres(url=url, programs=cluster.programs, process=process)
            finally:
                stop(process)


@contextmanager
def _prepared_folder(data_dir: Path, say: Say) -> Iterator[ServiceUser | None]:
    """Make the folder, hold its lock, and let PostgreSQL's user pass if it is not us."""
    made = not data_dir.exists()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (data_dir / "postgres.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process runs PostgreSQL in {data_dir}"
            raise DataFolderInUseError(message) from None
        user = None
        if service_user.needed():
            user = service_user.ensure_service_user(say)
            if made:
                data_dir.chmod(0o711)
            service_user.open_for_passing(
                service_user.closed_folders(data_dir / "postgres", user), say
            )
        yield user


def _usable_programs(data_dir: Path, user: ServiceUser | None, say: Say) -> Path:
    folder = binaries_dir()
    if user is None or service_user.can_use_programs(folder, user):
        return folder
    return copy_binaries(data_dir, say)


@contextmanager
def _socket_folder(cluster: Cluster) -> Iterator[Path]:
    """Choose a private folder whose socket has a path that is short enough."""
    if _fits(cluster.pgdata):
        yield cluster.pgdata
        return
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    if not _fits(folder):  # TMPDIR may be long as well
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="fleet-", dir="/tmp"))
    try:
        cluster.own(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fits(folder: Path) -> bool:
    """Tell whether a socket may lie here: a short path, of characters no URL parser splits at."""
    socket = str(folder / _SOCKET_NAME)
    return len(os.fsencode(socket)) <= _SOCKET_PATH_MAX and bool(_PLAIN_PATH.fullmatch(socket))


@contextmanager
def _sigterm_as_exit() -> Iterator[None]:
    """Turn a SIGTERM that nobody handles into SystemExit, so that ``finally`` runs."""

    def leave(number: int, frame: FrameType | None) -> None:
        del frame
        raise SystemExit(128 + number)

    try:
        before = signal.getsignal(signal.SIGTERM)
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        if before is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, before)
