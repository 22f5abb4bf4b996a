"""What a batch of claims is decided on, read in one round trip and as of one moment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.fleet import ClassId, FactoryId, Job, JobClass, JobId
from app.heads import Group, Heads
from app.store import classes
from app.store.claims import NewClasses
from app.store.factories import MEASURES, FactoryFacts, facts
from app.store.session import Connection, Record
from app.store.sql import sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a reader knows already: classes, those of transactions over at ``horizon``, and jobs."""

    classes: Mapping[ClassId, JobClass]
    horizon: int
    jobs: Mapping[JobId, Job]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Factories and heads as they were at ``now``, the database's time, and new classes.

    Factories that are not registered are left out, and so are groups without a ready job.
    """

    now: datetime
    factories: tuple[FactoryFacts, ...]
    heads: Mapping[Group, Heads]
    new: NewClasses


async def read(
    conn: Connection,
    ids: Collection[FactoryId],
    depths: Mapping[Group, int],
    known: Known,
) -> Reading | None:
    """Read these factories, the heads of these groups, so deep, and classes made since.

    Returns:
        All of it; None if none of the factories is registered.
    """
    plain = [group for group in depths if group.repo is None]
    in_repo = [group for group in depths if group.repo is not None]
    rows = await conn.fetch(
        sql("claim_read"),
        list(ids),
        *MEASURES,
        known.horizon,
        [group.class_id for group in plain],
        [depths[group] for group in plain],
        [group.class_id for group in in_repo],
        [group.repo for group in in_repo],
        [depths[group] for group in in_repo],
    )
    if not rows:
        return None
    first = rows[0]
    new = {ClassId(each["id"]): classes.from_row(each) for each in first["new_classes"] or ()}
    now: datetime = first["now"]
    return Reading(
        now=now,
        # Who claims is alive: its own claim is the sign of life.
        factories=tuple(facts(row, now, now) for row in rows),
        heads=_heads(first, depths, known),
        new=NewClasses(classes=new, horizon=first["xmin"]),
    )


def _heads(row: Record, depths: Mapping[Group, int], known: Known) -> dict[Group, Heads]:
    if row["class_ids"] is None:
        return {}
    found: dict[tuple[ClassId, str | None], list[Job]] = {}
    for class_id, in_repo, job_id, version, repo, created_at in zip(
        row["class_ids"],
        row["in_repos"],
        row["job_ids"],
        row["versions"],
        row["repos_of"],
        row["times"],
        strict=True,
    ):
        job = known.jobs.get(job_id)
        # Most heads are those of the batch before, and a job does not change without its version.
        if job is None or job.version != version:
            job = Job(
                id=job_id,
                job_class=known.classes[class_id],
                created_at=created_at,
                repo=repo,
                version=version,
            )
        found.setdefault((class_id, in_repo), []).append(job)
    return {
        group: Heads(group=group, jobs=tuple(oldest), more=len(oldest) >= depth)
        for group, depth in depths.items()
        if (oldest := found.get(group))
    }
