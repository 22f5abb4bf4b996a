"""Decisions: what past claims were decided on, and whether they would be decided so again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.coordinator.paging import Page, page_of, place
from app.coordinator.reads import get_job
from app.errors import NotFound
from app.fleet import DecisionId, JobId, Json
from app.replay import Difference, replay
from app.sentences import decision_headline
from app.store import decisions, explaining
from app.store.decisions import Decision, DecisionFilter, Receipt
from app.store.session import Database

__all__ = [
    "Decision",
    "DecisionExplanation",
    "DecisionFilter",
    "Receipt",
    "explain_decision",
    "lease_receipts",
    "list_decisions",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionExplanation:
    """The record of a claim, and what today's scheduler would decide otherwise: mostly nothing.

    ``kinds`` are those of the jobs that it speaks of, as far as they still exist.
    """

    decision: Decision
    headline: str
    kinds: Mapping[JobId, str]
    differences: tuple[Difference, ...]


async def explain_decision(db: Database, decision_id: DecisionId) -> DecisionExplanation:
    """Show the record that a claim left, and replay it.

    Raises:
        NotFound: there is no such decision, or it was pruned.
    """
    async with db.connection() as conn:
        found = await decisions.decision(conn, decision_id)
        named = [] if found is None else _named(found)
        kinds = await explaining.kinds(conn, named)
    if found is None:
        detail = f"There is no decision {decision_id}."
        raise NotFound(detail, decision_id=str(decision_id))
    return DecisionExplanation(
        decision=found,
        headline=_headline(found, kinds.get(found.job_id)),
        kinds=kinds,
        differences=replay(found.record),
    )


async def list_decisions(
    db: Database, wanted: DecisionFilter, cursor: str | None, limit: int
) -> Page[Decision]:
    """Read a page of decisions, newest first.

    Raises:
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _decision_id)
    async with db.connection() as conn:
        found = await decisions.page(conn, wanted, after=after, limit=limit + 1)
    return page_of(found, limit, lambda each: str(each.id))


async def lease_receipts(
    db: Database, job_id: JobId, cursor: str | None, limit: int
) -> Page[Receipt]:
    """Read a page of the leases that a job had, the oldest first.

    Raises:
        NotFound: there is no such job.
        Invalid: the cursor is none of ours.
    """
    after = place(cursor, _fence) or 0
    await get_job(db, job_id)
    async with db.connection() as conn:
        found = await decisions.receipts(conn, job_id, after=after, limit=limit + 1)
    return page_of(found, limit, lambda each: each.fence)


def _named(found: Decision) -> list[JobId]:
    """List the jobs that a record speaks of: the picked one, the runners-up, the lost ones."""
    record: dict[str, Any] = dict(found.record)
    others = [each["job_id"] for each in [*record["runners_up"], *record["lost"]]]
    return [found.job_id, *(JobId(UUID(each)) for each in others)]


def _headline(found: Decision, kind: str | None) -> str:
    record: dict[str, Any] = dict(found.record)
    job = f"{found.job_id} ({kind})" if kind else f"{found.job_id}"
    return decision_headline(
        found.factory_id,
        job,
        total=found.total,
        rank=record["rank"],
        margin=record["margin"],
    )


def _decision_id(key: Json) -> DecisionId:
    if not isinstance(key, str):
        raise TypeError
    return DecisionId(UUID(key))


def _fence(key: Json) -> int:
    if type(key) is not int or not 0 <= key < 2**63:
        raise TypeError
    return key
