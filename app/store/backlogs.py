"""The backlog, counted with bounds."""

from app.backlog import COUNT_MAX, Backlog, ReadyClass
from app.fleet import JobState
from app.store import classes
from app.store.session import Connection
from app.store.sql import sql


async def read(conn: Connection) -> Backlog:
    """Count what waits, by state, and what is ready by class, locks aside."""
    ready = await conn.fetch(sql("backlog_ready"), COUNT_MAX)
    waiting = await conn.fetch(sql("backlog_waiting"), COUNT_MAX)
    return Backlog(
        classes=tuple(
            ReadyClass(
                job_class=classes.from_row(row), ready=row["ready"], lock_held=row["lock_held"]
            )
            for row in ready
        ),
        waiting={JobState(row["state"]): row["waiting"] for row in waiting},
    )
