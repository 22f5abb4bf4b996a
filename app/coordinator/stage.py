"""Executing one workflow in a tick: its job polled or submitted, and the row moved along with it.

One transaction per workflow. What is decided is decided on the row as that transaction read it, and
written only if the row is still at that version, so that a job is submitted together with the save
or not at all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from logging import getLogger

from app import stages, workflow_calls
from app.coordinator import tick_jobs
from app.coordinator.board import place_of
from app.planner import Board
from app.stages import Ended, Submit
from app.store import offers, workflows
from app.store.session import Connection
from app.tick_jobs import End
from app.workflow import Reason, Workflow, WorkflowId

_LOG = getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What polling found: ``complaint`` is set if the job's result was not what it has to be."""

    ended: bool
    complaint: str | None = None


class Start(StrEnum):
    """What came of an attempt to start a stage."""

    STARTED = "started"
    OUTDATED = "outdated"
    """Somebody changed the workflow since the board was read; it has to be decided anew."""


async def poll(conn: Connection, workflow_id: WorkflowId) -> Polled:
    """Read the outcome of a processing workflow's job; withdraw the job if nobody can take it.

    Raises:
        Moved: the workflow or its job changed meanwhile.
    """
    record = (await workflows.by_ids(conn, [workflow_id])).get(workflow_id)
    if record is None or not record.workflow.processing:
        return Polled(ended=False)
    workflow = record.workflow
    offered = await offers.read(conn)
    found = await tick_jobs.find(conn, workflow.job_id, offered.factories)
    outcome = stages.poll(workflow, found.report, placeable=found.placeable, now=offered.now)
    if not isinstance(outcome, Ended):
        return Polled(ended=False)
    # Rows are locked in the order job, workflow: by starts and cancellations too.
    ending = outcome.ending
    if ending.end is End.WITHDRAWN and workflow.job_id is not None:
        await tick_jobs.withdraw(conn, workflow.job_id, found.version)
    await workflows.write(conn, outcome.after)
    _say(workflow, outcome)
    return Polled(ended=True, complaint=ending.why if ending.end is End.MALFORMED else None)


async def start(conn: Connection, workflow: Workflow, board: Board) -> Start | Reason | None:
    """Submit the job of a workflow's stage, if the workflow is as it is on the board.

    Returns:
        What came of it; a reason, or None, if there is no job to submit.

    Raises:
        Moved: the workflow changed in this very moment.
    """
    record = (await workflows.by_ids(conn, [workflow.id])).get(workflow.id)
    if record is None or record.workflow != workflow:
        return Start.OUTDATED
    outcome = stages.begin(workflow_calls.uat_due(workflow), place_of(workflow, board))
    if not isinstance(outcome, Submit):
        return outcome.reason
    job_id = await tick_jobs.submit_once(conn, outcome.job)
    await workflows.write(conn, replace(outcome.after, job_id=job_id))
    return Start.STARTED


async def change(
    conn: Connection, workflow_id: WorkflowId, law: Callable[[Workflow], Workflow]
) -> bool:
    """Write what a call of the law makes of a workflow; tells whether that changed anything.

    Raises:
        Moved: the workflow changed in this very moment.
    """
    record = (await workflows.by_ids(conn, [workflow_id])).get(workflow_id)
    if record is None:
        return False
    after = law(record.workflow)
    if after == record.workflow:
        return False
    await workflows.write(conn, after)
    return True


def _say(workflow: Workflow, outcome: Ended) -> None:
    after = outcome.after
    if after.needs_human_reason is not None and workflow.needs_human_reason is None:
        _LOG.warning(
            "workflow needs a person",
            extra={"workflow_id": str(workflow.id), "reason": after.needs_human_reason},
        )
