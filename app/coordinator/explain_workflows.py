"""Explain workflows: why each did or did not start at the last tick, and what the next would do.

The next is not guessed: it is the tick itself, in a dry run.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.coordinator import board as boards
from app.coordinator.board import Rules
from app.coordinator.forge_port import Forge
from app.coordinator.tick_workflows import tick_workflows
from app.coordinator.ticking import Occasion, TickKind, last_tick
from app.fleet import Json, JsonObject
from app.planner import Board
from app.store.session import Database
from app.store.ticks import TickRecord
from app.workflow import Reason, Workflow, WorkflowId

WORDS: Final = {
    Reason.BEHIND_HEAD: "another workflow is ahead of it",
    Reason.CLONE_BUSY: "an agent is at work in its clone",
    Reason.NO_SLOT: "as many agents are at work as may be",
    Reason.NOT_REQUESTED: "a runbook starts only if it is auto_run, or its run is requested",
    Reason.REVIEW_PENDING: "its pull request waits for a verdict",
    Reason.PAUSED: "it or its project is paused",
    Reason.NEEDS_HUMAN: "it is left to a person until somebody retries it",
    Reason.NO_FACTORY: "no registered factory offers what its project requires",
    Reason.GATE_CLOSED: "the post-merge phase waits until nothing is in progress",
    Reason.NOT_DUE: "its time for UAT has not come",
}
"""What each reason means, as a sentence that goes on from \u201cit did not start, for\u201d."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a tick did with a workflow: started it, polled it, or why it did neither."""

    started: bool = False
    polled: bool = False
    reason: Reason | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowExplained:
    """A workflow, what the last tick did with it, and what the next would do."""

    workflow: Workflow
    last: Said | None
    next: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowsExplained:
    """All workflows that are not finished, as of ``now``."""

    now: datetime
    last_tick: TickRecord | None
    next_report: JsonObject
    workflows: tuple[WorkflowExplained, ...]


async def explain_workflows(
    db: Database, rules: Rules, forge: Forge | None = None
) -> WorkflowsExplained:
    """Say of every workflow that is not finished why it did, or did not, start."""
    last = await last_tick(db, TickKind.WORKFLOWS)
    async with db.connection() as conn:
        board: Board = await boards.read(conn, rules)
    occasion = Occasion(kind=TickKind.WORKFLOWS, dry_run=True)
    coming = await tick_workflows(db, occasion, rules, forge)
    return WorkflowsExplained(
        now=board.now,
        last_tick=last,
        next_report=coming.answer,
        workflows=tuple(
            WorkflowExplained(
                workflow=each,
                last=None if last is None else _said(each.id, last.report, last.reasons),
                next=_said(each.id, coming.report, coming.reasons),
            )
            for each in board.workflows
        ),
    )


def _said(workflow_id: WorkflowId, report: JsonObject, reasons: JsonObject) -> Said:
    id_ = str(workflow_id)
    phases = _object(report.get("phases"))
    active, merged, uat = (_object(phases.get(each)) for each in ("active", "post_merge", "uat"))
    started = id_ in _list(active.get("started")) + _list(uat.get("started"))
    errors = [_object(each) for each in _list(report.get("errors"))]
    reason = reasons.get(id_)
    return Said(
        started=started or merged.get("started") == id_,
        polled=id_ in _list(active.get("polled")),
        reason=Reason(reason) if isinstance(reason, str) else None,
        error=next((str(each["error"]) for each in errors if each["workflow_id"] == id_), None),
    )


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
