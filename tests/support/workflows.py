"""Workflows over HTTP: made, ticked, and their jobs done by a factory."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.api import Fleet, body_of

PR = "https://forge.example/shop/pull/7"
Body = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Workshop:
    """A coordinator, a project of it, and the factory that does the jobs."""

    fleet: Fleet
    factory: httpx.AsyncClient
    project_id: str

    async def project(self, name: str, **fields: Any) -> str:  # noqa: ANN401 - any field
        made = await self.fleet.ops.post("/projects", json={"name": name, **fields})
        assert made.status_code == 201, made.text
        return str(body_of(made)["id"])

    async def workflow(self, title: str = "a", **fields: Any) -> str:  # noqa: ANN401 - any field
        """Create a workflow; of the project unless another is given. Returns its id."""
        body = {"project_id": self.project_id, "title": title, **fields}
        made = await self.fleet.ops.post("/workflows", json=body)
        assert made.status_code == 201, made.text
        return str(body_of(made)["id"])

    async def read(self, workflow_id: str) -> Body:
        return body_of(await self.fleet.ops.get(f"/workflows/{workflow_id}"))

    async def status(self, *workflow_ids: str) -> list[str]:
        return [(await self.read(each))["status"] for each in workflow_ids]

    async def order(self, workflow_id: str, what: str, body: Body | None = None) -> Body:
        """Post to a workflow; it must be granted."""
        done = await self.fleet.ops.post(f"/workflows/{workflow_id}/{what}", json=body)
        assert done.is_success, done.text
        return body_of(done)

    async def tick(self, **params: str) -> Body:
        done = await self.fleet.cron.post("/tick/workflows", params=params)
        assert done.status_code == 200, done.text
        return body_of(done)

    async def phases(self, **params: str) -> Body:
        report = await self.tick(**params)
        assert report["errors"] == []
        phases: Body = report["phases"]
        return phases

    async def claim(self) -> Body:
        """Claim the next job, which there must be."""
        claimed = await self.factory.post("/claim", json={"factory_id": "f1"})
        assert claimed.status_code == 200, claimed.text
        (claim,) = body_of(claimed)["claims"]
        return {**claim["job"], "fence": claim["lease"]["fence"]}

    async def complete(self, job: Body, result: object = None) -> None:
        body = {"fence": job["fence"], "result": {} if result is None else result}
        done = await self.factory.post(f"/jobs/{job['id']}/complete", json=body)
        assert done.status_code == 200, done.text

    async def do(self, result: object = None) -> Body:
        """Claim the next job and complete it."""
        job = await self.claim()
        await self.complete(job, result)
        return job

    async def die(self) -> Body:
        """Claim the next job and end it for good."""
        job = await self.claim()
        body = {"fence": job["fence"], "error": "it broke", "retryable": False}
        done = await self.factory.post(f"/jobs/{job['id']}/fail", json=body)
        assert done.status_code == 200, done.text
        return job

    async def jobs(self) -> list[Body]:
        """All jobs, the oldest first."""
        items: list[Body] = body_of(await self.fleet.ops.get("/jobs"))["items"]
        return items[::-1]


async def workshop(fleet: Fleet, **project: Any) -> Workshop:  # noqa: ANN401 - any field
    """Open a workshop with one project and one factory."""
    factory = await fleet.factory("f1", seat_limit=50)
    shop = Workshop(fleet=fleet, factory=factory, project_id="")
    shop.project_id = await shop.project("shop", **project)
    return shop


def reasons(phases: Body) -> dict[str, str]:
    """Why workflows wait, by id."""
    return {each["workflow_id"]: each["reason"] for each in phases["active"]["waiting"]}
