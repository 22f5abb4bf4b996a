"""Whatever may be held, paused or drained for a while: a while that is over is refused."""

import pytest

from app.api.application import application
from tests.support.api import Fleet, body_of, problem_of
from tests.support.workflows import workshop

STANDINGS = {
    "/jobs/{job_id}/hold",
    "/factories/{factory_id}/drain",
    "/factories/{factory_id}/pause",
    "/projects/{project_id}/pause",
    "/workflows/{workflow_id}/pause",
    "/repos/{repo_id}/pause",
}


def test_these_are_all_that_stand_for_a_while() -> None:
    paths = application().openapi()["paths"]
    assert {
        path for path, methods in paths.items() if "StandingRequest" in str(methods.get("post"))
    } == STANDINGS


@pytest.mark.parametrize("template", sorted(STANDINGS))
async def test_an_end_in_the_past_is_refused_and_changes_nothing(
    fleet: Fleet, template: str
) -> None:
    shop = await workshop(fleet)
    await fleet.client.put("/repos/r1", json={})
    path = template.format(
        job_id=(await fleet.submit())["id"],
        factory_id="f1",
        project_id=shop.project_id,
        workflow_id=await shop.workflow(),
        repo_id="r1",
    )
    thing = path.rpartition("/")[0]
    before = body_of(await fleet.ops.get(thing))

    past = {"reason": "release day", "until": "2020-01-01T00:00:00Z"}
    refused = problem_of(await fleet.ops.post(path, json=past), 422, "invalid-request")

    assert [each["field"] for each in refused["errors"]] == ["until"]
    assert body_of(await fleet.ops.get(thing)) == before
