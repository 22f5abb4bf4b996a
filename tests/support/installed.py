"""PostgreSQL, PgBouncer and libfaketime as Debian installs them; the servers run privately."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.runtime import service_user
from app.runtime.cluster import SUPERUSER, Cluster, start, stop, wait_until_ready
from tests.support.folders import data_folder

OLDEST: Final = 15
SERVER_POOL: Final = 2

_PROGRAMS: Final = Path("/usr/lib/postgresql")
_PGBOUNCER: Final = Path("/usr/sbin/pgbouncer")
_CONFIG: Final = """\
[databases]
* = host={sockets} port=5432 user={user}

[pgbouncer]
listen_port = 6432
unix_socket_dir = {sockets}
unix_socket_mode = 0700
auth_type = any
pool_mode = transaction
default_pool_size = {server_pool}
max_client_conn = 500
; its output is a pipe that nobody empties
log_connections = 0
log_disconnections = 0
log_pooler_errors = 0
log_stats = 0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A running server, and the same one through its pooler."""

    url: str
    pooled_url: str


def programs() -> Path | None:
    """Find the programs of the oldest PostgreSQL installed that we promise to work with."""
    versions = sorted(
        int(each.name)
        for each in _PROGRAMS.glob("*")
        if each.name.isdecimal() and (each / "bin" / "initdb").exists()
    )
    usable = [each for each in versions if each >= OLDEST]
    return _PROGRAMS / str(usable[0]) / "bin" if usable else None


def faketime() -> Path | None:
    """Find the library that lends a process another clock."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def is_installed() -> bool:
    """Tell whether all of it is there."""
    return programs() is not None and _PGBOUNCER.exists() and faketime() is not None


@contextmanager
def installed_servers() -> Iterator[Installed]:
    """Run both, with everything of theirs in a folder that is removed afterwards."""
    folder = programs()
    assert folder is not None, "install Debian's packages postgresql, pgbouncer and libfaketime"
    user = service_user.ensure_service_user(lambda _: None) if service_user.needed() else None
    with data_folder() as home:
        home.chmod(0o711)
        cluster = Cluster(
            data_dir=home, programs=folder, user=user, durable=False, options={"autovacuum": "off"}
        )
        _initialize(cluster)
        server = start(cluster, cluster.pgdata)
        try:
            wait_until_ready(cluster, server, 60)
            with _pgbouncer(cluster):
                url = f"postgresql://{SUPERUSER}@/postgres?host={cluster.pgdata}&port="
                yield Installed(url=url + "5432", pooled_url=url + "6432")
        finally:
            stop(server)


def _initialize(cluster: Cluster) -> None:
    cluster.pgdata.mkdir()
    cluster.own(cluster.pgdata)
    command = [
        *(str(cluster.programs / "initdb"), "--pgdata", str(cluster.pgdata), "--no-sync"),
        *("--username", SUPERUSER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C"),
    ]
    with cluster.log.open("wb") as output:
        assert cluster.popen(command, output).wait() == 0, cluster.log.read_text()


@contextmanager
def _pgbouncer(cluster: Cluster) -> Iterator[None]:
    config = cluster.data_dir / "pgbouncer.ini"
    config.write_text(
        _CONFIG.format(sockets=cluster.pgdata, user=SUPERUSER, server_pool=SERVER_POOL)
    )
    reading, writing = os.pipe()
    with os.fdopen(reading) as said:
        with os.fdopen(writing, "wb") as output:
            process = cluster.popen([str(_PGBOUNCER), str(config)], output)
        try:
            assert any("process up" in line for line in said), "PgBouncer did not start"
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
