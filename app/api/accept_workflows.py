"""Requests about projects and workflows as values: from the wire to the use cases."""

from typing import Any

from app.coordinator.workflows import WorkflowSpec
from app.tick_jobs import JobDefaults
from app.wire import projects as wire
from app.wire.projects import ProjectCreate, ProjectPatch
from app.wire.workflows import WorkflowCreate, WorkflowPatch
from app.workflow import ProjectId


def project(body: ProjectCreate) -> dict[str, Any]:
    """Read the settings of a new project, its name aside."""
    return {
        "local_directory": body.local_directory,
        "repo": body.repo,
        "required_capabilities": frozenset(body.required_capabilities),
        "job_defaults": job_defaults(body.job_defaults),
    }


def project_patch(body: ProjectPatch) -> dict[str, Any]:
    """Read what is to change of a project: the fields that were sent, and no others."""
    named = {name: getattr(body, name) for name in body.model_fields_set}
    if "required_capabilities" in named:
        named["required_capabilities"] = frozenset(named["required_capabilities"])
    if "job_defaults" in named:
        named["job_defaults"] = job_defaults(named["job_defaults"])
    return named


def workflow(body: WorkflowCreate) -> WorkflowSpec:
    """Read a workflow that is to be created."""
    return WorkflowSpec(
        project_id=ProjectId(body.project_id),
        kind=body.kind,
        title=body.title,
        prompt=body.prompt,
        position=body.position,
        status=body.status,
        auto_run=body.auto_run,
        pr_url=body.pr_url,
        tracks_after_merge=body.tracks_after_merge,
        has_uat=body.has_uat,
        uat_test_at=body.uat_test_at,
    )


def workflow_patch(body: WorkflowPatch) -> dict[str, Any]:
    """Read what is to change of a workflow: the fields that were sent, and no others."""
    return {name: getattr(body, name) for name in body.model_fields_set}


def job_defaults(body: wire.JobDefaults) -> JobDefaults:
    """Read how jobs are submitted."""
    return JobDefaults(
        prefers_engine=body.prefers_engine,
        priority=body.priority,
        cost_class=body.cost_class,
        timeout_s=body.timeout_s,
        attempts_max=body.max_attempts,
    )
