"""The own ticker of ``fleet up``: it ticks everything, and says what that did."""

from app.loops.ticker import ticker
from app.sdk import FleetClient, Retries
from app.wire.factories import FactoryPut
from app.wire.projects import ProjectCreate
from app.wire.workflows import WorkflowCreate
from tests.support.coordinator import coordinator_on


async def test_it_ticks_workflows_and_counts_what_was_started(database_url: str) -> None:
    async with coordinator_on(database_url) as coordinator:
        ops = await coordinator.client()
        await ops.factories.put("f1", FactoryPut())
        project = await ops.projects.create(ProjectCreate(name="shop"))
        await ops.workflows.create(WorkflowCreate(project_id=project.id, title="Cart"))
        merged = await ops.projects.create(ProjectCreate(name="other"))
        await ops.workflows.create(
            WorkflowCreate.model_validate(
                {"project_id": merged.id, "title": "UAT", "status": "uat_testing"}
            )
        )
        url, token = coordinator.url, coordinator.tokens.cron
        async with FleetClient(url, token, retries=Retries(attempts=1)) as cron:
            counts = await ticker(cron, interval_s=60, chance=lambda: 0.5).run_once()
    assert counts["workflows.started"] == 2
    assert counts["workflows.errors"] == 0
    assert counts["leases.expired"] == 0
