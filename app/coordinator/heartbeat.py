"""Heartbeat: a factory says how it is and what it holds, and is told what it should know.

Its leases come first: whatever goes wrong with the rest, they are renewed.
"""

from dataclasses import dataclass
from datetime import datetime

from app.coordinator.finish import LeaseRef
from app.coordinator.renew import LeaseAnswer, renew_all
from app.errors import NotFound
from app.fleet import FactoryId, Health
from app.life import next_heartbeat_s
from app.store import accounts, pulses
from app.store.pulses import Pulse
from app.store.session import Database

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


async def heartbeat(db: Database, factory_id: FactoryId, beat: Beat) -> HeartbeatAnswer:
    """Renew all leases of a factory and write down what it says of itself.

    Raises:
        NotFound: no factory is registered under this id.
    """
    answers = await renew_all(db, factory_id, beat.leases)
    async with db.connection() as conn:
        drain = await pulses.draining(conn, factory_id)
        if drain is None:
            detail = f"No factory is registered as {factory_id}."
            raise NotFound(detail)
        pulse = Pulse(
            factory_id=factory_id,
            health=beat.health,
            external_load=beat.external_load,
            warm_repos=beat.warm_repos,
        )
        await pulses.touch(conn, [pulse])
        if beat.cooldown_until is not None:
            await accounts.cool_factory(conn, factory_id, beat.cooldown_until)
    lengths = [answer.lease_s for answer in answers if answer.lease_s is not None]
    return HeartbeatAnswer(
        leases=answers,
        drain=drain,
        next_heartbeat_s=next_heartbeat_s(min(lengths)) if lengths else IDLE_HEARTBEAT_S,
    )
