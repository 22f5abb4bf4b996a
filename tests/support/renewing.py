"""Renewals by hand: one factory at a time, without the line that gathers them."""

from collections.abc import Sequence

from app.coordinator.finish import LeaseRef
from app.coordinator.renew import LeaseAnswer, Renewal, insist_on, renew_for_all
from app.fleet import FactoryId
from app.store.session import Database


async def renew_all(
    db: Database, factory_id: FactoryId, refs: Sequence[LeaseRef], lease_s: int | None = None
) -> tuple[LeaseAnswer, ...]:
    """Renew leases of a factory, each on its own; one answer for each, in their order."""
    (answers,) = await renew_for_all(
        db, [Renewal(factory_id=factory_id, refs=refs, lease_s=lease_s)]
    )
    return answers


async def renew(
    db: Database, factory_id: FactoryId, ref: LeaseRef, lease_s: int | None = None
) -> LeaseAnswer:
    """Renew one lease, for as long as it was claimed for, or for ``lease_s``.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the lease is lost, or its job's time to run is over.
    """
    (answer,) = await renew_all(db, factory_id, [ref], lease_s)
    return await insist_on(db, factory_id, answer)
