"""Explain a repo: what its last cycle came to, and what its next would do.

The next is asked of the very code that a tick runs, in a transaction that is rolled back.
"""

from dataclasses import dataclass

from app.coordinator.repo_book import no_such_repo
from app.coordinator.repo_cycle import Cycle, run_cycle
from app.coordinator.repo_forge import Sight
from app.fleet import JsonObject
from app.repo import RepoId
from app.store import repos
from app.store.retrying import settled_within
from app.store.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoExplanation:
    """The last cycle as it was recorded (None before the first), and the next as it is decided."""

    repo_id: RepoId
    last: JsonObject | None
    next: Cycle


async def explain_repo(db: Database, repo_id: RepoId) -> RepoExplanation:
    """Say why a repo did what it did, and what it would do now.

    Raises:
        NotFound: there is no such repo.
        LostRace: others kept changing it.
    """
    async with db.connection() as conn:
        found = (await repos.by_ids(conn, [repo_id])).get(repo_id)
        if found is None:
            raise no_such_repo(repo_id)
        rehearsal = conn.transaction()
        await rehearsal.start()
        try:
            cycle = await settled_within(conn, lambda: run_cycle(conn, repo_id, Sight()))
        finally:
            await rehearsal.rollback()
    return RepoExplanation(repo_id=repo_id, last=found.last_cycle, next=cycle)
