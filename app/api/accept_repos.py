"""Requests about repos as values: the hand-off from the wire to the use cases."""

from typing import Any

from app.api.accept_workflows import job_defaults
from app.coordinator.repo_items import CandidatePatch, IssuePatch, PullPatch
from app.coordinator.repo_settings import RepoPatch
from app.repo import Repo, RepoId
from app.wire import repo_items, repos


def repo(repo_id: str, body: repos.RepoPut) -> Repo:
    """Read all settings of a repo."""
    return Repo(
        id=RepoId(repo_id),
        enabled=body.enabled,
        objective=body.objective,
        focus=body.focus,
        explore_enabled=body.explore_enabled,
        explore_level=body.explore_level,
        pr_watching_enabled=body.pr_watching_enabled,
        issue_solving_enabled=body.issue_solving_enabled,
        issue_scout_enabled=body.issue_scout_enabled,
        daily_run_cap=body.daily_run_cap,
        cooldown_s=body.cooldown_s,
        timezone=body.timezone,
        required_capabilities=frozenset(body.required_capabilities),
        job_defaults=job_defaults(body.job_defaults),
        github=body.github,
    )


def repo_patch(body: repos.RepoPatch) -> RepoPatch:
    """Read what is to change of a repo: the fields that were sent, and no others."""
    named: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    if "required_capabilities" in named:
        named["required_capabilities"] = frozenset(named["required_capabilities"])
    if "job_defaults" in named:
        named["job_defaults"] = job_defaults(named["job_defaults"])
    return RepoPatch(**named)


def candidate_patch(body: repo_items.CandidatePatch) -> CandidatePatch:
    """Read what is to change of a candidate."""
    return CandidatePatch(**{name: getattr(body, name) for name in body.model_fields_set})


def pull_patch(body: repo_items.PullPatch) -> PullPatch:
    """Read what is to change of a pull request."""
    return PullPatch(**{name: getattr(body, name) for name in body.model_fields_set})


def issue(body: repo_items.IssueCreate) -> IssuePatch:
    """Read what is told of an issue: what was sent of it, and no more."""
    return IssuePatch(**{name: getattr(body, name) for name in body.model_fields_set - {"number"}})


def issue_patch(body: repo_items.IssuePatch) -> IssuePatch:
    """Read what is to change of an issue."""
    return IssuePatch(**{name: getattr(body, name) for name in body.model_fields_set})
