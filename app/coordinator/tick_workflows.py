"""The workflow tick: poll, start, merge, test, one workflow after the other.

The three phases are those of :mod:`app.planner`, which selects; :mod:`app.coordinator.stage`
executes one workflow in a transaction of its own; :mod:`app.coordinator.ticking` sees that ticks
take turns. An error concerns the workflow it happened to: it is logged and reported, and the tick
goes on.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from app import planner, workflow_calls
from app.coordinator import board as boards
from app.coordinator import stage
from app.coordinator.board import Rules
from app.coordinator.forge_news import AllNews, ask
from app.coordinator.forge_port import Forge
from app.coordinator.stage import Start
from app.coordinator.ticking import STOPS, Occasion, Ticked, Turn, complain, take_turn
from app.errors import LostRace, NotFound
from app.fleet import JsonObject
from app.planner import Board
from app.store import workflows
from app.store.session import Database
from app.workflow import Reason, Status, Workflow, WorkflowId

T = TypeVar("T")

TRIES_MAX = 5
"""How often a start is decided anew because somebody changed the workflow just then."""

Refusal = Callable[[Board, Workflow], Reason | None]


async def tick_workflows(
    db: Database, occasion: Occasion, rules: Rules, forge: Forge | None = None
) -> Ticked:
    """Do one tick over workflows, unless another tick is at it.

    Raises:
        NotFound: the workflow that the call names does not exist.
        Unavailable: the database cannot be reached; what was committed before stays.
    """
    return await take_turn(
        db,
        occasion,
        hear=lambda: _hear(db, rules, forge),
        work=lambda turn, news: _work(turn, rules, news),
    )


@dataclass(slots=True, kw_only=True)
class Report:
    """What a tick did, as it goes along."""

    polled: list[WorkflowId] = field(default_factory=list)
    started: list[WorkflowId] = field(default_factory=list)
    waiting: dict[WorkflowId, Reason] = field(default_factory=dict)
    closed_by: tuple[WorkflowId, ...] = ()
    merged: list[WorkflowId] = field(default_factory=list)
    started_merged: WorkflowId | None = None
    free_slots: int = 0
    due: list[WorkflowId] = field(default_factory=list)
    started_uat: list[WorkflowId] = field(default_factory=list)
    errors: list[tuple[WorkflowId, str]] = field(default_factory=list)

    def as_json(self) -> JsonObject:
        """Write it as it is answered and stored."""
        merged = self.started_merged
        return {
            "phases": {
                "active": {
                    "polled": [str(each) for each in self.polled],
                    "started": [str(each) for each in self.started],
                    "waiting": [
                        {"workflow_id": str(each), "reason": reason.value}
                        for each, reason in self.waiting.items()
                    ],
                },
                "post_merge": {
                    "gate": "closed" if self.closed_by else "open",
                    "closed_by": [str(each) for each in self.closed_by],
                    "merged": [str(each) for each in self.merged],
                    "started": None if merged is None else str(merged),
                },
                "uat": {
                    "free_slots": self.free_slots,
                    "due": [str(each) for each in self.due],
                    "started": [str(each) for each in self.started_uat],
                },
            },
            "errors": [{"workflow_id": str(each), "error": said} for each, said in self.errors],
        }


async def _hear(db: Database, rules: Rules, forge: Forge | None) -> AllNews:
    """Ask the forge about pull requests that matter, holding no connection."""
    if rules.named is not None:
        await _check_named(db, rules.named)
    if forge is None:
        return AllNews()
    async with db.connection() as conn:
        board = await boards.read(conn, rules)
    return await ask(forge, board.workflows, board.now)


async def _check_named(db: Database, named: WorkflowId) -> None:
    async with db.connection() as conn:
        if not await workflows.by_ids(conn, [named]):
            detail = f"There is no workflow {named}."
            raise NotFound(detail)


async def _work(turn: Turn, rules: Rules, news: AllNews) -> Ticked:
    tick = _Tick(turn=turn, rules=rules)
    await tick.take_in(news)
    await tick.active()
    await tick.post_merge()
    await tick.uat()
    left = planner.why_waiting(await tick.board()) | tick.report.waiting
    return Ticked(
        report=tick.report.as_json(),
        reasons={str(each): reason.value for each, reason in left.items()},
    )


@dataclass(slots=True, kw_only=True)
class _Tick:
    turn: Turn
    rules: Rules
    report: Report = field(default_factory=Report)

    async def board(self) -> Board:
        async with self.turn.reading() as conn:
            return await boards.read(conn, self.rules)

    async def take_in(self, news: AllNews) -> None:
        for workflow_id, error in news.errors:
            self.report.errors.append((workflow_id, complain(f"workflow {workflow_id}", error)))
        for workflow_id, heard in news.heard.items():
            await self._isolated(workflow_id, lambda: self._change(workflow_id, heard.apply))  # noqa: B023 - awaited at once

    async def active(self) -> None:
        for each in planner.processing((await self.board()).workflows):
            await self._isolated(each.id, lambda: self._poll(each))  # noqa: B023 - awaited at once
        board = await self.board()
        slots = planner.capacity(board)
        here = {each.id: each for each in board.workflows}
        for id_, held in planner.held_back(board).items():
            clone = planner.clone_of(here[id_], board)
            reason = held or slots.refusal(clone)
            if reason is None:
                came = await self._start(here[id_], board, _active_refusal)
                if came is Start.STARTED:
                    self.report.started.append(id_)
                    slots = slots.started(clone)
                    continue
                reason = came if isinstance(came, Reason) else None
            if reason is not None:
                self.report.waiting[id_] = reason

    async def post_merge(self) -> None:
        board = await self.board()
        self.report.closed_by = planner.post_merge_gate(board).closed_by
        if self.report.closed_by:
            return
        for each in planner.awaiting_merge(board.workflows):
            if each.merged_at is not None:
                await self._isolated(each.id, lambda: self._confirm(each, board.now))  # noqa: B023 - awaited at once
        board = await self.board()
        chosen = planner.next_merged(board)
        if chosen is not None:
            came = await self._start(chosen, board, _merged_refusal)
            if came is Start.STARTED:
                self.report.started_merged = chosen.id

    async def uat(self) -> None:
        board = await self.board()
        due = planner.due_uat(board)
        self.report.due = [each.id for each in due]
        self.report.free_slots = planner.free_slots(board)
        waiting = [each for each in due if each.status is Status.UAT_WAITING]
        for each in waiting:
            await self._isolated(each.id, lambda: self._change(each.id, workflow_calls.uat_due))  # noqa: B023 - awaited at once
        board = await self.board() if waiting else board
        for each in due[: self.report.free_slots]:
            moved = boards.find(board, each.id)
            came = None if moved is None else await self._start(moved, board, _uat_refusal)
            if came is Start.STARTED:
                self.report.started_uat.append(each.id)

    async def _poll(self, workflow: Workflow) -> None:
        polled = await self.turn.write(lambda conn: stage.poll(conn, workflow.id))
        self.report.polled.append(workflow.id)
        if polled.complaint is not None:
            self.report.errors.append((workflow.id, polled.complaint))

    async def _confirm(self, workflow: Workflow, at: datetime) -> None:
        if await self._change(workflow.id, lambda fresh: workflow_calls.merged(fresh, at)):
            self.report.merged.append(workflow.id)

    async def _change(self, workflow_id: WorkflowId, law: Callable[[Workflow], Workflow]) -> bool:
        return await self.turn.write(lambda conn: stage.change(conn, workflow_id, law))

    async def _start(
        self, workflow: Workflow, board: Board, refusal: Refusal
    ) -> Start | Reason | None:
        """Start a workflow that may start; None if it is not there any more, or fell."""
        return await self._isolated(
            workflow.id, lambda: self._start_as_decided(workflow, board, refusal)
        )

    async def _start_as_decided(
        self, workflow: Workflow, board: Board, refusal: Refusal
    ) -> Start | Reason | None:
        for _ in range(TRIES_MAX):
            came = await self.turn.write(lambda conn: stage.start(conn, workflow, board))  # noqa: B023 - awaited at once
            if came is not Start.OUTDATED:
                return came
            board = await self.board()
            found = boards.find(board, workflow.id)
            if found is None or found.processing:
                return None
            workflow = found
            reason = refusal(board, workflow)
            if reason is not None:
                return reason
        detail = f"The workflow {workflow.id} kept changing."
        raise LostRace(detail)

    async def _isolated(self, workflow_id: WorkflowId, act: Callable[[], Awaitable[T]]) -> T | None:
        try:
            return await act()
        except STOPS:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, the others must go on
            self.report.errors.append((workflow_id, complain(f"workflow {workflow_id}", error)))
            return None


def _active_refusal(board: Board, workflow: Workflow) -> Reason | None:
    held = planner.held_back(board)
    slots = planner.capacity(board)
    return held.get(workflow.id) or slots.refusal(planner.clone_of(workflow, board))


def _merged_refusal(board: Board, workflow: Workflow) -> Reason | None:
    turn = planner.next_merged(board) if planner.post_merge_gate(board).is_open else None
    return None if turn == workflow else Reason.GATE_CLOSED


def _uat_refusal(board: Board, workflow: Workflow) -> Reason | None:
    if workflow not in planner.due_uat(board):
        return Reason.NOT_DUE
    return None if planner.free_slots(board) > 0 else Reason.NO_SLOT
