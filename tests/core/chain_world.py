"""A small world of one repo: builders, and cycles of its chain played with values alone."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypedDict, Unpack
from uuid import UUID
from zoneinfo import ZoneInfo

from app import findings, runs
from app.day import day_start
from app.feature_chain import Decision, decide, select
from app.fleet import JobState, Json, Standing
from app.repo import (
    Candidate,
    CandidateId,
    CandidateStatus,
    ExploreLevel,
    Issue,
    IssueStatus,
    Pull,
    PullId,
    PullStatus,
    Repo,
    RepoId,
    RepoState,
    Run,
    RunId,
)
from app.tick_jobs import End, Ending, JobKind, JobReport, ending
from tests.strategies import HOUR, NOW

CYCLE = timedelta(minutes=10)


class RepoFields(TypedDict, total=False):
    """What :func:`make_repo` may be told."""

    enabled: bool
    objective: str | None
    focus: str | None
    focus_candidate_id: CandidateId | None
    explore_enabled: bool
    explore_level: ExploreLevel
    pr_watching_enabled: bool
    issue_solving_enabled: bool
    issue_scout_enabled: bool
    daily_run_cap: int
    cooldown_s: int
    last_run_at: datetime | None
    paused: Standing | None
    required_capabilities: frozenset[str]


def make_repo(**fields: Unpack[RepoFields]) -> Repo:
    """A repo with all features off."""
    return replace(Repo(id=RepoId("shop")), **fields)


def candidate_id(number: int) -> CandidateId:
    return CandidateId(UUID(int=number))


def make_candidate(
    number: int = 1,
    *,
    score: float = 1,
    status: CandidateStatus = CandidateStatus.QUEUED,
    age_h: int = 1,
    failures: int = 0,
) -> Candidate:
    return Candidate(
        id=candidate_id(number),
        focus=f"idea {number}",
        score=score,
        created_at=NOW - age_h * HOUR,
        status=status,
        failures=failures,
    )


def make_pull(number: int = 1, status: PullStatus = PullStatus.NEEDS_VERIFY) -> Pull:
    return Pull(id=PullId(UUID(int=number)), number=number, head_sha="abc", status=status)


class IssueFields(TypedDict, total=False):
    """What :func:`make_issue` may be told."""

    score: float
    solutions_wanted: int
    solutions_done: int
    status: IssueStatus
    failures: int
    next_try_at: datetime | None


def make_issue(number: int = 1, **fields: Unpack[IssueFields]) -> Issue:
    return replace(Issue(number=number, title=f"bug {number}", score=1), **fields)


def ended(end: End, result: Json = None, at: datetime = NOW) -> Ending:
    members = result if isinstance(result, dict) else {}
    return Ending(end=end, at=at, why="it broke", result=members if end is End.SUCCEEDED else None)


def trace(decision: Decision) -> dict[str, str]:
    """The trace as people read it."""
    return {line.check.value: line.said for line in decision.trace}


def kind_of(decision: Decision) -> JobKind | None:
    return decision.dispatch.kind if decision.dispatch else None


class RepoWorld:
    """One repo with everything its chain looks at; the only thing here that changes."""

    def __init__(
        self,
        repo: Repo,
        *,
        candidates: Iterable[Candidate] = (),
        pulls: Iterable[Pull] = (),
        issues: Iterable[Issue] = (),
    ) -> None:
        self.repo = repo
        self.candidates = {each.id: each for each in candidates}
        self.pulls = {each.number: each for each in pulls}
        self.issues = {each.number: each for each in issues}
        self.runs: list[Run] = []
        self.verifies: list[Pull] = []
        self.dedupe_keys: list[str] = []
        self.placeable = True
        self.now = NOW
        self.zone = ZoneInfo(repo.timezone)

    def active_run(self) -> Run | None:
        return next((each for each in self.runs if each.finished_at is None), None)

    def runs_today(self) -> int:
        since = day_start(self.now, self.zone)
        return sum(each.started_at >= since for each in self.runs)

    def state(self) -> RepoState:
        return RepoState(
            repo=self.repo,
            candidates=tuple(self.candidates.values()),
            pulls=tuple(self.pulls.values()),
            issues=tuple(self.issues.values()),
            run_active=self.active_run() is not None,
            runs_today=self.runs_today(),
            placeable=self.placeable,
        )

    def cycle(self) -> Decision:
        """Decide, and write what was decided."""
        decision = decide(self.state(), self.now)
        if decision.select is not None:
            self.repo, chosen = select(self.repo, decision.select)
            self.candidates[chosen.id] = chosen
        dispatch = decision.dispatch
        if dispatch is None:
            return decision
        run_id = RunId(UUID(int=len(self.runs) + 1)) if dispatch.is_run else None
        self.dedupe_keys.append(runs.job_of(self.repo, dispatch, run_id).dedupe_key or "")
        if dispatch.pull is not None:
            verifying = runs.verifying(dispatch.pull)
            self.pulls[verifying.number] = verifying
            self.verifies.append(verifying)
        if dispatch.issue is not None:
            self.issues[dispatch.issue.number] = runs.taken_up(dispatch.issue)
        if run_id is not None:
            self.runs.append(runs.run_of(dispatch, run_id, self.now))
            self.repo = runs.run_started(self.repo, self.now)
        return decision

    def later(self, by: timedelta = CYCLE) -> None:
        self.now += by

    def finish(self, state: JobState = JobState.SUCCEEDED, result: Json = None) -> None:
        """End the active run."""
        run = self.active_run()
        assert run is not None
        report = JobReport(state=state, result=result, finished_at=self.now)
        found = ending(report, placeable=True, now=self.now)
        assert found is not None
        over = findings.judged(run.kind, found)
        self.runs[self.runs.index(run)] = runs.run_ended(run, over)
        if run.candidate_id is not None:
            candidate = runs.candidate_ended(self.candidates[run.candidate_id], over)
            self.candidates[candidate.id] = candidate
            self.repo = runs.focus_cleared(self.repo, candidate)
        if run.issue_number is not None:
            issue = self.issues[run.issue_number]
            self.issues[issue.number] = runs.issue_ended(issue, over)
        if over.result is not None:
            self._take_over(run.kind, over)

    def verified(self, *, good: bool = True) -> None:
        """End the oldest verify job."""
        asked = self.verifies.pop(0)
        result: Json = {"verified": good}
        over = ended(End.SUCCEEDED, result, self.now)
        self.pulls[asked.number] = runs.pull_ended(self.pulls[asked.number], asked.head_sha, over)

    def _take_over(self, kind: JobKind, over: Ending) -> None:
        result = over.result or {}
        if kind is JobKind.SCOUT:
            found = findings.proposals(result)
            assert isinstance(found, tuple)
            for each in findings.new_proposals(self.candidates.values(), found):
                id_ = candidate_id(1000 + len(self.candidates))
                self.candidates[id_] = Candidate(
                    id=id_, focus=each.focus, score=each.score, created_at=self.now
                )
        if kind is JobKind.ISSUE_SCOUT:
            filed = findings.filed(result)
            assert isinstance(filed, tuple)
            for issue in findings.issues_after(self.issues.values(), filed):
                self.issues[issue.number] = issue
