"""News from the forge: asked about every pull request that a workflow waits on.

Asked outside of transactions and a few at a time; one that cannot be read is reported and changes
nothing.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from app import workflow_calls
from app.coordinator.forge_port import Forge
from app.pull import PullNews, PullState
from app.workflow import Kind, Status, Workflow, WorkflowId

ASKED_AT_ONCE: Final = 8

_WAITS_ON_PULL: Final = frozenset({Status.REVIEWING, Status.LOCAL_TESTING, Status.DONE})


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What the forge says about the pull request at ``pr_url``, which a workflow had."""

    pr_url: str | None
    pull: PullNews
    merged_at: datetime | None = None

    def apply(self, workflow: Workflow) -> Workflow:
        """Take in what counts: a verdict, and a pull request that was closed without a merge.

        Nothing, if the workflow has another pull request by now.
        """
        if workflow.pr_url != self.pr_url:
            return workflow
        verdict = self.pull.verdict
        if verdict is not None:
            workflow = workflow_calls.review(workflow, verdict.review, verdict.comments, verdict.at)
        if self.pull.state is PullState.CLOSED:
            workflow = workflow_calls.closed_unmerged(workflow, self.pull.ended_by)
        if self.merged_at is not None:
            workflow = workflow_calls.merge_seen(workflow, self.merged_at)
        return workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class AllNews:
    """What was heard, and about which workflows nothing could be."""

    heard: Mapping[WorkflowId, News] = field(default_factory=dict)
    errors: tuple[tuple[WorkflowId, Exception], ...] = ()


async def ask(forge: Forge, workflows: Iterable[Workflow], now: datetime) -> AllNews:
    """Ask about every workflow that waits on its pull request."""
    few = asyncio.Semaphore(ASKED_AT_ONCE)

    async def look(pr_url: str) -> PullNews | Exception | None:
        async with few:
            try:
                return await forge.look(pr_url)
            except Exception as error:  # noqa: BLE001 - whatever it was, the others are asked
                return error

    concerned = [(each.id, each.pr_url) for each in workflows if _waits_on_pull(each)]
    answers = await asyncio.gather(*(look(pr_url or "") for _, pr_url in concerned))
    heard, errors = {}, []
    for (workflow_id, pr_url), answer in zip(concerned, answers, strict=True):
        if isinstance(answer, Exception):
            errors.append((workflow_id, answer))
        elif answer is not None:
            merged = answer.state is PullState.MERGED
            merged_at = (answer.ended_at or now) if merged else None
            heard[workflow_id] = News(pr_url=pr_url, pull=answer, merged_at=merged_at)
    return AllNews(heard=heard, errors=tuple(errors))


def _waits_on_pull(workflow: Workflow) -> bool:
    return (
        workflow.kind is Kind.DEVELOPMENT
        and workflow.status in _WAITS_ON_PULL
        and workflow.pr_url is not None
        and workflow.finished_at is None
    )
