"""What may be done in a repo, and its runs: read whole, and written one by one as they changed.

The caller holds the repo's row (:func:`app.store.repos.lock`); each write compares the version all
the same.
"""

from collections.abc import Sequence
from datetime import datetime

from app.fleet import JobId
from app.repo import (
    Candidate,
    CandidateId,
    CandidateStatus,
    Issue,
    IssueStatus,
    Pull,
    PullId,
    PullStatus,
    RepoId,
    Run,
    RunId,
    RunStatus,
)
from app.store.retrying import Moved
from app.store.session import Connection, Record
from app.store.sql import sql
from app.tick_jobs import JobKind


async def candidates(conn: Connection, repo_id: RepoId) -> list[Candidate]:
    """Read the candidates of a repo, oldest first."""
    return [_candidate(row) for row in await conn.fetch(sql("candidate_read"), repo_id)]


async def pulls(conn: Connection, repo_id: RepoId) -> list[Pull]:
    """Read the pull requests of a repo, by number."""
    return [_pull(row) for row in await conn.fetch(sql("pull_read"), repo_id)]


async def issues(conn: Connection, repo_id: RepoId) -> list[Issue]:
    """Read the issues of a repo, by number."""
    return [_issue(row) for row in await conn.fetch(sql("issue_read"), repo_id)]


async def active_run(conn: Connection, repo_id: RepoId) -> Run | None:
    """Read the run of a repo that is under way."""
    row = await conn.fetchrow(sql("run_active"), repo_id)
    return None if row is None else _run(row)


async def runs_since(conn: Connection, repo_id: RepoId, since: datetime) -> int:
    """Count the runs of a repo that started since a time; those withdrawn were none."""
    count: int = await conn.fetchval(sql("run_count"), repo_id, since)
    return count


async def runs_page(
    conn: Connection, repo_id: RepoId, *, after: RunId | None, limit: int
) -> list[Run]:
    """Read runs of a repo, newest first, older than one of them."""
    return [_run(row) for row in await conn.fetch(sql("run_page"), repo_id, after, limit)]


async def add_candidates(conn: Connection, repo_id: RepoId, new: Sequence[Candidate]) -> None:
    """Store new candidates."""
    if new:
        await conn.execute(
            sql("candidate_insert"),
            repo_id,
            [each.id for each in new],
            [each.focus for each in new],
            [each.score for each in new],
            [each.status.value for each in new],
            [each.failures for each in new],
            [each.created_at for each in new],
        )


async def write_candidate(conn: Connection, candidate: Candidate) -> None:
    """Change a candidate.

    Raises:
        Moved: it changed since it was read.
    """
    written = await conn.fetchval(
        sql("candidate_write"),
        candidate.id,
        candidate.version,
        candidate.focus,
        candidate.score,
        candidate.status.value,
        candidate.failures,
    )
    _check(written)


async def remove_candidate(conn: Connection, candidate_id: CandidateId) -> None:
    """Delete a candidate."""
    await conn.execute(sql("candidate_remove"), candidate_id)


async def add_pull(conn: Connection, repo_id: RepoId, pull: Pull) -> None:
    """Store a new pull request."""
    await conn.execute(sql("pull_insert"), repo_id, pull.number, pull.id, *_pull_columns(pull))


async def write_pull(conn: Connection, repo_id: RepoId, pull: Pull) -> None:
    """Change a pull request.

    Raises:
        Moved: it changed since it was read.
    """
    key = (repo_id, pull.number, pull.version)
    _check(await conn.fetchval(sql("pull_write"), *key, *_pull_columns(pull)))


async def remove_pull(conn: Connection, repo_id: RepoId, number: int) -> None:
    """Delete a pull request."""
    await conn.execute(sql("pull_remove"), repo_id, number)


async def add_issue(conn: Connection, repo_id: RepoId, issue: Issue) -> None:
    """Store a new issue."""
    await conn.execute(sql("issue_insert"), repo_id, issue.number, *_issue_columns(issue))


async def write_issue(conn: Connection, repo_id: RepoId, issue: Issue) -> None:
    """Change an issue.

    Raises:
        Moved: it changed since it was read.
    """
    key = (repo_id, issue.number, issue.version)
    _check(await conn.fetchval(sql("issue_write"), *key, *_issue_columns(issue)))


async def remove_issue(conn: Connection, repo_id: RepoId, number: int) -> None:
    """Delete an issue."""
    await conn.execute(sql("issue_remove"), repo_id, number)


async def add_run(conn: Connection, repo_id: RepoId, run: Run) -> None:
    """Store a run that begins."""
    await conn.execute(
        sql("run_insert"),
        run.id,
        repo_id,
        run.kind.value,
        run.status.value,
        run.job_id,
        run.candidate_id,
        run.issue_number,
        run.started_at,
        run.finished_at,
    )


async def end_run(conn: Connection, run: Run) -> None:
    """Write the end of a run.

    Raises:
        Moved: it had ended already.
    """
    _check(await conn.fetchval(sql("run_write"), run.id, run.status.value, run.finished_at))


def _check(written: object) -> None:
    if written is None:
        raise Moved


def _pull_columns(pull: Pull) -> tuple[object, ...]:
    return (pull.head_sha, pull.status.value, pull.attempt, pull.job_id)


def _issue_columns(issue: Issue) -> tuple[object, ...]:
    return (
        issue.title,
        issue.score,
        issue.solutions_wanted,
        issue.solutions_done,
        issue.status.value,
        issue.failures,
        issue.next_try_at,
    )


def _candidate(row: Record) -> Candidate:
    return Candidate(
        id=CandidateId(row["id"]),
        focus=row["focus"],
        score=row["score"],
        created_at=row["created_at"],
        status=CandidateStatus(row["status"]),
        failures=row["failures"],
        version=row["version"],
    )


def _pull(row: Record) -> Pull:
    return Pull(
        id=PullId(row["id"]),
        number=row["number"],
        head_sha=row["head_sha"],
        status=PullStatus(row["status"]),
        attempt=row["attempt"],
        job_id=_job_id(row),
        version=row["version"],
    )


def _issue(row: Record) -> Issue:
    return Issue(
        number=row["number"],
        title=row["title"],
        score=row["score"],
        solutions_wanted=row["solutions_wanted"],
        solutions_done=row["solutions_done"],
        status=IssueStatus(row["status"]),
        failures=row["failures"],
        next_try_at=row["next_try_at"],
        version=row["version"],
    )


def _run(row: Record) -> Run:
    carried = row["candidate_id"]
    return Run(
        id=RunId(row["id"]),
        kind=JobKind(row["kind"]),
        started_at=row["started_at"],
        status=RunStatus(row["status"]),
        candidate_id=None if carried is None else CandidateId(carried),
        issue_number=row["issue_number"],
        job_id=_job_id(row),
        finished_at=row["finished_at"],
    )


def _job_id(row: Record) -> JobId | None:
    return None if row["job_id"] is None else JobId(row["job_id"])
