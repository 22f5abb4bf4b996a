"""Signs of life: what factories say of themselves between their registrations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from app.fleet import FactoryId, Health
from app.store.session import Connection
from app.store.sql import sql
from app.store.wake import wake

TOUCH_PAUSE_S = 30
"""A sign of life is written at most so often: half of the interval of plain heartbeats."""

TOUCHED_AT_ONCE = 200
"""The statement's work grows with the square of how many it writes, and it keeps them locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """What is heard of a factory: ``seen`` from itself; what is None stays as it was."""

    factory_id: FactoryId
    seen: bool = True
    health: Health | None = None
    external_load: int | None = None
    warm_repos: tuple[str, ...] | None = None


async def touch(conn: Connection, beats: Iterable[Pulse]) -> None:
    """Write signs of life of factories, :data:`TOUCHED_AT_ONCE` of them in a statement.

    Unknown ones are passed over. A mere sign of life is not written again within
    :data:`TOUCH_PAUSE_S`; news are, at once. One that is up again after it was down wakes the
    desks. In a longer transaction this comes after everything that locks seats or jobs.
    """
    merged: dict[FactoryId, Pulse] = {}
    for beat in beats:
        merged[beat.factory_id] = _merge(merged.get(beat.factory_id), beat)
    news = list(merged.values())
    for first in range(0, len(news), TOUCHED_AT_ONCE):
        await _touch(conn, news[first : first + TOUCHED_AT_ONCE])


async def _touch(conn: Connection, news: Sequence[Pulse]) -> None:
    rows = await conn.fetch(
        sql("factory_touch"),
        [beat.factory_id for beat in news],
        [beat.seen for beat in news],
        [beat.health for beat in news],
        [beat.external_load for beat in news],
        [
            None if beat.warm_repos is None else orjson.dumps(beat.warm_repos).decode()
            for beat in news
        ],
        TOUCH_PAUSE_S,
    )
    if any(row["up_again"] for row in rows):
        await wake(conn)


async def draining(conn: Connection, factory_ids: Iterable[FactoryId]) -> dict[FactoryId, bool]:
    """Tell which factories are being drained; those that are not registered are left out."""
    rows = await conn.fetch(sql("heartbeat_drain"), list(factory_ids))
    return {FactoryId(row["id"]): row["drain"] for row in rows}


def _merge(old: Pulse | None, new: Pulse) -> Pulse:
    if old is None:
        return new
    return Pulse(
        factory_id=new.factory_id,
        seen=old.seen or new.seen,
        health=old.health if new.health is None else new.health,
        external_load=old.external_load if new.external_load is None else new.external_load,
        warm_repos=old.warm_repos if new.warm_repos is None else new.warm_repos,
    )
