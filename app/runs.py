"""Runs of a repo: the job of a dispatch, what its beginning writes, and what its end changes.

A *run* is recorded, holds the repo's lock, counts towards the day's cap and starts the cooldown; a
verify job does none of that. While either is unfinished, what it is about is not dispatched again:
a repo with a run is skipped whole, and a pull request being verified does not need verifying. A
solution counts when its job succeeds, not when its pull request appears, so there is no gap in
between in which it would be sent out twice.

What fails is not sent out again every cycle. An issue waits, longer each time, and is then left to
a person; a candidate goes back to the queue, and is then rejected; a pull request has failed until
there is a new commit. The counters are stored, so they outlast a restart. A job that was cancelled
by hand counts as one that failed; one that was withdrawn counts as never sent.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from app.fleet import JobSpec, JsonObject
from app.repo import (
    Candidate,
    CandidateStatus,
    Dispatch,
    Issue,
    IssueStatus,
    Pull,
    PullStatus,
    Repo,
    Run,
    RunId,
    RunStatus,
)
from app.tick_jobs import End, Ending, JobKind, class_of, dedupe_key

FAILURES_MAX: Final = 3
ISSUE_BACKOFF: Final = timedelta(minutes=30)

_RUN_STATUS: Final = {
    End.SUCCEEDED: RunStatus.SUCCEEDED,
    End.FAILED: RunStatus.FAILED,
    End.MALFORMED: RunStatus.FAILED,
    End.CANCELLED: RunStatus.CANCELLED,
    End.WITHDRAWN: RunStatus.WITHDRAWN,
}


# ---------------------------------------------------------------------------- beginning


def job_of(repo: Repo, dispatch: Dispatch, run_id: RunId | None) -> JobSpec:
    """Return the job that does what was decided; ``run_id`` is that of its run, if it is one."""
    return JobSpec(
        kind=dispatch.kind.value,
        job_class=class_of(
            repo.required_capabilities, repo.job_defaults, repo.lock if dispatch.is_run else None
        ),
        repo=repo.id,
        payload=_payload(repo, dispatch),
        labels={"repo_id": repo.id},
        timeout_s=repo.job_defaults.timeout_s,
        attempts_max=repo.job_defaults.attempts_max,
        dedupe_key=_dedupe_key(repo, dispatch, run_id),
    )


def run_of(dispatch: Dispatch, run_id: RunId, now: datetime) -> Run:
    """Return the record of a run that begins now."""
    return Run(
        id=run_id,
        kind=dispatch.kind,
        started_at=now,
        candidate_id=dispatch.candidate.id if dispatch.candidate else None,
        issue_number=dispatch.issue.number if dispatch.issue else None,
    )


def run_started(repo: Repo, now: datetime) -> Repo:
    """Start the cooldown of the repo: it is counted from the start of its last run."""
    return replace(repo, last_run_at=now)


def verifying(pull: Pull) -> Pull:
    """Mark a pull request as being verified, by its next attempt."""
    return replace(pull, status=PullStatus.VERIFYING, attempt=pull.attempt + 1, job_id=None)


def taken_up(issue: Issue) -> Issue:
    """Mark an issue as being solved."""
    return replace(issue, status=IssueStatus.IN_PROGRESS)


# ---------------------------------------------------------------------------- the end


def run_ended(run: Run, ended: Ending) -> Run:
    """Return the record of a run that has ended."""
    return replace(run, status=_RUN_STATUS[ended.end], finished_at=ended.at)


def candidate_ended(candidate: Candidate, ended: Ending) -> Candidate:
    """Let a candidate leave ``selected`` as the spawn that carried it ended.

    One that somebody moved meanwhile stays where it was put, and so does that of a spawn that was
    withdrawn: it is still the repo's focus.
    """
    if candidate.status is not CandidateStatus.SELECTED or ended.end is End.WITHDRAWN:
        return candidate
    if ended.end is End.SUCCEEDED:
        return replace(candidate, status=CandidateStatus.DONE)
    failures = candidate.failures + 1
    rejected = failures >= FAILURES_MAX
    status = CandidateStatus.REJECTED if rejected else CandidateStatus.QUEUED
    return replace(candidate, status=status, failures=failures)


def focus_cleared(repo: Repo, candidate: Candidate) -> Repo:
    """Clear the repo's focus along with the candidate that it came from, if that let go of it."""
    carried = repo.focus_candidate_id == candidate.id
    if not carried or candidate.status is CandidateStatus.SELECTED:
        return repo
    return replace(repo, focus=None, focus_candidate_id=None)


def deselected(candidate: Candidate) -> Candidate:
    """Put a selected candidate back: a person has given the repo another focus."""
    if candidate.status is not CandidateStatus.SELECTED:
        return candidate
    return replace(candidate, status=CandidateStatus.QUEUED)


def candidate_put(candidate: Candidate, status: CandidateStatus) -> Candidate:
    """Put a candidate where a person wants it, with all its tries."""
    return replace(candidate, status=status, failures=0)


def issue_put(issue: Issue, status: IssueStatus) -> Issue:
    """Put an issue where a person wants it, with all its tries, and without a wait."""
    return replace(issue, status=status, failures=0, next_try_at=None)


def issue_ended(issue: Issue, ended: Ending) -> Issue:
    """Count a solution, or a failure; what somebody parked or closed meanwhile stays so."""
    if ended.end is End.WITHDRAWN:
        return issue
    parked = issue.status in (IssueStatus.NEEDS_HUMAN, IssueStatus.SOLVED)
    if ended.end is End.SUCCEEDED:
        done = issue.solutions_done + 1
        enough = parked or done < issue.solutions_wanted
        status = issue.status if enough else IssueStatus.SOLVED
        return replace(issue, solutions_done=done, status=status, failures=0, next_try_at=None)
    failures = issue.failures + 1
    status = IssueStatus.NEEDS_HUMAN if failures >= FAILURES_MAX else issue.status
    return replace(
        issue,
        status=issue.status if parked else status,
        failures=failures,
        next_try_at=ended.at + ISSUE_BACKOFF * (1 << min(failures, FAILURES_MAX) - 1),
    )


def pull_ended(pull: Pull, head_sha: str, ended: Ending) -> Pull:
    """Take the word of a verify job on ``head_sha``: it says nothing about a newer commit."""
    if pull.status is not PullStatus.VERIFYING or pull.head_sha != head_sha:
        return pull
    if ended.end is End.WITHDRAWN:
        return replace(pull, status=PullStatus.NEEDS_VERIFY)
    good = ended.end is End.SUCCEEDED and (ended.result or {}).get("verified") is True
    return replace(pull, status=PullStatus.VERIFIED if good else PullStatus.FAILED)


def pull_seen(pull: Pull, head_sha: str) -> Pull:
    """Take note of a pull request's newest commit, which has to be verified anew."""
    if pull.head_sha == head_sha:
        return pull
    return replace(pull, head_sha=head_sha, status=PullStatus.NEEDS_VERIFY)


# ---------------------------------------------------------------------------- the job


def _dedupe_key(repo: Repo, dispatch: Dispatch, run_id: RunId | None) -> str:
    if dispatch.pull is None:
        return dedupe_key("repo", repo.id, "run", run_id)
    pull = dispatch.pull
    attempt = pull.attempt + 1
    return dedupe_key("repo", repo.id, "pull", pull.number, pull.id, pull.head_sha, attempt)


def _payload(repo: Repo, dispatch: Dispatch) -> JsonObject:
    payload: JsonObject = {
        "repo_id": repo.id,
        "stage": dispatch.kind.value,
        "prompt": dispatch.prompt,
        "repo": repo.id,
    }
    if dispatch.focus is not None:
        payload["focus"] = dispatch.focus
    if dispatch.issue is not None:
        payload["issue"] = {"number": dispatch.issue.number, "title": dispatch.issue.title}
    if dispatch.pull is not None:
        payload["pull"] = {"number": dispatch.pull.number, "head_sha": dispatch.pull.head_sha}
    if dispatch.kind is JobKind.SCOUT:
        payload["explore_level"] = repo.explore_level.value
    if dispatch.kind is JobKind.ISSUE_SCOUT:
        payload["read_only"] = True
    return payload
