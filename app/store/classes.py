"""Job classes: found or made by their content, and read by those who have not seen them yet."""

import hashlib
from collections.abc import Iterable, Mapping

import orjson

from app.fleet import ClassId, CostClass, FactoryId, JobClass, Priority
from app.heads import Kin
from app.shapes import shape_of
from app.store.retrying import Moved
from app.store.session import Connection, Record
from app.store.sql import sql

_TRIES_MAX = 8


def digest(job_class: JobClass) -> bytes:
    """Return the SHA-256 of a class's canonical form, by which the same class is found again."""
    canonical = orjson.dumps(
        [
            sorted(job_class.required),
            job_class.prefers_engine,
            job_class.cost_class,
            job_class.priority,
            job_class.lock,
            sorted(job_class.excluded),
        ]
    )
    return hashlib.sha256(canonical).digest()


def kin(job_class: JobClass) -> Kin | None:
    """Name the kin that a class with a lock belongs to: the digest of all but the lock."""
    return None if job_class.lock is None else Kin(digest(shape_of(job_class)))


async def intern(conn: Connection, classes: Iterable[JobClass]) -> dict[JobClass, ClassId]:
    """Return the id of each class, making those that are new, and the locks that they name.

    In the caller's transaction, which keeps the locks of new classes until these are there for all.
    Rows are taken in the order of their digest, so that two callers with the same new classes wait
    for each other and never in a ring. One that was found may be pruned while others are made; then
    it is made, too.

    Raises:
        Moved: they were pruned as often as they were made.
    """
    wanted = sorted({digest(each): each for each in classes}.items())
    if not wanted:
        return {}
    by_digest = dict(wanted)
    for _ in range(_TRIES_MAX):
        found = await conn.fetch(sql("class_find"), list(by_digest))
        missing = by_digest.keys() - {row["digest"] for row in found}
        if not missing:
            return {by_digest[row["digest"]]: ClassId(row["id"]) for row in found}
        await _make(conn, [by_digest[key] for key in sorted(missing)])
    raise Moved


async def by_id(conn: Connection, ids: Iterable[ClassId]) -> dict[ClassId, JobClass]:
    """Return the classes of these ids; one that was pruned is left out."""
    rows = await conn.fetch(sql("class_by_id"), list(ids))
    return {ClassId(row["id"]): from_row(row) for row in rows}


def from_row(row: Record | Mapping[str, object]) -> JobClass:
    """Translate a row of ``job_class``, or one that carries its columns."""
    lock = row["lock"]
    engine = row["prefers_engine"]
    required, excluded = row["required"], row["excluded"]
    assert isinstance(required, list)  # noqa: S101 - narrows what the driver returns for text[]
    assert isinstance(excluded, list)  # noqa: S101 - as above
    return JobClass(
        required=frozenset(required),
        prefers_engine=None if engine is None else str(engine),
        cost_class=CostClass(str(row["cost_class"])),
        priority=Priority(str(row["priority"])),
        lock=None if lock is None else str(lock),
        excluded=frozenset(FactoryId(each) for each in excluded),
    )


async def _make(conn: Connection, classes: list[JobClass]) -> None:
    await _make_locks(conn, sorted({each.lock for each in classes if each.lock is not None}))
    for each in classes:
        await conn.execute(
            sql("class_make"),
            digest(each),
            sorted(each.required),
            each.prefers_engine,
            each.cost_class.value,
            each.priority.value,
            each.lock,
            sorted(each.excluded),
            kin(each),
        )


async def _make_locks(conn: Connection, names: list[str]) -> None:
    """Make the rows of these locks, or keep those that are there until the class is."""
    missing = set(names)
    for _ in range(_TRIES_MAX):
        if not missing:
            return
        rows = await conn.fetch(sql("lock_make"), sorted(missing))
        missing -= {row["name"] for row in rows}
    raise Moved
