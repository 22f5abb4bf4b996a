"""Completions by hand: one report at a time, without the line that gathers them."""

from collections.abc import Sequence

from app.coordinator.complete import Completion, Finished, Report, complete_all
from app.coordinator.receipts import insist
from app.fleet import FactoryId
from app.store.session import Database


async def complete(
    db: Database, factory_id: FactoryId, completions: Sequence[Completion]
) -> Finished:
    """Complete leases of a factory, each on its own."""
    report = Report(factory_id=factory_id, completions=completions)
    return (await complete_all(db, [report]))[0]


async def complete_one(db: Database, factory_id: FactoryId, completion: Completion) -> Finished:
    """Complete one lease.

    Raises:
        NotFound: there is no such job.
        Forbidden: the lease is another factory's.
        StaleFence: the fence is not open.
    """
    finished = await complete(db, factory_id, [completion])
    insist(finished.outcomes[0])
    return finished
