"""Quarantine: take a factory out for a while whose last jobs all failed at once.

It is entered here, at the end of a failed lease or by the lease loop, and ends by itself or by a
resume. At most a third of the registered factories are in it at once, which a count can only hold
to if one at a time counts: an advisory lock, which is not waited for, since the lease loop comes
again. A failure counts for one quarantine only: the next one takes a new failure, of a job claimed
after the last quarantine ended.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from app.fleet import FactoryId
from app.health import quarantine, quarantine_room
from app.store import enlisting
from app.store import quarantine as stored
from app.store.enlisting import FactorySettings
from app.store.quarantine import Past
from app.store.session import Connection


async def quarantine_if_due(
    conn: Connection, factory_ids: Iterable[FactoryId]
) -> tuple[FactoryId, ...]:
    """Put those of these factories in quarantine that are due, as far as there is room.

    Args:
        conn: a transaction of its own, since it locks seats.
        factory_ids: the factories where a lease has failed.

    Returns:
        Those that are in quarantine by this call.
    """
    ids = sorted(set(factory_ids))
    if not ids or not await stored.try_lock(conn):
        return ()
    past = await stored.past(conn, ids)
    census = await stored.census(conn)
    room = quarantine_room(census.registered, census.quarantined)
    entered: list[FactoryId] = []
    for before in await enlisting.settings(conn, list(past)):
        if len(entered) == room:
            break
        after = _entered(before, past[before.id])
        if after is not None and await enlisting.write(conn, after):
            entered.append(before.id)
    return tuple(entered)


def _entered(before: FactorySettings, past: Past) -> FactorySettings | None:
    """Its settings if it enters quarantine now; None if that is not due."""
    last = before.quarantined_until
    if last is not None and not _failed_anew(past, last):
        return None
    strikes = 0 if last is None or past.succeeded_since else before.quarantine_strikes
    until = quarantine(past.leases, before.now, strikes)
    if until is None:
        return None
    return replace(before, quarantined_until=until, quarantine_strikes=strikes + 1)


def _failed_anew(past: Past, last: datetime) -> bool:
    return any(lease.claimed_at >= last for lease in past.leases)
