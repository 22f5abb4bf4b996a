"""The board: everything a workflow tick decides on, read in one go."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app import planner
from app.fleet import Factory
from app.planner import Board
from app.runtime.paths import real_path
from app.stages import Place
from app.store import offers, projects, workflows
from app.store.session import Connection
from app.tick_jobs import placeable
from app.workflow import Workflow, WorkflowId


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a tick goes by beside the board: the limit, and the workflow that a call names."""

    max_agents: int = planner.MAX_AGENTS
    named: WorkflowId | None = None


async def read(conn: Connection, rules: Rules) -> Board:
    """Read every workflow that is not finished, with its project, and who could do its work."""
    found = await workflows.board(conn)
    # Projects are read after their workflows: what is missing was deleted, workflows and all.
    known = await projects.by_ids(conn, {each.project_id for each in found})
    owned = tuple(each for each in found if each.project_id in known)
    values = {project_id: record.project for project_id, record in known.items()}
    offered = await offers.read(conn)
    # Real paths are asked of the disk, which may take its time.
    clones = await asyncio.to_thread(planner.clone_keys, values.values(), owned, real_path)
    board = Board(
        workflows=owned,
        projects=values,
        clones=clones,
        now=offered.now,
        max_agents=rules.max_agents,
        named=rules.named,
    )
    return _with_unplaceable(board, offered.factories)


def place_of(workflow: Workflow, board: Board) -> Place:
    """Say where a workflow is executed."""
    return Place(
        project=board.projects[workflow.project_id], clone=planner.clone_of(workflow, board)
    )


def find(board: Board, workflow_id: WorkflowId) -> Workflow | None:
    """Find a workflow on the board; None if it is finished or gone."""
    return next((each for each in board.workflows if each.id == workflow_id), None)


def _with_unplaceable(board: Board, factories: Sequence[Factory]) -> Board:
    nobody = frozenset(
        each.id
        for each in board.workflows
        if not placeable(board.projects[each.project_id].required_capabilities, factories)
    )
    return replace(board, unplaceable=nobody)
