"""Decisions: what past claims were decided on."""

from app.errors import NotFound
from app.fleet import DecisionId
from app.store import explaining
from app.store.explaining import Decision
from app.store.session import Database


async def explain_decision(db: Database, decision_id: DecisionId) -> Decision:
    """Show the record that a claim left.

    Raises:
        NotFound: there is no such decision, or it was pruned.
    """
    async with db.connection() as conn:
        found = await explaining.decision(conn, decision_id)
    if found is None:
        detail = f"There is no decision {decision_id}."
        raise NotFound(detail, decision_id=str(decision_id))
    return found
