"""Lists of jobs: newest first, by keyset, with the filters that a caller names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, ColumnExpressionArgument, bindparam
from sqlmodel import col, select
from sqlmodel.sql.expression import SelectOfScalar

from app.fleet import FactoryId, JobId, JobRecord, JobState
from app.store import jobs
from app.store.session import Connection, statement
from app.store.tables import JobRow


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs to list: those to which all applies that is named.

    ``factory_id``: the factory that holds the job or, if nobody does, held it last. ``labels``: the
    job has all of these. ``since`` and ``until``: when it was submitted, from and before.
    """

    state: JobState | None = None
    kind: str | None = None
    repo: str | None = None
    factory_id: FactoryId | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None


async def page(
    conn: Connection, wanted: JobFilter, *, after: JobId | None, limit: int
) -> list[JobRecord]:
    """Read the newest jobs that pass, older than ``after``, outside a transaction.

    New is what has a greater id: ids grow with the time they were made at, and no two are equal.
    """
    text, arguments = statement(page_query(wanted, after=after, limit=limit))
    # One snapshot for both: else a job pruned in between would make the page look like the last.
    async with conn.transaction(isolation="repeatable_read", readonly=True):
        ids = [JobId(row["id"]) for row in await conn.fetch(text, *arguments)]
        found = await jobs.by_ids(conn, ids)
    return [found[job_id] for job_id in ids]


def page_query(wanted: JobFilter, *, after: JobId | None, limit: int) -> "SelectOfScalar[Any]":
    """Build the select of a page's ids."""
    equal = (
        (JobRow.kind, wanted.kind),
        (JobRow.repo, wanted.repo),
        (JobRow.holder, wanted.factory_id),
    )
    query = select(JobRow.id).where(
        *(col(column) == value for column, value in equal if value is not None)
    )
    if wanted.state is not None:
        query = query.where(*_in_state(wanted.state))
    if wanted.labels:
        query = query.where(col(JobRow.labels).contains(dict(wanted.labels)))
    if wanted.since is not None:
        query = query.where(col(JobRow.created_at) >= wanted.since)
    if wanted.until is not None:
        query = query.where(col(JobRow.created_at) < wanted.until)
    if after is not None:
        query = query.where(col(JobRow.id) < after)
    return query.order_by(col(JobRow.id).desc()).limit(limit)


def _in_state(state: JobState) -> "list[ColumnExpressionArgument[bool]]":
    """Say the state in the text itself, and what follows from it: so the index for it is found.

    That it follows is checked wherever leases are played at random.
    """
    named: BindParameter[str] = bindparam("state", state.value, literal_execute=True)
    is_it: list[ColumnExpressionArgument[bool]] = [col(JobRow.state) == named]
    match state:
        case JobState.LEASED:
            is_it.append(col(JobRow.fence_open))
        case JobState.SUCCEEDED:
            is_it.append(col(JobRow.finished_at).is_not(None))
        case (
            JobState.READY
            | JobState.BLOCKED
            | JobState.SCHEDULED
            | JobState.HELD
            | JobState.DEAD
            | JobState.CANCELLED
        ):
            pass
    return is_it
