"""What a batch of claims is decided on, read in one round trip and as of one moment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.fleet import ClassId, FactoryId, Job, JobClass, JobId
from app.heads import Group, Heads, Kin
from app.store import classes, heads
from app.store.claims import NewClasses
from app.store.factories import MEASURES, FactoryFacts, facts
from app.store.session import Connection, Record
from app.store.sql import sql

_COLUMNS = ("class_ids", "kins", "in_repos", "locks", "job_ids", "versions", "repos_of", "times")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a reader knows already: what groups are of, classes until ``horizon``, and jobs."""

    groups: Mapping[ClassId | Kin, JobClass]
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
    of_each: int,
    known: Known,
) -> Reading | None:
    """Read these factories, the heads of these groups, so deep, and classes made since.

    Of each class of a kin ``of_each`` jobs are looked at.

    Returns:
        All of it; None if none of the factories is registered.
    """
    rows = await conn.fetch(
        sql("claim_read"), list(ids), *MEASURES, known.horizon, *heads.arguments(depths, of_each)
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
        new=NewClasses(classes=new, since=known.horizon, horizon=first["xmin"]),
    )


def _heads(row: Record, depths: Mapping[Group, int], known: Known) -> dict[Group, Heads]:
    if row["class_ids"] is None:
        return {}
    rows = zip(*(row[name] for name in _COLUMNS), strict=True)
    return heads.assemble(rows, depths, known.groups, known.jobs)
