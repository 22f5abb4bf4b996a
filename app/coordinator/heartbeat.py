"""Heartbeat: a factory says how it is and what it holds, and is told what it should know.

Its leases come first: whatever goes wrong with the rest, they are renewed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.coordinator.cooling import cool
from app.coordinator.finish import LeaseRef
from app.coordinator.renew import LeaseAnswer, Renewal, renew_for_all
from app.errors import Invalid, NotFound, Refusal
from app.fleet import FactoryId, Health
from app.life import next_heartbeat_s
from app.store import pulses
from app.store.pulses import Pulse
from app.store.session import Connection, Database

IDLE_HEARTBEAT_S = 60
"""How often a factory without leases should say that it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a factory says of itself; what is None stays as it was.

    ``cooldown_until``: until when the usage limit of its account holds.
    """

    health: Health | None = None
    external_load: int | None = None
    warm_repos: tuple[str, ...] | None = None
    cooldown_until: datetime | None = None
    leases: tuple[LeaseRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswer:
    """What became of each lease, in their order; whether to wind up; when to call again."""

    leases: tuple[LeaseAnswer, ...]
    drain: bool
    next_heartbeat_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A heartbeat of one factory."""

    factory_id: FactoryId
    beat: Beat


async def heartbeat(db: Database, factory_id: FactoryId, beat: Beat) -> HeartbeatAnswer:
    """Renew all leases of a factory and write down what it says of itself.

    Raises:
        NotFound: no factory is registered under this id.
        Invalid: the cool-down is too long; all else was written.
    """
    (answer,) = await hear_all(db, [Heard(factory_id=factory_id, beat=beat)])
    return insist(answer)


def insist(answer: HeartbeatAnswer | Refusal) -> HeartbeatAnswer:
    """Return the answer that is no refusal.

    Raises:
        Refusal: it is one.
    """
    if isinstance(answer, Refusal):
        raise answer
    return answer


async def hear_all(db: Database, heard: Sequence[Heard]) -> list[HeartbeatAnswer | Refusal]:
    """Answer the heartbeats of several factories, no lease in two of them, none twice in it."""
    renewed = await renew_for_all(
        db, [Renewal(factory_id=each.factory_id, refs=each.beat.leases) for each in heard]
    )
    async with db.connection() as conn:
        drain = await pulses.draining(conn, [each.factory_id for each in heard])
        known = [each for each in heard if each.factory_id in drain]
        await pulses.touch(conn, [_pulse(each) for each in known])
        refused = {each.factory_id: await _cool(conn, each) for each in known}
    return [
        refused[each.factory_id] or _answer(leases, drain=drain[each.factory_id])
        if each.factory_id in refused
        else _nobody(each.factory_id)
        for each, leases in zip(heard, renewed, strict=True)
    ]


async def _cool(conn: Connection, heard: Heard) -> Refusal | None:
    if heard.beat.cooldown_until is not None:
        try:
            await cool(conn, heard.factory_id, heard.beat.cooldown_until)
        except Invalid as refusal:
            return refusal
    return None


def _nobody(factory_id: FactoryId) -> NotFound:
    return NotFound(f"No factory is registered as {factory_id}.")


def _pulse(heard: Heard) -> Pulse:
    return Pulse(
        factory_id=heard.factory_id,
        health=heard.beat.health,
        external_load=heard.beat.external_load,
        warm_repos=heard.beat.warm_repos,
    )


def _answer(leases: tuple[LeaseAnswer, ...], *, drain: bool) -> HeartbeatAnswer:
    lengths = [each.lease_s for each in leases if each.lease_s is not None]
    return HeartbeatAnswer(
        leases=leases,
        drain=drain,
        next_heartbeat_s=next_heartbeat_s(min(lengths)) if lengths else IDLE_HEARTBEAT_S,
    )
