"""The classes this process knows: immutable, so that each is read once; and how fast they drain."""

from collections import Counter
from collections.abc import Iterable

from app.fleet import ClassId, JobClass
from app.heads import Group, Heads
from app.scheduler import Pick
from app.store import claims
from app.store.session import Connection


class Catalog:
    """A memory of all job classes; a miss is impossible after :meth:`refresh`.

    A class that was pruned may stay in memory: looking for its jobs finds none.
    """

    def __init__(self) -> None:
        """Know nothing yet; the first refresh reads everything."""
        self.classes: dict[ClassId, JobClass] = {}
        self._horizon = 0
        self._drained: Counter[Group] = Counter()

    async def refresh(self, conn: Connection) -> None:
        """Read what was made since the last time."""
        new = await claims.new_classes(conn, self._horizon)
        self.classes.update(new.classes)
        self._horizon = new.horizon

    def depth(self, group: Group, most: int) -> int:
        """Guess how many heads of a group a batch of ``most`` picks will use, and one to spare.

        A guess costs or saves a round trip, never an exact answer. A lock is used once.
        """
        if self.classes[group.class_id].lock is not None:
            return 1
        return max(1, min(most, 1 + self._drained[group]))

    def drained(self, supply: Iterable[Heads], picks: Iterable[Pick]) -> None:
        """Remember how many heads of each group the last batch used."""
        used = {pick.job.id for pick in picks}
        self._drained = Counter(
            {heads.group: sum(job.id in used for job in heads.jobs) for heads in supply}
        )
