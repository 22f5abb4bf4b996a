"""Heads: the few rows of each group that a claim is decided on (:mod:`app.heads`)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.fleet import ClassId, Job, JobClass, JobId
from app.heads import Group, Heads, Kin
from app.store.session import Connection, Record
from app.store.sql import sql


class Row(NamedTuple):
    """One head, as the columns of ``claim_heads_all``."""

    class_id: int
    kin: bytes | None
    in_repo: str | None
    lock: str | None
    id: UUID
    version: int
    repo: str | None
    created_at: datetime


async def heads(
    conn: Connection,
    depths: Mapping[Group, int],
    of_each: int,
    known: Mapping[ClassId | Kin, JobClass],
) -> dict[Group, Heads]:
    """Read the oldest rows of each group, as deep as asked.

    Groups without a row are left out.

    Args:
        conn: where.
        depths: how many rows of each group.
        of_each: how many jobs of each class of a kin.
        known: the class, or kin, that each group is of.
    """
    rows = await conn.fetch(sql("claim_heads_all"), *arguments(depths, of_each))
    return assemble(map(_row, rows), depths, known, {})


def arguments(depths: Mapping[Group, int], of_each: int) -> Sequence[Any]:
    """Put together what ``claim_heads_all`` is to be given."""
    sorts: defaultdict[tuple[bool, bool], list[Group]] = defaultdict(list)
    for group in depths:
        sorts[group.is_kin, group.repo is not None].append(group)
    plain, in_repo = sorts[False, False], sorts[False, True]
    kin, kin_in_repo = sorts[True, False], sorts[True, True]
    return (
        [group.of for group in plain],
        [depths[group] for group in plain],
        [group.of for group in in_repo],
        [group.repo for group in in_repo],
        [depths[group] for group in in_repo],
        [group.of for group in kin],
        [depths[group] for group in kin],
        of_each,
        [group.of for group in kin_in_repo],
        [group.repo for group in kin_in_repo],
        [depths[group] for group in kin_in_repo],
        of_each,
    )


def assemble(
    rows: Iterable[Row],
    depths: Mapping[Group, int],
    known: Mapping[ClassId | Kin, JobClass],
    jobs: Mapping[JobId, Job],
) -> dict[Group, Heads]:
    """Put rows together to the heads of their groups.

    A class with a lock need not have been heard of: it is what its kin is, and its lock.

    Args:
        rows: in the order of their groups' rows.
        depths: what was asked for.
        known: the class, or kin, that each group is of.
        jobs: jobs as they were when they were last read.
    """
    found: dict[tuple[int | bytes, str | None], list[Job]] = {}
    for class_id, kin, in_repo, lock, job_id, version, repo, created_at in rows:
        of = class_id if kin is None else kin
        job = jobs.get(JobId(job_id))
        # Most heads are those of the batch before, and a job does not change without its version.
        if job is None or job.version != version:
            job_class = known[ClassId(class_id) if kin is None else Kin(kin)]
            job = Job(
                id=JobId(job_id),
                job_class=job_class if lock is None else replace(job_class, lock=lock),
                created_at=created_at,
                repo=repo,
                version=version,
            )
        found.setdefault((of, in_repo), []).append(job)
    return {
        group: Heads(
            group=group, job_class=known[group.of], jobs=tuple(oldest), more=len(oldest) >= depth
        )
        for group, depth in depths.items()
        if (oldest := found.get(group))
    }


def _row(row: Record) -> Row:
    return Row(*row.values())
