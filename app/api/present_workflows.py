"""Projects, workflows and their ticks as replies: from the use cases to the wire."""

from app.api.present import standing
from app.coordinator.explain_workflows import (
    WORDS,
    Said,
    WorkflowExplained,
    WorkflowsExplained,
)
from app.coordinator.projects import ProjectRecord
from app.coordinator.workflows import WorkflowRecord
from app.fleet import JsonObject
from app.tick_jobs import JobDefaults
from app.wire.projects import JobDefaultsReply, ProjectReply
from app.wire.workflow_ticks import (
    TickReply,
    WorkflowExplanation,
    WorkflowsExplanation,
    WorkflowTick,
)
from app.wire.workflows import WorkflowReply


def project(record: ProjectRecord) -> ProjectReply:
    """Show a project."""
    found = record.project
    return ProjectReply(
        id=found.id,
        version=found.version,
        name=found.name,
        local_directory=found.local_directory,
        repo=found.repo,
        required_capabilities=sorted(found.required_capabilities),
        job_defaults=job_defaults(found.job_defaults),
        paused=standing(found.paused),
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def job_defaults(found: JobDefaults) -> JobDefaultsReply:
    """Show how jobs are submitted."""
    return JobDefaultsReply(
        prefers_engine=found.prefers_engine,
        priority=found.priority,
        cost_class=found.cost_class,
        timeout_s=found.timeout_s,
        max_attempts=found.attempts_max,
    )


def workflow(record: WorkflowRecord) -> WorkflowReply:
    """Show a workflow."""
    found = record.workflow
    return WorkflowReply(
        id=found.id,
        version=found.version,
        project_id=found.project_id,
        kind=found.kind,
        title=found.title,
        prompt=found.prompt,
        position=found.position,
        status=found.status,
        processing=found.processing,
        auto_run=found.auto_run,
        run_requested=found.run_requested,
        pr_url=found.pr_url,
        review=found.review,
        review_at=found.review_at,
        review_comments=list(found.review_comments),
        tracks_after_merge=found.tracks_after_merge,
        has_uat=found.has_uat,
        uat_test_at=found.uat_test_at,
        merged_at=found.merged_at,
        stage_attempt=found.stage_attempt,
        stage_failures=found.stage_failures,
        needs_human_reason=found.needs_human_reason,
        paused=standing(found.paused),
        clone_key=found.clone_key,
        job_id=found.job_id,
        finished_at=found.finished_at,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def workflow_tick(report: JsonObject) -> WorkflowTick:
    """Show the report of a tick; one that was skipped has nothing but the reason."""
    return WorkflowTick.model_validate(report)


def workflows_explained(found: WorkflowsExplained) -> WorkflowsExplanation:
    """Show why each workflow did, or did not, start."""
    return WorkflowsExplanation(
        now=found.now,
        last_tick_at=None if found.last_tick is None else found.last_tick.at,
        next_tick=workflow_tick(found.next_report),
        workflows=[_explained(each) for each in found.workflows],
    )


def _explained(found: WorkflowExplained) -> WorkflowExplanation:
    workflow = found.workflow
    return WorkflowExplanation(
        workflow_id=workflow.id,
        title=workflow.title,
        position=workflow.position,
        status=workflow.status,
        processing=workflow.processing,
        needs_human_reason=workflow.needs_human_reason,
        last=None if found.last is None else _said(found.last),
        next=_said(found.next),
    )


def _said(said: Said) -> TickReply:
    return TickReply(
        started=said.started,
        polled=said.polled,
        reason=said.reason,
        words=None if said.reason is None else WORDS[said.reason],
        error=said.error,
    )
