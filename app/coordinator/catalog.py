"""The classes this process knows: immutable, so that each is read once."""

from app.fleet import ClassId, JobClass
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

    async def refresh(self, conn: Connection) -> None:
        """Read what was made since the last time."""
        new = await claims.new_classes(conn, self._horizon)
        self.classes.update(new.classes)
        self._horizon = new.horizon
