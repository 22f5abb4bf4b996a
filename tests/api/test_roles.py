"""The table of roles: for every call, exactly those may make it."""

from typing import Final

from app.api.application import application
from app.api.document import routes_of
from tests.support.api import Fleet

JOB = "01980a3c-5f4e-7cc3-9d0b-2f1f2c0a7e11"

OPS, CLIENT, FACTORY, CRON = "ops", "client", "factory", "cron"
EVERYBODY = frozenset({OPS, CLIENT, FACTORY, CRON})

TABLE: Final = {
    "PUT /factories/{factory_id}": {OPS, FACTORY},
    "POST /factories/{factory_id}/heartbeat": {FACTORY},
    "POST /factories/{factory_id}/drain": {OPS},
    "POST /factories/{factory_id}/pause": {OPS},
    "POST /factories/{factory_id}/resume": {OPS},
    "GET /factories": {OPS},
    "GET /factories/{factory_id}": {OPS},
    "DELETE /factories/{factory_id}": {OPS},
    "POST /jobs": {OPS, CLIENT},
    "POST /jobs/batch": {OPS, CLIENT},
    "GET /jobs": {OPS, CLIENT},
    "GET /jobs/{job_id}": {OPS, CLIENT},
    "GET /jobs/{job_id}/events": {OPS, CLIENT},
    "PATCH /jobs/{job_id}": {OPS, CLIENT},
    "POST /jobs/{job_id}/cancel": {OPS, CLIENT},
    "POST /jobs/{job_id}/retry": {OPS, CLIENT},
    "POST /jobs/{job_id}/hold": {OPS, CLIENT},
    "POST /jobs/{job_id}/unhold": {OPS, CLIENT},
    "POST /claim": {FACTORY},
    "POST /jobs/{job_id}/renew": {FACTORY},
    "POST /jobs/{job_id}/complete": {FACTORY},
    "POST /jobs/{job_id}/fail": {FACTORY},
    "POST /jobs/{job_id}/release": {FACTORY},
    "POST /leases/complete": {FACTORY},
    "GET /explain": {OPS, FACTORY},
    "GET /explain/jobs/{job_id}": {OPS},
    "GET /explain/jobs/{job_id}/leases": {OPS},
    "GET /explain/decisions": {OPS},
    "GET /explain/decisions/{decision_id}": {OPS},
    "POST /explain/what-if": {OPS},
    "POST /projects": {OPS},
    "GET /projects": {OPS},
    "GET /projects/{project_id}": {OPS},
    "PATCH /projects/{project_id}": {OPS},
    "DELETE /projects/{project_id}": {OPS},
    "POST /projects/{project_id}/pause": {OPS},
    "POST /projects/{project_id}/resume": {OPS},
    "POST /workflows": {OPS},
    "GET /workflows": {OPS},
    "GET /workflows/{workflow_id}": {OPS},
    "PATCH /workflows/{workflow_id}": {OPS},
    "DELETE /workflows/{workflow_id}": {OPS},
    "POST /workflows/{workflow_id}/run": {OPS},
    "POST /workflows/{workflow_id}/review": {OPS},
    "POST /workflows/{workflow_id}/merged": {OPS},
    "POST /workflows/{workflow_id}/retry": {OPS},
    "POST /workflows/{workflow_id}/cancel": {OPS},
    "POST /workflows/{workflow_id}/pause": {OPS},
    "POST /workflows/{workflow_id}/resume": {OPS},
    "POST /workflows/{workflow_id}/move": {OPS},
    "GET /explain/workflows": {OPS},
    "PUT /repos/{repo_id}": {OPS, CLIENT},
    "GET /repos": {OPS, CLIENT},
    "GET /repos/{repo_id}": {OPS, CLIENT},
    "PATCH /repos/{repo_id}": {OPS, CLIENT},
    "DELETE /repos/{repo_id}": {OPS, CLIENT},
    "POST /repos/{repo_id}/pause": {OPS, CLIENT},
    "POST /repos/{repo_id}/resume": {OPS, CLIENT},
    "POST /repos/{repo_id}/candidates": {OPS, CLIENT},
    "GET /repos/{repo_id}/candidates": {OPS, CLIENT},
    "GET /repos/{repo_id}/candidates/{candidate_id}": {OPS, CLIENT},
    "PATCH /repos/{repo_id}/candidates/{candidate_id}": {OPS, CLIENT},
    "DELETE /repos/{repo_id}/candidates/{candidate_id}": {OPS, CLIENT},
    "POST /repos/{repo_id}/pulls": {OPS, CLIENT},
    "GET /repos/{repo_id}/pulls": {OPS, CLIENT},
    "GET /repos/{repo_id}/pulls/{number}": {OPS, CLIENT},
    "PATCH /repos/{repo_id}/pulls/{number}": {OPS, CLIENT},
    "DELETE /repos/{repo_id}/pulls/{number}": {OPS, CLIENT},
    "POST /repos/{repo_id}/issues": {OPS, CLIENT},
    "GET /repos/{repo_id}/issues": {OPS, CLIENT},
    "GET /repos/{repo_id}/issues/{number}": {OPS, CLIENT},
    "PATCH /repos/{repo_id}/issues/{number}": {OPS, CLIENT},
    "DELETE /repos/{repo_id}/issues/{number}": {OPS, CLIENT},
    "GET /repos/{repo_id}/runs": {OPS, CLIENT},
    "GET /explain/repos/{repo_id}": {OPS},
    "POST /tick/repos": {OPS, CRON},
    "GET /ticks": {OPS},
    "POST /tick/workflows": {OPS, CRON},
    "POST /tick": {OPS, CRON},
    "POST /tick/leases": {OPS, CRON},
    "POST /tokens": {OPS},
    "GET /tokens": {OPS},
    "DELETE /tokens/{token_id}": {OPS},
    "GET /metrics": EVERYBODY,
}

OPEN: Final = {"GET /healthz", "GET /readyz", "GET /problems/{slug}", "POST /webhooks/github"}


def test_every_route_is_in_the_table() -> None:
    routes = {
        f"{method} {route.path}"
        for route in routes_of(application())
        for method in route.methods or ()
    }
    assert routes == TABLE.keys() | OPEN


async def test_who_may_call_what(fleet: Fleet) -> None:
    await fleet.factory("f1")
    fleet.tokens[FACTORY] = fleet.tokens["f1"]
    for call, allowed in TABLE.items():
        method, template = call.split(" ")
        named = ("job_id", "decision_id", "token_id", "project_id", "workflow_id", "candidate_id")
        path = template.format(
            **dict.fromkeys(named, JOB), factory_id="f1", repo_id="shop", number=7
        )
        for role in sorted(EVERYBODY):
            response = await fleet.by(role).request(method, path)
            assert (response.status_code == 403) == (role not in allowed), (call, role)
        assert (await fleet.anonymous.request(method, path)).status_code == 401
        if call.startswith("DELETE /factories"):
            await fleet.factory("f1")
            fleet.tokens[FACTORY] = fleet.tokens["f1"]
