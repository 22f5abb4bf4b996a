"""Which one feature does a repo dispatch this cycle? A fixed order, and a trace of every check.

Once per cycle and enabled repo, :func:`decide` asks in this order:

====================  ======================  ===========  ===========  =============
check                 dispatches              a run, and   blocked by   yields when
                                              so capped    objective    capped
====================  ======================  ===========  ===========  =============
1. ``explore``        ``scout``               yes          yes          yes
2. ``pr_watcher``     ``verify_pr``           no           no           no
3. ``issue_solving``  ``fix_issue``           yes          yes          yes
4. ``issue_scout``    ``issue_scout``         yes          yes          yes
5. ``spawn``          ``spawn``               yes          no: runs it  yes
====================  ======================  ===========  ===========  =============

The first that dispatches ends the cycle. Explore is special: with a candidate in its queue it
*selects* the best one, whose focus becomes the repo's, and falls through, so that the others may
still intercept the cycle and the spawn carries the focus if none does. While one is selected it is
in progress: no other is selected and nobody scouts. Only an empty queue sends a scout.

The whole repo is skipped while it is paused, a run of it is active, or it cools down since its last
run. The pull request watcher obeys that too, but starts neither: it is no run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from app.repo import (
    Candidate,
    CandidateStatus,
    Dispatch,
    Issue,
    IssueStatus,
    PullStatus,
    Repo,
    RepoState,
)
from app.tick_jobs import JobKind


class Check(StrEnum):
    """The checks of the chain, in their order."""

    EXPLORE = "explore"
    PR_WATCHER = "pr_watcher"
    ISSUE_SOLVING = "issue_solving"
    ISSUE_SCOUT = "issue_scout"
    SPAWN = "spawn"


class Outcome(StrEnum):
    """What a check came to: a closed vocabulary."""

    DISPATCHED = "dispatched"
    FELL_THROUGH = "fell_through"
    BLOCKED_BY_OBJECTIVE = "blocked_by_objective"
    DISABLED = "disabled"
    CAPPED = "capped"
    NOTHING_TO_DO = "nothing_to_do"
    SHADOWED_BY = "shadowed_by"


class Skip(StrEnum):
    """Why a repo is skipped whole."""

    DISABLED = "disabled"
    PAUSED = "paused"
    RUN_ACTIVE = "run_active"
    COOLDOWN = "cooldown"
    NO_FACTORY = "no_factory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the trace; ``shadow`` is what took the cycle from a check with work to do."""

    check: Check
    outcome: Outcome
    why: str
    shadow: JobKind | None = None

    @property
    def said(self) -> str:
        """The outcome as people read it, ``shadowed_by: issue_scout`` for one."""
        return self.outcome.value if self.shadow is None else f"{self.outcome}: {self.shadow}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a repo does this cycle; ``select`` is the candidate whose focus becomes the repo's."""

    dispatch: Dispatch | None = None
    select: Candidate | None = None
    skipped: Skip | None = None
    trace: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What one check would do if the cycle were its own."""

    outcome: Outcome
    why: str
    dispatch: Dispatch | None = None
    select: Candidate | None = None


def decide(state: RepoState, now: datetime) -> Decision:
    """Choose the one feature that ``state.repo`` dispatches this cycle, and say why not the others.

    A check with nothing to do says so even after another took the cycle; only one that would have
    dispatched is shadowed, so that people see what an always-on scout starves.
    """
    skip = skipped(state, now)
    if skip is not None:
        return Decision(skipped=skip)
    explored = _explore(state)
    then = _with_focus(state, explored.select)
    found = {
        Check.EXPLORE: explored,
        Check.PR_WATCHER: _watch_pulls(then),
        Check.ISSUE_SOLVING: _solve_issue(then, now),
        Check.ISSUE_SCOUT: _scout_issues(then),
        Check.SPAWN: _spawn(then),
    }
    winner = next((each.dispatch for each in found.values() if each.dispatch is not None), None)
    return Decision(
        dispatch=winner,
        select=explored.select,
        trace=tuple(_line(check, each, winner) for check, each in found.items()),
    )


def skipped(state: RepoState, now: datetime) -> Skip | None:
    """Why the repo is skipped whole this cycle, if it is."""
    repo = state.repo
    if not repo.enabled:
        return Skip.DISABLED
    if repo.paused is not None and repo.paused.in_force(now):
        return Skip.PAUSED
    if state.run_active:
        return Skip.RUN_ACTIVE
    if repo.cools_until(now) is not None:
        return Skip.COOLDOWN
    return None if state.placeable else Skip.NO_FACTORY


# ---------------------------------------------------------------------------- the five checks


def _explore(state: RepoState) -> _Found:
    return _unless_barred(state, lambda: _explored(state), enabled=state.repo.explore_enabled)


def _explored(state: RepoState) -> _Found:
    in_progress = _best(state.candidates, CandidateStatus.SELECTED)
    if in_progress is not None:
        return _Found(outcome=Outcome.FELL_THROUGH, why=f"in progress: {in_progress.focus}")
    best = _best(state.candidates, CandidateStatus.QUEUED)
    if best is not None:
        why = f"selected {best.focus}"
        return _Found(outcome=Outcome.FELL_THROUGH, why=why, select=best)
    prompt = "Survey the repository and propose what to work on next, each with a score."
    return _dispatching(Dispatch(kind=JobKind.SCOUT, prompt=prompt), "no candidate is queued")


def _watch_pulls(state: RepoState) -> _Found:
    if not state.repo.pr_watching_enabled:
        return _Found(outcome=Outcome.DISABLED, why="it is turned off")
    waiting = [each for each in state.pulls if each.status is PullStatus.NEEDS_VERIFY]
    pull = min(waiting, key=lambda each: each.number, default=None)
    if pull is None:
        return _Found(outcome=Outcome.NOTHING_TO_DO, why="no pull request needs verifying")
    prompt = f"Verify pull request #{pull.number} at {pull.head_sha}."
    return _dispatching(
        Dispatch(kind=JobKind.VERIFY_PR, prompt=prompt, pull=pull), f"#{pull.number} needs it"
    )


def _solve_issue(state: RepoState, now: datetime) -> _Found:
    return _unless_barred(
        state, lambda: _solved(state, now), enabled=state.repo.issue_solving_enabled
    )


def _solved(state: RepoState, now: datetime) -> _Found:
    if state.forge_silent is not None:
        return _Found(outcome=Outcome.NOTHING_TO_DO, why=state.forge_silent)
    issue = next_issue(state.issues, now)
    if issue is None:
        return _Found(outcome=Outcome.NOTHING_TO_DO, why="no issue can be tried now")
    why = f"#{issue.number}, solution {issue.solutions_done + 1} of {issue.solutions_wanted}"
    prompt = f"Solve issue #{issue.number}: {issue.title}"
    return _dispatching(Dispatch(kind=JobKind.FIX_ISSUE, prompt=prompt, issue=issue), why)


def next_issue(issues: Iterable[Issue], now: datetime) -> Issue | None:
    """Return the issue to solve next: one in progress first, then higher score, smaller number."""
    places = {IssueStatus.IN_PROGRESS: 0, IssueStatus.OPEN: 1}
    able = [
        each
        for each in issues
        if each.status in places
        and each.solutions_done < each.solutions_wanted
        and (each.next_try_at is None or each.next_try_at <= now)
    ]
    return min(able, key=lambda each: (places[each.status], -each.score, each.number), default=None)


def _scout_issues(state: RepoState) -> _Found:
    prompt = (
        "Audit the repository and file what you find as issues, each with a score. "
        "Only read: no branch, no commit, no pull request."
    )
    dispatch = Dispatch(kind=JobKind.ISSUE_SCOUT, prompt=prompt)
    return _unless_barred(
        state,
        lambda: _dispatching(dispatch, "it is turned on"),
        enabled=state.repo.issue_scout_enabled,
    )


def _spawn(state: RepoState) -> _Found:
    repo = state.repo
    if _capped(state):
        return _cap(state)
    if repo.standing_objective is not None:
        objective = Dispatch(kind=JobKind.SPAWN, prompt=repo.standing_objective)
        return _dispatching(objective, "the objective")
    focus = repo.present_focus
    if focus is None:
        return _Found(outcome=Outcome.NOTHING_TO_DO, why="neither objective nor focus: idle")
    carried = next((each for each in state.candidates if each.id == repo.focus_candidate_id), None)
    if carried is not None and carried.status is not CandidateStatus.SELECTED:
        carried = None
    dispatch = Dispatch(kind=JobKind.SPAWN, prompt=focus, focus=focus, candidate=carried)
    return _dispatching(dispatch, "the focus")


# ---------------------------------------------------------------------------- what they share


def _unless_barred(state: RepoState, act: Callable[[], _Found], *, enabled: bool) -> _Found:
    """Ask what every autonomous feature is asked before it may look for work."""
    if not enabled:
        return _Found(outcome=Outcome.DISABLED, why="it is turned off")
    if state.repo.standing_objective is not None:
        return _Found(outcome=Outcome.BLOCKED_BY_OBJECTIVE, why="a standing objective is set")
    return _cap(state) if _capped(state) else act()


def _capped(state: RepoState) -> bool:
    return state.runs_today >= state.repo.daily_run_cap


def _cap(state: RepoState) -> _Found:
    why = f"{state.runs_today} runs started today, {state.repo.daily_run_cap} allowed"
    return _Found(outcome=Outcome.CAPPED, why=why)


def _dispatching(dispatch: Dispatch, why: str) -> _Found:
    return _Found(outcome=Outcome.DISPATCHED, why=why, dispatch=dispatch)


def _best(candidates: Iterable[Candidate], status: CandidateStatus) -> Candidate | None:
    of_status = (each for each in candidates if each.status is status)
    return min(of_status, key=lambda each: (-each.score, each.created_at, each.id), default=None)


def _with_focus(state: RepoState, selected: Candidate | None) -> RepoState:
    """Look at the rest of the chain as it is once the selection is written."""
    if selected is None:
        return state
    repo, carried = select(state.repo, selected)
    others = tuple(each for each in state.candidates if each.id != selected.id)
    return replace(state, repo=repo, candidates=(*others, carried))


def select(repo: Repo, candidate: Candidate) -> tuple[Repo, Candidate]:
    """Make the candidate's focus the repo's."""
    return (
        replace(repo, focus=candidate.focus, focus_candidate_id=candidate.id),
        replace(candidate, status=CandidateStatus.SELECTED),
    )


def _line(check: Check, found: _Found, winner: Dispatch | None) -> Line:
    if found.dispatch is None or winner is None or found.dispatch is winner:
        return Line(check=check, outcome=found.outcome, why=found.why)
    return Line(check=check, outcome=Outcome.SHADOWED_BY, why=found.why, shadow=winner.kind)
