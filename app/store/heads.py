"""Heads: the few rows of each group that a claim is decided on (:mod:`app.heads`)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeAlias

from app.fleet import ClassId, Job, JobClass, JobId
from app.heads import Group, Heads, Kin
from app.store.session import Connection
from app.store.sql import sql

WALKED: Final = 60
"""So many jobs of a kin are looked at first: the locks of some are held, but hardly of so many."""

Row: TypeAlias = tuple[
    ClassId, Kin | None, str | None, str | None, JobId, int, str | None, datetime
]
"""One head, as the columns of ``claim_heads_all``; plain, as a claim reads one of each class."""


async def heads(
    conn: Connection,
    depths: Mapping[Group, int],
    of_each: int,
    known: Mapping[ClassId | Kin, JobClass],
    walked: int = WALKED,
) -> dict[Group, Heads]:
    """Read the oldest rows of each group, as deep as asked.

    Groups without a row are left out.

    Args:
        conn: where.
        depths: how many rows of each group.
        of_each: how many jobs of each class of a kin.
        known: the class, or kin, that each group is of.
        walked: how many jobs of a kin are looked at, at least, before each of its classes is.
    """
    rows = await conn.fetch(sql("claim_heads_all"), *arguments(depths, of_each, walked))
    return assemble((tuple(row.values()) for row in rows), depths, known, {})


def arguments(depths: Mapping[Group, int], of_each: int, walked: int = WALKED) -> Sequence[Any]:
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
        walked,
        [group.of for group in kin_in_repo],
        [group.repo for group in kin_in_repo],
        [depths[group] for group in kin_in_repo],
        of_each,
        walked,
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
    found: dict[tuple[ClassId | Kin, str | None], list[Job]] = {}
    for class_id, kin, in_repo, lock, job_id, version, repo, created_at in rows:
        of = class_id if kin is None else kin
        job = jobs.get(job_id)
        # Most heads are those of the batch before, and a job does not change without its version.
        if job is None or job.version != version:
            job_class = known[of]
            job = Job(
                id=job_id,
                job_class=job_class if lock is None else replace(job_class, lock=lock),
                created_at=created_at,
                repo=repo,
                version=version,
            )
        oldest = found.get((of, in_repo))
        if oldest is None:
            found[of, in_repo] = [job]
        else:
            oldest.append(job)
    return {
        group: Heads(group, known[group.of], tuple(oldest), len(oldest) >= depth)
        for group, depth in depths.items()
        if (oldest := found.get(group))
    }
