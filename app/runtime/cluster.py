"""One PostgreSQL cluster on disk: made, started, waited for, stopped."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from typing import IO, Final

from app.runtime import leftovers
from app.runtime.service_user import ServiceUser

_LOG = getLogger(__name__)

SUPERUSER: Final = "fleet"
DATABASE: Final = "postgres"
STOP_TIMEOUT_S: Final = 30.0

_POLL_S: Final = 0.02

_BASE_OPTIONS: Final[Mapping[str, str]] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "max_connections": "200",
}
_FAST_OPTIONS: Final[Mapping[str, str]] = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}


class EmbeddedPostgresError(RuntimeError):
    """Embedded PostgreSQL could not be started; the message holds the end of its log."""


class DataFolderInUseError(EmbeddedPostgresError):
    """Another process runs PostgreSQL in this data folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where one server lives, as whom it runs (None: as ourselves), and its settings."""

    data_dir: Path
    programs: Path
    user: ServiceUser | None
    durable: bool
    options: Mapping[str, str]

    @property
    def pgdata(self) -> Path:
        """PostgreSQL's own folder."""
        return self.data_dir / "postgres"

    @property
    def log(self) -> Path:
        """What the running server says."""
        return self.data_dir / "postgres.log"

    def own(self, path: Path) -> None:
        """Give a folder to PostgreSQL's user, closed to all others."""
        path.chmod(0o700)
        if self.user is not None:
            os.chown(path, self.user.uid, self.user.gid)

    def popen(self, command: list[str], output: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a program of PostgreSQL, in a session of its own: Ctrl-C is for us, not for it."""
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            start_new_session=True,
            user=self.user.uid if self.user else None,
            group=self.user.gid if self.user else None,
            extra_groups=[] if self.user else None,
        )


def initialize(cluster: Cluster) -> None:
    """Make the cluster under another name and move it into place when it is whole.

    Raises:
        EmbeddedPostgresError: if that fails, or the cluster is there and of another version.
    """
    marker = cluster.pgdata / "PG_VERSION"
    if marker.exists():
        _check_version(cluster, marker.read_text().strip())
        return
    unfinished = cluster.data_dir / "postgres.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    cluster.own(unfinished)
    command = [
        str(cluster.programs / "initdb"), "--pgdata", str(unfinished), "--username", SUPERUSER,
        "--auth", "trust", "--encoding", "UTF8", "--locale", "C",
        "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--no-instructions",
    ]  # fmt: skip
    with tempfile.TemporaryFile() as output:
        process = cluster.popen(command if cluster.durable else [*command, "--no-sync"], output)
        try:
            process.wait()
        finally:
            process.kill()  # nothing happens if it has ended
        if process.returncode != 0:
            output.seek(0)
            message = f"initdb failed: {output.read().decode(errors='replace').strip()}"
            raise EmbeddedPostgresError(message)
    unfinished.rename(cluster.pgdata)


def start(cluster: Cluster, sockets: Path) -> subprocess.Popen[bytes]:
    """Start the server, with its socket in the folder ``sockets``; does not wait for it."""
    if cluster.log.exists():
        cluster.log.replace(cluster.log.with_name("postgres.log.1"))
    # The setting is a list, so the folder is quoted as an item of it.
    listed = '"' + str(sockets).replace('"', '""') + '"'
    speed = {} if cluster.durable else _FAST_OPTIONS
    options = {**_BASE_OPTIONS, **speed, **cluster.options, "unix_socket_directories": listed}
    flags = [word for key, value in options.items() for word in ("-c", f"{key}={value}")]
    with cluster.log.open("wb") as output:
        cluster.log.chmod(0o600)
        return cluster.popen(
            [str(cluster.programs / "postgres"), "-D", str(cluster.pgdata), *flags], output
        )


def wait_until_ready(cluster: Cluster, process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Wait until the server wrote ``ready`` into its pid file, as pg_ctl does.

    Raises:
        EmbeddedPostgresError: if it ended or took too long; holds the end of its log.
    """
    give_up_at = time.monotonic() + timeout_s
    while leftovers.status(cluster.pgdata) != (process.pid, "ready"):
        late = time.monotonic() > give_up_at
        if late or process.poll() is not None:
            log = cluster.log.read_text(errors="replace")
            why = f"not ready after {timeout_s:g} s" if late else "it ended by itself"
            message = f"PostgreSQL did not start, {why}: {log.strip()[-2000:]}"
            raise EmbeddedPostgresError(message)
        time.sleep(_POLL_S)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server: in order first, at once if that takes too long or we are interrupted."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _LOG.warning("PostgreSQL did not stop in %.0f s; stopping it at once", STOP_TIMEOUT_S)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGQUIT)
            process.wait()


def _check_version(cluster: Cluster, have: str) -> None:
    answer = subprocess.run(
        [str(cluster.programs / "postgres"), "--version"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    want = answer.stdout.split()[-1].partition(".")[0]
    if have != want:
        message = (
            f"{cluster.pgdata} was made by PostgreSQL {have}, and the programs here are {want}: "
            "dump it with the old version and load it with the new one"
        )
        raise EmbeddedPostgresError(message)
