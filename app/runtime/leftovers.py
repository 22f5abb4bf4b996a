"""What an earlier run left in PostgreSQL's folder: a server that lives on, or its pid file.

Only called by whoever holds the lock of the data folder, so a server found here has no owner.
"""

import signal
from collections.abc import Callable
from pathlib import Path

import psutil

_PID_LINE = 0
_STATUS_LINE = 7


def status(pgdata: Path) -> tuple[int, str] | None:
    """Read ``postmaster.pid``: the server's process id and its status, such as ``ready``.

    Returns:
        None if there is no such file or it is not written to its end yet.
    """
    try:
        lines = (pgdata / "postmaster.pid").read_text().splitlines()
        return int(lines[_PID_LINE]), lines[_STATUS_LINE].strip()
    except (FileNotFoundError, IndexError, ValueError):
        return None


def clear(pgdata: Path, *, say: Callable[[str], None], timeout_s: float) -> None:
    """Stop a server that outlived its owner, and remove pid files that name other processes.

    Args:
        pgdata: PostgreSQL's own folder.
        say: told what is about to be stopped or removed.
        timeout_s: how long an orderly stop may take before the processes are killed.
    """
    processes = _servers_of(pgdata)
    if processes:
        numbers = ", ".join(str(each.pid) for each in processes)
        say(f"stopping a PostgreSQL that outlived its owner (process {numbers})")
        for each in processes:
            _signal(each, signal.SIGINT)
        _, alive = psutil.wait_procs(processes, timeout=timeout_s)
        for each in alive:
            _signal(each, signal.SIGKILL)
        psutil.wait_procs(alive)
    for pid_file in (pgdata / "postmaster.pid", pgdata / ".s.PGSQL.5432.lock"):
        if _names_another_process(pid_file):
            # PostgreSQL would take that process for a server of its own and refuse to start.
            say(f"removing {pid_file}: its process number belongs to no server of this folder")
            pid_file.unlink()


def _servers_of(pgdata: Path) -> list[psutil.Process]:
    """Find server processes that work in ``pgdata``, children of a dead server included."""
    home = pgdata.resolve()
    found = []
    for process in psutil.process_iter():
        try:
            if process.name().startswith("postgres") and Path(process.cwd()) == home:
                found.append(process)
        except psutil.Error:  # gone meanwhile, or of another user and so none of ours
            continue
    return found


def _names_another_process(pid_file: Path) -> bool:
    """Tell whether a process of that number exists: another program, or a dead one not reaped."""
    try:
        pid = int(pid_file.read_text().splitlines()[_PID_LINE])
    except (FileNotFoundError, IndexError, ValueError):
        return False
    return psutil.pid_exists(pid)  # servers of this folder were stopped before


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
