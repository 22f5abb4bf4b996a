"""Standing: ops drain or pause a factory, and let it go on.

Both keep it from being given anything new; what it holds, it finishes. The word is what a person
says: a *drain* is on the way to being empty, which its heartbeats are told, a *pause* is not. A
second word replaces the first. Either ends by itself at its ``until``, and with a resume, which
lifts quarantine too: whoever resumes a machine has looked at it, so that its old failures do not
count again and the next quarantine, should there be one, is a first. It also lifts the cool-down of
the machine's account, for all who share that.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from app.coordinator.enlist import not_registered, record_of
from app.coordinator.standing_until import ahead
from app.fleet import FactoryId, FactoryRecord, Principal, Standing
from app.store import accounts, enlisting
from app.store.enlisting import FactorySettings
from app.store.retrying import Moved, settled
from app.store.session import Connection, Database
from app.store.wake import wake


async def drain(
    db: Database, factory_id: FactoryId, *, reason: str, until: datetime | None, by: Principal
) -> FactoryRecord:
    """Let a factory finish what it holds and get nothing new.

    Raises:
        NotFound: nobody is registered under the id.
        Invalid: ``until`` is past.
        LostRace: others kept changing it.
    """
    standing = Standing(reason=reason, by=by.name, until=until)
    return await _change(db, factory_id, lambda before: _drained(before, standing))


async def pause(
    db: Database, factory_id: FactoryId, *, reason: str, until: datetime | None, by: Principal
) -> FactoryRecord:
    """Give a factory nothing new for a while.

    Raises:
        NotFound: nobody is registered under the id.
        Invalid: ``until`` is past.
        LostRace: others kept changing it.
    """
    standing = Standing(reason=reason, by=by.name, until=until)
    return await _change(db, factory_id, lambda before: _paused(before, standing))


async def resume(db: Database, factory_id: FactoryId, *, by: Principal) -> FactoryRecord:
    """Lift a factory's drain, pause and quarantine and its account's cool-down, whichever there is.

    Raises:
        NotFound: nobody is registered under the id.
        LostRace: others kept changing it.
    """
    del by  # a resume leaves nothing that could name anybody
    return await _change(db, factory_id, _resumed, warms=True)


def _drained(before: FactorySettings, standing: Standing) -> FactorySettings:
    return replace(before, drain=ahead(standing, before.now))


def _paused(before: FactorySettings, standing: Standing) -> FactorySettings:
    return replace(before, pause=ahead(standing, before.now))


def _resumed(before: FactorySettings) -> FactorySettings:
    free = replace(before, drain=None, pause=None)
    if before.quarantined_until is None:
        return free
    return replace(
        free, quarantined_until=None, quarantine_strikes=0, quarantine_lifted_at=before.now
    )


async def _change(
    db: Database,
    factory_id: FactoryId,
    decide: Callable[[FactorySettings], FactorySettings],
    *,
    warms: bool = False,
) -> FactoryRecord:
    async def once(conn: Connection) -> FactoryRecord:
        found = await enlisting.settings(conn, [factory_id])
        if not found:
            raise not_registered(factory_id)
        after = decide(found[0])
        changed = after != found[0]
        if changed and not await enlisting.write(conn, after):
            raise Moved
        warmed = warms and await accounts.warm_factory(conn, factory_id)
        if changed or warmed:
            await wake(conn)
        return await record_of(conn, factory_id)

    return await settled(db, once)
