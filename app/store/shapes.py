"""What rankings read: the oldest jobs of classes that are alike, and who is in which repo."""

from collections.abc import Mapping, Sequence

from app.fleet import ClassId, Job, JobClass, JobId
from app.store.session import Connection, Record
from app.store.sql import sql


async def oldest(
    conn: Connection,
    groups: Sequence[Sequence[ClassId]],
    depth: int,
    known: Mapping[ClassId, JobClass],
) -> list[tuple[Job, ...]]:
    """Read the ``depth`` oldest ready jobs of each group of classes whose lock is free."""
    rows = await conn.fetch(
        sql("explain_oldest"),
        [class_id for group in groups for class_id in group],
        [number for number, group in enumerate(groups) for _ in group],
        depth,
    )
    return _by_group(rows, len(groups), known)


async def oldest_in_repos(
    conn: Connection,
    groups: Sequence[Sequence[tuple[ClassId, str]]],
    depth: int,
    known: Mapping[ClassId, JobClass],
) -> list[tuple[Job, ...]]:
    """Read the same of groups of (class, repo)."""
    rows = await conn.fetch(
        sql("explain_oldest_repo"),
        [class_id for group in groups for class_id, _ in group],
        [repo for group in groups for _, repo in group],
        [number for number, group in enumerate(groups) for _ in group],
        depth,
    )
    return _by_group(rows, len(groups), known)


async def repo_classes(
    conn: Connection, repos: Sequence[str], most: int
) -> dict[str, list[ClassId]]:
    """Read in which classes each repo has ready jobs; left out are repos with ``most`` or more."""
    found: dict[str, list[ClassId]] = {repo: [] for repo in repos}
    for row in await conn.fetch(sql("explain_repo_classes"), list(repos), most):
        found[row["repo"]].append(ClassId(row["class_id"]))
    return {repo: ids for repo, ids in found.items() if len(ids) < most}


def _by_group(
    rows: Sequence[Record], count: int, known: Mapping[ClassId, JobClass]
) -> list[tuple[Job, ...]]:
    found: list[list[Job]] = [[] for _ in range(count)]
    for row in rows:
        found[row["shape"]].append(
            Job(
                id=JobId(row["id"]),
                job_class=known[row["class_id"]],
                created_at=row["created_at"],
                repo=row["repo"],
                version=row["version"],
            )
        )
    return [tuple(jobs) for jobs in found]
