"""Reports: what factories say all the time, gathered so that many share a statement.

Completions are one line, heartbeats another, renewals a third; each is served batch by batch, see
:mod:`app.coordinator.combining`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.coordinator import complete as completing
from app.coordinator import heartbeat
from app.coordinator.combining import Combiner
from app.coordinator.complete import Completion, Finished, Report, claim_key
from app.coordinator.desk import ClaimDesk
from app.coordinator.finish import LeaseRef
from app.coordinator.heartbeat import Beat, Heard, HeartbeatAnswer, hear_all
from app.coordinator.receipts import insist
from app.coordinator.renew import LeaseAnswer, Renewal, insist_on, renew_for_all
from app.coordinator.waiting import ClaimRequest, Nothing
from app.errors import Refusal
from app.fleet import FactoryId
from app.store.claims import LeaseId
from app.store.session import Database


class Reports:
    """Takes the reports of one process."""

    def __init__(self, db: Database, desk: ClaimDesk) -> None:
        """Begin with none.

        Args:
            db: where they are written.
            desk: where the next jobs are claimed for those who ask for them.
        """
        self._db = db
        self._desk = desk
        self._completions = Combiner(self._complete, completing.touches)
        self._renewals = Combiner(self._renew, _renewed)
        self._heartbeats = Combiner(self._hear, _heard)

    async def complete(
        self, factory_id: FactoryId, completions: Sequence[Completion], claim_next: int = 0
    ) -> Finished:
        """Complete leases of a factory, each on its own, and claim its next jobs.

        Nothing is claimed by a report that neither completed anything nor repeats one that did.
        """
        report = Report(factory_id=factory_id, completions=completions)
        finished = await self._completions.ask(report)
        return await self._and_claim(report, finished, claim_next)

    async def complete_one(
        self, factory_id: FactoryId, completion: Completion, claim_next: int = 0
    ) -> Finished:
        """Complete one lease, and claim the factory's next jobs.

        Raises:
            NotFound: there is no such job.
            Forbidden: the lease is another factory's.
            StaleFence: the fence is not open.
        """
        report = Report(factory_id=factory_id, completions=[completion])
        finished = await self._completions.ask(report)
        insist(finished.outcomes[0])
        return await self._and_claim(report, finished, claim_next)

    async def _and_claim(self, report: Report, finished: Finished, claim_next: int) -> Finished:
        """Claim what is next; that there is nothing, for whatever reason, undoes no completion."""
        if not claim_next or not finished.counts:
            return finished
        asked = ClaimRequest(
            factory_id=report.factory_id, max_jobs=claim_next, key=claim_key(report)
        )
        try:
            claims = await self._desk.claim(asked)
        except Refusal:
            return finished
        return finished if isinstance(claims, Nothing) else replace(finished, claims=claims)

    async def renew(
        self, factory_id: FactoryId, ref: LeaseRef, lease_s: int | None = None
    ) -> LeaseAnswer:
        """Renew one lease, for as long as it was claimed for, or for ``lease_s``.

        Raises:
            NotFound: there is no such job.
            Forbidden: the lease is another factory's.
            StaleFence: the lease is lost, or its job's time to run is over.
        """
        renewal = Renewal(factory_id=factory_id, refs=[ref], lease_s=lease_s)
        (answer,) = await self._renewals.ask(renewal)
        return await insist_on(self._db, factory_id, answer)

    async def heartbeat(self, factory_id: FactoryId, beat: Beat) -> HeartbeatAnswer:
        """Renew all leases of a factory and write down what it says of itself.

        Raises:
            NotFound: no factory is registered under this id.
            Invalid: the cool-down is too long; all else was written.
        """
        answer = await self._heartbeats.ask(Heard(factory_id=factory_id, beat=beat))
        return heartbeat.insist(answer)

    async def close(self) -> None:
        """Take no more, and serve those who wait."""
        for line in (self._completions, self._renewals, self._heartbeats):
            await line.close()

    async def _complete(self, reports: Sequence[Report]) -> Sequence[Finished]:
        return await completing.complete_all(self._db, reports)

    async def _renew(self, renewals: Sequence[Renewal]) -> Sequence[tuple[LeaseAnswer, ...]]:
        return await renew_for_all(self._db, renewals)

    async def _hear(self, heard: Sequence[Heard]) -> Sequence[HeartbeatAnswer | Refusal]:
        return await hear_all(self._db, heard)


def _renewed(renewal: Renewal) -> Iterable[LeaseId]:
    return renewal.refs


def _heard(heard: Heard) -> Iterable[LeaseId | FactoryId]:
    return (heard.factory_id, *heard.beat.leases)
