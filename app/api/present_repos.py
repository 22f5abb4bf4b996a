"""Repos as replies: the hand-off from the use cases to the wire."""

from app.api.present import standing
from app.api.present_workflows import job_defaults
from app.coordinator.explain_repo import RepoExplanation
from app.coordinator.repo_settings import RepoRecord
from app.fleet import JsonObject
from app.repo import Candidate, Issue, Pull, Run
from app.wire import repos as wire
from app.wire.repo_items import CandidateReply, IssueReply, PullReply, RunReply


def repo(record: RepoRecord) -> wire.RepoReply:
    """Show a repo."""
    shown = record.repo
    carried = shown.focus_candidate_id
    return wire.RepoReply(
        id=shown.id,
        version=shown.version,
        enabled=shown.enabled,
        objective=shown.objective,
        focus=shown.focus,
        focus_candidate_id=None if carried is None else str(carried),
        explore_enabled=shown.explore_enabled,
        explore_level=shown.explore_level,
        pr_watching_enabled=shown.pr_watching_enabled,
        issue_solving_enabled=shown.issue_solving_enabled,
        issue_scout_enabled=shown.issue_scout_enabled,
        daily_run_cap=shown.daily_run_cap,
        cooldown_s=shown.cooldown_s,
        timezone=shown.timezone,
        last_run_at=shown.last_run_at,
        paused=standing(shown.paused),
        required_capabilities=sorted(shown.required_capabilities),
        job_defaults=job_defaults(shown.job_defaults),
        github=shown.github,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def candidate(shown: Candidate) -> CandidateReply:
    """Show a candidate."""
    return CandidateReply(
        id=shown.id,
        version=shown.version,
        focus=shown.focus,
        score=shown.score,
        status=shown.status,
        failures=shown.failures,
        created_at=shown.created_at,
    )


def pull(shown: Pull) -> PullReply:
    """Show a pull request."""
    return PullReply(
        number=shown.number,
        version=shown.version,
        head_sha=shown.head_sha,
        status=shown.status,
        attempt=shown.attempt,
        job_id=shown.job_id,
    )


def issue(shown: Issue) -> IssueReply:
    """Show an issue."""
    return IssueReply(
        number=shown.number,
        version=shown.version,
        title=shown.title,
        score=shown.score,
        solutions_wanted=shown.solutions_wanted,
        solutions_done=shown.solutions_done,
        status=shown.status,
        failures=shown.failures,
        next_try_at=shown.next_try_at,
    )


def run(shown: Run) -> RunReply:
    """Show a run."""
    return RunReply(
        id=shown.id,
        kind=shown.kind.value,
        status=shown.status,
        job_id=shown.job_id,
        candidate_id=shown.candidate_id,
        issue_number=shown.issue_number,
        started_at=shown.started_at,
        finished_at=shown.finished_at,
    )


def repo_tick(report: JsonObject) -> wire.RepoTick:
    """Show the report of a tick over repos."""
    return wire.RepoTick.model_validate(report)


def repo_explanation(found: RepoExplanation) -> wire.RepoExplanation:
    """Show why a repo did what it did; what would be submitted has no id yet."""
    next_ = {**found.next.as_json(), "job_id": None}
    return wire.RepoExplanation(
        repo_id=found.repo_id, last=found.last, next=wire.RepoCycle.model_validate(next_)
    )
