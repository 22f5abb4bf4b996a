"""Databases for tests: one server per worker, a migrated template, a copy of it per test."""

import asyncio
import itertools
import os
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg

from app.runtime.embedded import embedded_postgres
from app.store.migrate import migrate
from tests.support.folders import data_folder

_T = TypeVar("_T")

# Two suites may share one server: the process id keeps their databases apart.
_NAMES = itertools.count()


def run_sync(work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine from synchronous code, without touching the current event loop."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(work())


def with_database(url: str, name: str) -> str:
    """Replace the database in a URL."""
    return re.sub(r"^([^:]+://[^/?]*)(/[^?]*)?", rf"\1/{name}", url)


@contextmanager
def server_for_tests() -> Iterator[str]:
    """Run a PostgreSQL that forgets everything; yields the URL of its superuser."""
    with (
        data_folder() as folder,
        embedded_postgres(
            folder / "data",
            durable=False,
            options={"autovacuum": "off"},  # plans must not depend on when it happens to run
            say=lambda _: None,
        ) as server,
    ):
        yield server.url


@dataclass(frozen=True, slots=True, kw_only=True)
class Databases:
    """Makes and drops databases on one server, given by a URL that may do so."""

    admin_url: str
    _templates: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def fresh(self, *, migrated: bool = True) -> Iterator[str]:
        """Make a database for one test, and drop it afterwards whoever is still connected.

        Args:
            migrated: with the newest schema; else empty.

        Yields:
            Its URL.
        """
        name = f"fleet_test_{os.getpid()}_{next(_NAMES)}"
        template = self._migrated_template() if migrated else "template0"
        self._execute(f"create database {name} template {template} strategy file_copy")
        try:
            yield with_database(self.admin_url, name)
        finally:
            self._execute(f"drop database {name} with (force)")

    def drop_templates(self) -> None:
        """Drop what :meth:`fresh` made to copy from."""
        for name in self._templates.values():
            self._execute(f"drop database {name} with (force)")
        self._templates.clear()

    def _migrated_template(self) -> str:
        if "migrated" not in self._templates:
            name = f"fleet_template_{os.getpid()}"
            self._execute(f"create database {name} template template0")
            run_sync(lambda: migrate(with_database(self.admin_url, name)))
            self._templates["migrated"] = name
        return self._templates["migrated"]

    def _execute(self, statement: str) -> None:
        async def work() -> None:
            connection = await asyncpg.connect(self.admin_url)
            try:
                await connection.execute(statement)
            finally:
                await connection.close()

        run_sync(work)
