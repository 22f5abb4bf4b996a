"""Random fleets of workflows on real PostgreSQL: what must hold after every tick, and at the end.

The pure half of this hunts much wider (`tests/core/test_workflow_theorems.py`); here the same law
is held to rows, jobs and their dedupe keys.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.api import fleet_in_process
from tests.support.postgres import Databases
from tests.support.workflows import PR, Workshop, workshop

AGENTS = 2
ROUNDS_MAX = 60
ACTIVE = {"implementing", "reviewing", "local_testing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A workflow to make, and how its jobs end before they succeed."""

    project: int
    fields: dict[str, Any]


def planned(kind: str, *statuses: str) -> st.SearchStrategy[Planned]:
    fields = st.fixed_dictionaries(
        {
            "kind": st.just(kind),
            "status": st.sampled_from(statuses),
            "position": st.integers(1, 4),
            "has_uat": st.booleans(),
            "tracks_after_merge": st.booleans(),
            "auto_run": st.just(value=True),
        }
    )
    return st.builds(Planned, project=st.integers(0, 1), fields=fields)


FLEETS = st.lists(
    st.one_of(
        planned("development", "implementing", "reviewing", "merged", "uat_waiting"),
        planned("pr_review", "reviewing"),
        planned("runbook", "implementing"),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=FLEETS, failures=st.lists(st.booleans(), max_size=6))
def test_the_law_of_workflows_holds_on_real_rows(
    databases: Databases, plan: list[Planned], failures: list[bool]
) -> None:
    with databases.fresh() as url, asyncio.Runner() as runner:
        runner.run(_play(url, plan, failures))


async def _play(url: str, plan: Sequence[Planned], failures: list[bool]) -> None:
    async with fleet_in_process(url, max_concurrent_agents=AGENTS) as fleet:
        shop = await workshop(fleet)
        projects = [shop.project_id, await shop.project("other")]
        for each in plan:
            await shop.workflow(project_id=projects[each.project], pr_url=PR, **each.fields)
        everything: list[dict[str, Any]] = []
        for _ in range(ROUNDS_MAX):
            await shop.phases()
            everything = await _all(shop)
            _check(everything)
            if not any(each["finished_at"] is None for each in everything):
                break
            await _let_the_world_go_on(shop, everything, failures)
        assert [each["status"] for each in everything if each["finished_at"] is None] == []
        keys = [job["dedupe_key"] for job in await shop.jobs()]
        assert len(set(keys)) == len(keys)


def _check(everything: list[dict[str, Any]]) -> None:
    running = [each for each in everything if each["processing"]]
    assert len(running) <= AGENTS
    clones = [each["clone_key"] for each in running if each["status"] != "uat_testing"]
    assert len(set(clones)) == len(clones)
    for project in {each["project_id"] for each in everything}:
        line = [
            each
            for each in everything
            if each["project_id"] == project
            and each["kind"] == "development"
            and (each["status"] in ACTIVE or (each["processing"] and each["status"] == "merged"))
        ]
        assert not any(each["processing"] for each in line[1:])


async def _let_the_world_go_on(
    shop: Workshop, everything: list[dict[str, Any]], failures: list[bool]
) -> None:
    """Answer reviews, confirm merges, take back what was left to people, end the jobs."""
    for each in everything:
        flow = each["id"]
        if each["needs_human_reason"] is not None:
            await shop.order(flow, "retry")
        in_review = each["kind"] == "development" and each["status"] == "reviewing"
        if in_review and not each["processing"] and each["review"] == "pending":
            await shop.order(flow, "review", {"verdict": "approved"})
        if each["status"] == "done" and each["finished_at"] is None:
            await shop.order(flow, "merged")
    for _ in range(sum(each["processing"] for each in everything)):
        if failures and failures.pop():
            await shop.die()
        else:
            await shop.do({"pr_url": PR})


async def _all(shop: Workshop) -> list[dict[str, Any]]:
    listed = await shop.fleet.ops.get("/workflows", params={"limit": "100"})
    items: list[dict[str, Any]] = listed.json()["items"]
    return items
