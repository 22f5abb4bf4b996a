"""Which workflows may start now? The selections of the workflow tick's three phases.

The tick, in order; the shell executes, this file selects, and :mod:`app.stages` says what executing
one workflow means.

1. *Active.* Every processing workflow is polled, so that finished runs free their slot and their
   clone within the same tick. The board is read anew, and the waiting ones that nothing holds back
   (:func:`held_back`) are started in order of position while :class:`app.capacity.Capacity` lasts.
2. *Post-merge.* Behind a gate (:func:`post_merge_gate`): merges are confirmed
   (:func:`awaiting_merge`), then the one workflow of :func:`next_merged` is started.
3. *UAT.* With a slot rule of its own: no idle wait and no clone check (:func:`due_uat`).

A **head** is the first development workflow by position of its clone among the active ones. Only
heads start; one that waits for its review keeps its place, so later ones on that clone do not
overtake it. Pull request reviews neither hold a place nor wait for one: only a running agent on
their clone blocks them. Runbooks start if they are ``auto_run``, named in the call, or requested.

Do not relax one of these rules without the other two of :mod:`app.capacity`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from app.capacity import Capacity
from app.clones import clone_key, clone_keys
from app.workflow import Kind, Project, ProjectId, Reason, Status, Workflow, WorkflowId, in_order

__all__ = [
    "MAX_AGENTS",
    "Board",
    "Gate",
    "active",
    "awaiting_merge",
    "capacity",
    "clone_key",
    "clone_keys",
    "clone_of",
    "due_uat",
    "eligible_waiting",
    "free_slots",
    "heads",
    "held_back",
    "in_order",
    "next_merged",
    "post_merge_gate",
    "processing",
    "why_waiting",
]

MAX_AGENTS: Final = 3

_ALWAYS_ACTIVE: Final = frozenset({Status.IMPLEMENTING, Status.REVIEWING, Status.LOCAL_TESTING})
_ACTIVE_AT_WORK: Final = frozenset({Status.MERGED, Status.UAT_TESTING})
_CLOSES_GATE: Final = frozenset({Status.IMPLEMENTING, Status.LOCAL_TESTING})
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One reading of all workflows, and what a tick knows beside them.

    ``clones`` is made by :func:`clone_keys`. ``named`` is the workflow the call itself asks for.
    ``unplaceable`` are those whose next job every registered factory refuses permanently.
    """

    workflows: tuple[Workflow, ...]
    projects: Mapping[ProjectId, Project]
    clones: Mapping[ProjectId, str]
    now: datetime
    max_agents: int = MAX_AGENTS
    named: WorkflowId | None = None
    unplaceable: frozenset[WorkflowId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The gate before the post-merge phase: open if nobody closes it."""

    closed_by: tuple[WorkflowId, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether the phase may act."""
        return not self.closed_by


# ---------------------------------------------------------------------------- clones


def clone_of(workflow: Workflow, board: Board) -> str:
    """Return the clone it works in: the one it was started on, while it is processing."""
    if workflow.processing and workflow.clone_key is not None:
        return workflow.clone_key
    return board.clones[workflow.project_id]


def capacity(board: Board) -> Capacity:
    """Return the slots and clones as they are: every processing workflow takes one of each."""
    busy = [clone_of(workflow, board) for workflow in processing(board.workflows)]
    return Capacity(busy_clones=busy, max_agents=board.max_agents)


# ---------------------------------------------------------------------------- phase 1: active


def processing(workflows: Iterable[Workflow]) -> tuple[Workflow, ...]:
    """Return those with a job under way, whatever their status: what a tick polls, in order."""
    return in_order(each for each in workflows if each.processing)


def active(workflows: Iterable[Workflow]) -> tuple[Workflow, ...]:
    """Return the workflows of the first phase, in order of position."""
    return in_order(
        each
        for each in workflows
        if each.status in _ALWAYS_ACTIVE or (each.processing and each.status in _ACTIVE_AT_WORK)
    )


def heads(board: Board) -> dict[str, WorkflowId]:
    """Return, by clone, the development workflow whose turn it is there."""
    found: dict[str, WorkflowId] = {}
    for workflow in active(board.workflows):
        if workflow.kind is Kind.DEVELOPMENT:
            found.setdefault(clone_of(workflow, board), workflow.id)
    return found


def eligible_waiting(board: Board) -> tuple[Workflow, ...]:
    """Return the active workflows that wait and whose turn it is, in order of position."""
    first = heads(board)
    return tuple(each for each in _waiting(board) if not _not_its_turn(each, board, first))


def held_back(board: Board) -> dict[WorkflowId, Reason | None]:
    """Say of each active workflow that waits why it may not start, capacity aside; in order.

    Of several reasons, the one that somebody has to act on comes first.
    """
    first = heads(board)
    return {
        each.id: _stopped(each, board)
        or _not_its_turn(each, board, first)
        or (Reason.REVIEW_PENDING if each.awaits_review else _nobody_can(each, board))
        for each in _waiting(board)
    }


def _waiting(board: Board) -> tuple[Workflow, ...]:
    return tuple(each for each in active(board.workflows) if not each.processing)


def _stopped(workflow: Workflow, board: Board) -> Reason | None:
    standings = (workflow.paused, board.projects[workflow.project_id].paused)
    if any(each is not None and each.in_force(board.now) for each in standings):
        return Reason.PAUSED
    return Reason.NEEDS_HUMAN if workflow.needs_human_reason is not None else None


def _not_its_turn(
    workflow: Workflow, board: Board, first: Mapping[str, WorkflowId]
) -> Reason | None:
    if workflow.kind is Kind.RUNBOOK and not _wanted(workflow, board):
        return Reason.NOT_REQUESTED
    if workflow.kind is Kind.DEVELOPMENT and first[clone_of(workflow, board)] != workflow.id:
        return Reason.BEHIND_HEAD
    return None


def _wanted(runbook: Workflow, board: Board) -> bool:
    return runbook.auto_run or runbook.run_requested or runbook.id == board.named


def _nobody_can(workflow: Workflow, board: Board) -> Reason | None:
    return Reason.NO_FACTORY if workflow.id in board.unplaceable else None


# ---------------------------------------------------------------------------- phase 2: post-merge


def post_merge_gate(board: Board) -> Gate:
    """Say who closes the gate: whoever is processing, implementing or testing locally.

    A runbook that nobody asked for would close it for ever, and so would work that no factory can
    take; neither counts.
    """
    return Gate(
        closed_by=tuple(
            each.id for each in in_order(board.workflows) if _closes_the_gate(each, board)
        )
    )


def awaiting_merge(workflows: Iterable[Workflow]) -> tuple[Workflow, ...]:
    """Return those whose merge is to be confirmed; to ask is no start, so a pause is no matter."""
    return in_order(each for each in workflows if each.awaits_merge)


def next_merged(board: Board) -> Workflow | None:
    """Return the one merged workflow to start: of lowest position among those that may."""
    return next((each for each in _merged(board) if not _cannot_start(each, board)), None)


def _closes_the_gate(workflow: Workflow, board: Board) -> bool:
    if workflow.processing:
        return True
    dormant = workflow.kind is Kind.RUNBOOK and not _wanted(workflow, board)
    return workflow.status in _CLOSES_GATE and not dormant and workflow.id not in board.unplaceable


def _merged(board: Board) -> tuple[Workflow, ...]:
    return in_order(
        each for each in board.workflows if each.status is Status.MERGED and not each.processing
    )


def _cannot_start(workflow: Workflow, board: Board) -> Reason | None:
    return _stopped(workflow, board) or _nobody_can(workflow, board)


# ---------------------------------------------------------------------------- phase 3: UAT


def free_slots(board: Board) -> int:
    """Return how many UAT runs may start: the limit less all that are processing."""
    return capacity(board).free_slots


def due_uat(board: Board) -> tuple[Workflow, ...]:
    """Return the workflows whose UAT is due, the longest due first; free slots bound the starts.

    Waiting ones whose time has passed, which move to ``uat_testing`` first, and failed attempts.
    """
    due = (each for each in _uat(board) if _is_due(each, board) and not _cannot_start(each, board))
    return tuple(sorted(due, key=lambda each: (each.uat_test_at or _NEVER, each.position, each.id)))


def _uat(board: Board) -> tuple[Workflow, ...]:
    statuses = (Status.UAT_WAITING, Status.UAT_TESTING)
    return in_order(
        each for each in board.workflows if each.status in statuses and not each.processing
    )


def _is_due(workflow: Workflow, board: Board) -> bool:
    if workflow.status is Status.UAT_TESTING:
        return True
    return workflow.uat_test_at is not None and workflow.uat_test_at <= board.now


# ---------------------------------------------------------------------------- explain


def why_waiting(board: Board) -> dict[WorkflowId, Reason]:
    """Say of every workflow that has a stage to start why it has not, as the board stands.

    It is what a tick that found the board like this, and started nothing, would say. A workflow
    that nothing holds back is missing from the answer.
    """
    slots, places = capacity(board), {each.id: each for each in board.workflows}
    found: dict[WorkflowId, Reason | None] = {
        each: reason or slots.refusal(clone_of(places[each], board))
        for each, reason in held_back(board).items()
    }
    gate, turn = post_merge_gate(board), next_merged(board)
    for merged in _merged(board):
        found[merged.id] = _cannot_start(merged, board) or _behind_the_gate(merged, gate, turn)
    served = due_uat(board)[: slots.free_slots]
    for tested in _uat(board):
        found[tested.id] = _cannot_start(tested, board) or (
            Reason.NOT_DUE
            if not _is_due(tested, board)
            else None
            if tested in served
            else Reason.NO_SLOT
        )
    return {each: reason for each, reason in found.items() if reason is not None}


def _behind_the_gate(merged: Workflow, gate: Gate, turn: Workflow | None) -> Reason | None:
    if not gate.is_open:
        return Reason.GATE_CLOSED
    return None if turn is not None and turn.id == merged.id else Reason.BEHIND_HEAD
