"""Enlist: register a factory or change what is known of it; read, list and dismiss factories.

Two callers share one address and mean different things. A *factory* says all of what it is, every
time it starts: what it leaves out takes its default. It never touches what ops decided, neither a
drain nor an override. *Ops* change what they name and nothing else; a ``seat_limit`` or
``cost_ceiling`` from them stands over the factory's own word until they take it back with a null.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from logging import getLogger
from typing import Any

from app.coordinator.paging import Page, page_of, place
from app.errors import FactoryBusy, NotFound, VersionMismatch
from app.fleet import CostClass, FactoryId, FactoryRecord, FactorySpec, Json, Principal, Role
from app.store import enlisting, factories, pulses
from app.store.enlisting import FactorySettings
from app.store.pulses import Pulse
from app.store.retrying import Moved, settled
from app.store.session import Connection, Database
from app.store.wake import wake

OVERRIDABLE = frozenset({"seat_limit", "cost_ceiling"})
"""What ops may decide over a factory's head, and take back with an explicit null."""

_DECLARED = {
    "capabilities": "capabilities",
    "engines": "engines",
    "account": "account",
    "labels": "labels",
    "seat_limit": "declared_seat_limit",
    "cost_ceiling": "declared_cost_ceiling",
}
_OVERRIDES = {"seat_limit": "ops_seat_limit", "cost_ceiling": "ops_cost_ceiling"}
_SIGNS = frozenset({"health", "external_load", "warm_repos"})
_NOBODY: frozenset[FactoryId] = frozenset()
_LOG = getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enlisted:
    """A factory as it now stands, and whether it is new."""

    record: FactoryRecord
    created: bool


async def enlist(
    db: Database,
    spec: FactorySpec,
    *,
    fields_set: frozenset[str],
    by: Principal,
    if_match: int | None = None,
    cleared: frozenset[str] = frozenset(),
) -> Enlisted:
    """Register a factory, or change a registered one.

    Args:
        db: the database.
        spec: what the caller said, with defaults for what was left out.
        fields_set: the fields that were not left out.
        by: a factory that speaks of itself, or ops.
        if_match: the version that the caller has seen, if it must not have moved.
        cleared: overrides that ops take back (they gave null).

    Raises:
        VersionMismatch: ``if_match`` names another version, or the factory is not registered.
        LostRace: others kept changing it.
    """
    own = by.role is Role.FACTORY
    signs = _SIGNS if own else _SIGNS & fields_set
    changes = _own(spec) if own else _by_ops(spec, fields_set - cleared, cleared)

    async def once(conn: Connection) -> Enlisted:
        found = await enlisting.settings(conn, [spec.id])
        _check(if_match, found[0].version if found else None)
        if found:
            await _change(conn, found[0], changes)
            await _hear(conn, spec, signs, own=own)
        else:
            await _register(conn, spec, changes)
        (record,) = await factories.records(conn, [spec.id])
        return Enlisted(record=record, created=not found)

    return await settled(db, once)


async def get_factory(
    db: Database, factory_id: FactoryId, *, waiting: frozenset[FactoryId] = _NOBODY
) -> FactoryRecord:
    """Read a factory; one that is ``waiting`` at the desk is not stale.

    Raises:
        NotFound: nobody is registered under the id.
    """
    async with db.connection() as conn:
        return await record_of(conn, factory_id, waiting=waiting)


async def list_factories(
    db: Database, cursor: str | None, limit: int, *, waiting: frozenset[FactoryId] = _NOBODY
) -> Page[FactoryRecord]:
    """List factories by id.

    Raises:
        Invalid: the cursor is none of this list.
    """
    after = place(cursor, _read_id)
    async with db.connection() as conn:
        ids = await factories.page(conn, after=after, limit=limit + 1)
        found = await factories.records(conn, ids, waiting=waiting)
    return page_of(found, limit, lambda record: record.spec.id)


async def dismiss(
    db: Database, factory_id: FactoryId, *, by: Principal, if_match: int | None = None
) -> None:
    """Forget a factory; what it did stays in the history of its jobs.

    Raises:
        NotFound: nobody is registered under the id.
        FactoryBusy: it holds leases; drain it first.
        VersionMismatch: ``if_match`` names another version.
    """
    async with db.transaction() as conn:
        used = await enlisting.lock_seats(conn, factory_id)
        found = await enlisting.settings(conn, [factory_id])
        if used is None or not found:
            raise not_registered(factory_id)
        _check(if_match, found[0].version)
        if used > 0:
            detail = f"{factory_id} still holds {used} lease(s); drain it and wait, or end them."
            raise FactoryBusy(detail, seats_used=used)
        await enlisting.remove(conn, factory_id)
    _LOG.info("factory dismissed", extra={"factory_id": factory_id, "by": by.name})


async def record_of(
    conn: Connection, factory_id: FactoryId, *, waiting: frozenset[FactoryId] = _NOBODY
) -> FactoryRecord:
    """Read a factory on the caller's connection.

    Raises:
        NotFound: nobody is registered under the id.
    """
    found = await factories.records(conn, [factory_id], waiting=waiting)
    if not found:
        raise not_registered(factory_id)
    return found[0]


def not_registered(factory_id: FactoryId) -> NotFound:
    """Say that nobody is registered under the id."""
    return NotFound(f"No factory is registered as {factory_id}.")


def _own(spec: FactorySpec) -> dict[str, Any]:
    """Say all of what the factory is."""
    return {column: getattr(spec, name) for name, column in _DECLARED.items()}


def _by_ops(spec: FactorySpec, named: frozenset[str], cleared: frozenset[str]) -> dict[str, Any]:
    """Say what ops named: settings, overrides that they set, and those that they take back."""
    settings = {
        _OVERRIDES.get(name, column): getattr(spec, name)
        for name, column in _DECLARED.items()
        if name in named
    }
    return settings | {_OVERRIDES[name]: None for name in cleared & OVERRIDABLE}


async def _register(conn: Connection, spec: FactorySpec, changes: Mapping[str, Any]) -> None:
    blank = FactorySettings(
        id=spec.id,
        version=1,
        now=await factories.now(conn),
        capabilities=frozenset(),
        engines=frozenset(),
        declared_cost_ceiling=CostClass.HIGH,
        declared_seat_limit=1,
    )
    pulse = _pulse(spec, _SIGNS, seen=True)
    if not await enlisting.register(conn, replace(blank, **changes), pulse):
        raise Moved
    await wake(conn)


async def _change(conn: Connection, before: FactorySettings, changes: Mapping[str, Any]) -> None:
    after = replace(before, **changes)
    if after == before:
        return
    if not await enlisting.write(conn, after):
        raise Moved
    await wake(conn)


async def _hear(conn: Connection, spec: FactorySpec, signs: frozenset[str], *, own: bool) -> None:
    if signs:
        await pulses.touch(conn, [_pulse(spec, signs, seen=own)])


def _pulse(spec: FactorySpec, signs: frozenset[str], *, seen: bool) -> Pulse:
    return Pulse(
        factory_id=spec.id,
        seen=seen,
        health=spec.health if "health" in signs else None,
        external_load=spec.external_load if "external_load" in signs else None,
        warm_repos=spec.warm_repos if "warm_repos" in signs else None,
    )


def _check(if_match: int | None, version: int | None) -> None:
    if if_match is not None and if_match != version:
        detail = "The factory has changed since you read it, or is not registered any more."
        raise VersionMismatch(detail, current_version=version)


def _read_id(where: Json) -> FactoryId:
    if not isinstance(where, str):
        raise TypeError
    return FactoryId(where)
