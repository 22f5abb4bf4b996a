"""A claim that is repeated under its idempotency key gets its leases again, never others.

The key's row is written by the claim itself, so a claim that is still waiting has stored nothing
and its repeat simply waits beside it. What the key names may have ended meanwhile: only leases that
are still open are shown, renewed; if none is, the key is spent.
"""

from collections.abc import Iterable, Sequence

from app.coordinator.claim import Claim, Want
from app.coordinator.waiting import Waiter
from app.errors import ClaimKeySpent, Refusal
from app.fleet import FactoryId
from app.life import next_heartbeat_s
from app.store import claims, leases
from app.store.claims import LeaseId, StandingLease
from app.store.session import Connection


async def answer_repeats(conn: Connection, waiters: Iterable[Waiter]) -> None:
    """Answer those of these claims whose key was used before.

    Whoever got something did not: the key is taken by the claim itself, or the claim fails.
    """
    keyed = [waiter for waiter in waiters if waiter.request.key is not None]
    answers = await repeats(conn, [waiter.want for waiter in keyed])
    for waiter in keyed:
        match answers.get((waiter.request.factory_id, waiter.request.key)):
            case None:
                pass
            case Refusal() as refusal:
                waiter.refuse(refusal)
            case got:
                waiter.settle(got)


async def repeats(
    conn: Connection, wants: Sequence[Want]
) -> dict[tuple[FactoryId, str | None], tuple[Claim, ...] | ClaimKeySpent]:
    """Answer those wants whose key was used before; the others are left out."""
    pairs = [(want.factory_id, want.key) for want in wants if want.key is not None]
    if not pairs:
        return {}
    used = await claims.keys(conn, pairs)
    answers: dict[tuple[FactoryId, str | None], tuple[Claim, ...] | ClaimKeySpent] = {}
    for (factory_id, key), held in used.items():
        current = await still_current(conn, factory_id, held)
        detail = "Every lease that the claim with this key got is over; claim with a new key."
        answers[factory_id, key] = current or ClaimKeySpent(detail, idempotency_key=key)
    return answers


async def still_current(
    conn: Connection, factory_id: FactoryId, held: Sequence[LeaseId]
) -> tuple[Claim, ...]:
    """Renew those of a factory's leases that are still open, and show them as claims."""
    await leases.renew(conn, factory_id, held)
    return tuple(_claim(lease) for lease in await claims.standing(conn, factory_id, held))


def _claim(lease: StandingLease) -> Claim:
    return Claim(
        job=lease.job,
        fence=lease.job.fence,
        expires_at=lease.expires_at,
        next_heartbeat_s=next_heartbeat_s(lease.lease_s),
        score=lease.score,
        decision_id=lease.decision_id,
    )
