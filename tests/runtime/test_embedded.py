"""Embedded PostgreSQL: real servers, started, killed and started again."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import psutil
import pytest

from app.runtime.binaries import binaries_dir
from app.runtime.embedded import DataFolderInUseError, EmbeddedPostgresError, embedded_postgres
from tests.support.environment import child_environment
from tests.support.postgres import run_sync

OWNER = """
import sys
from pathlib import Path
from app.runtime.embedded import embedded_postgres

with embedded_postgres(Path(sys.argv[1]), durable=False) as server:
    print(server.pid, flush=True)
    sys.stdin.read()
print("stopped", flush=True)
"""


def ask(url: str, statement: str) -> object:
    async def work() -> object:
        connection = await asyncpg.connect(url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    return run_sync(work)


@contextmanager
def owner_process(data_dir: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a process that owns a server in ``data_dir``; yields it and the server's pid."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=child_environment(),
    ) as process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def test_it_starts_answers_and_stops(private_dir: Path) -> None:
    with embedded_postgres(private_dir / "d", durable=False) as server:
        assert ask(server.url, "show server_encoding") == "UTF8"
        assert ask(server.url, "show listen_addresses") == ""
        assert ask(server.url, "select 'ä' < 'b'") is False  # C order, the same everywhere
    assert not psutil.pid_exists(server.pid)


def test_what_was_written_is_there_at_the_next_start(private_dir: Path) -> None:
    with embedded_postgres(private_dir / "d") as server:
        ask(server.url, "create table kept as select 42 as answer")
    with embedded_postgres(private_dir / "d") as server:
        assert ask(server.url, "select answer from kept") == 42


def test_options_are_the_callers(private_dir: Path) -> None:
    with embedded_postgres(private_dir / "d", options={"work_mem": "7MB"}) as server:
        assert ask(server.url, "show work_mem") == "7MB"
        assert ask(server.url, "show fsync") == "on"


@pytest.mark.parametrize("name", ["long-" * 40, 'a, "b": %41 ä?'])
def test_a_path_no_socket_may_have_is_no_hindrance(private_dir: Path, name: str) -> None:
    with embedded_postgres(private_dir / name / "d", durable=False) as server:
        assert ask(server.url, "select 1") == 1
        sockets = Path(str(ask(server.url, "show unix_socket_directories")).strip('"'))
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert not sockets.exists()


def test_one_folder_has_one_owner(private_dir: Path) -> None:
    with (
        owner_process(private_dir / "d"),
        pytest.raises(DataFolderInUseError, match="another process"),
        embedded_postgres(private_dir / "d"),
    ):
        pass


def test_a_server_whose_owner_was_killed_is_stopped_and_started_anew(private_dir: Path) -> None:
    with owner_process(private_dir / "d") as (process, pid):
        process.kill()
        process.wait()
    assert psutil.pid_exists(pid)
    said: list[str] = []
    with embedded_postgres(private_dir / "d", durable=False, say=said.append) as server:
        assert server.pid != pid
        assert ask(server.url, "select 1") == 1
    assert not psutil.pid_exists(pid)
    assert any(f"process {pid}" in line for line in said)


def test_a_killed_server_recovers(private_dir: Path) -> None:
    with owner_process(private_dir / "d") as (process, pid):
        process.kill()
        os.kill(pid, signal.SIGKILL)
        process.wait()
    assert (private_dir / "d" / "postgres" / "postmaster.pid").exists()
    with embedded_postgres(private_dir / "d", durable=False) as server:
        assert ask(server.url, "select 1") == 1


def test_pid_files_that_name_another_process_are_removed(private_dir: Path) -> None:
    with embedded_postgres(private_dir / "d", durable=False):
        pid_files = [
            private_dir / "d" / "postgres" / name
            for name in ("postmaster.pid", ".s.PGSQL.5432.lock")
        ]
        contents = [each.read_text().splitlines() for each in pid_files]
    with owner_process(private_dir / "other") as (process, _):
        for pid_file, content in zip(pid_files, contents, strict=True):
            pid_file.write_text("\n".join([str(process.pid), *content[1:]]) + "\n")
        said: list[str] = []
        with embedded_postgres(private_dir / "d", durable=False, say=said.append) as server:
            assert ask(server.url, "select 1") == 1
    assert [line for line in said if "belongs to no server" in line] == said
    assert len(said) == len(pid_files)


def test_a_half_made_cluster_is_made_again(private_dir: Path) -> None:
    unfinished = private_dir / "d" / "postgres.unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    with embedded_postgres(private_dir / "d", durable=False) as server:
        assert ask(server.url, "select 1") == 1
    assert not unfinished.exists()


def test_a_cluster_of_another_version_is_refused(private_dir: Path) -> None:
    pgdata = private_dir / "d" / "postgres"
    pgdata.mkdir(parents=True)
    (pgdata / "PG_VERSION").write_text("9.6\n")
    with (
        pytest.raises(EmbeddedPostgresError, match=r"made by PostgreSQL 9\.6"),
        embedded_postgres(private_dir / "d"),
    ):
        pass


def test_a_server_that_cannot_start_says_why(private_dir: Path) -> None:
    with (
        pytest.raises(EmbeddedPostgresError, match="max_connections"),
        embedded_postgres(private_dir / "d", durable=False, options={"max_connections": "many"}),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_owner_stops_the_server_too(
    private_dir: Path, number: signal.Signals
) -> None:
    with owner_process(private_dir / "d") as (process, pid):
        process.send_signal(number)
        assert process.wait() != 0
        assert not psutil.pid_exists(pid)


def test_a_block_that_fails_stops_the_server(private_dir: Path) -> None:
    pids: list[int] = []

    def fail_inside() -> None:
        with embedded_postgres(private_dir / "d", durable=False) as server:
            pids.append(server.pid)
            message = "mine"
            raise ValueError(message)

    with pytest.raises(ValueError, match="mine"):
        fail_inside()
    assert not psutil.pid_exists(pids[0])


def test_pgbench_comes_with_it(private_dir: Path) -> None:
    with embedded_postgres(private_dir / "d", durable=False) as server:
        done = subprocess.run(
            [binaries_dir() / "pgbench", "--initialize", "--quiet", server.url],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    assert "done in" in done.stderr
