"""The chain against a naive second statement of its rules, over every combination of flags."""

from dataclasses import dataclass
from itertools import product

from app.feature_chain import decide
from app.repo import CandidateStatus, IssueStatus, RepoState
from tests.core.chain_world import (
    candidate_id,
    kind_of,
    make_candidate,
    make_issue,
    make_pull,
    make_repo,
    trace,
)
from tests.strategies import NOW


@dataclass(frozen=True, slots=True)
class Flags:
    objective: bool
    focus: bool
    explore: bool
    watching: bool
    solving: bool
    scouting: bool
    capped: bool
    queued: bool
    selected: bool
    pull: bool
    issue: bool
    issue_begun: bool


def state_of(flags: Flags) -> RepoState:
    candidates = [make_candidate(1)] * flags.queued
    candidates += [make_candidate(2, status=CandidateStatus.SELECTED)] * flags.selected
    begun = make_issue(2, status=IssueStatus.IN_PROGRESS)
    return RepoState(
        repo=make_repo(
            objective="Bump deps" if flags.objective else "",
            focus="tests" if flags.focus else None,
            focus_candidate_id=candidate_id(2) if flags.selected else None,
            explore_enabled=flags.explore,
            pr_watching_enabled=flags.watching,
            issue_solving_enabled=flags.solving,
            issue_scout_enabled=flags.scouting,
            daily_run_cap=3,
        ),
        candidates=tuple(candidates),
        pulls=(make_pull(),) * flags.pull,
        issues=(make_issue(1),) * flags.issue + (begun,) * flags.issue_begun,
        runs_today=3 if flags.capped else 2,
    )


def naive_cycle(flags: Flags) -> tuple[str | None, bool]:
    """The cycle as the document draws it: what is dispatched, and whether one is selected."""
    focus, selects = flags.focus, False
    if flags.explore and not flags.objective and not flags.capped and not flags.selected:
        if not flags.queued:
            return "scout", False
        focus = selects = True
    if flags.watching and flags.pull:
        return "verify_pr", selects
    issues = flags.issue or flags.issue_begun
    if flags.solving and not flags.objective and not flags.capped and issues:
        return "fix_issue", selects
    if flags.scouting and not flags.objective and not flags.capped:
        return "issue_scout", selects
    if (flags.objective or focus) and not flags.capped:
        return "spawn", selects
    return None, selects


def naive_trace(flags: Flags) -> dict[str, str]:
    """Each check alone; then the first that has work gets the cycle, and shadows the others."""
    selects = flags.queued and not flags.selected
    explored = flags.explore and not flags.objective and not flags.capped and selects
    work = {
        "explore": not flags.queued and not flags.selected,
        "pr_watcher": flags.pull,
        "issue_solving": flags.issue or flags.issue_begun,
        "issue_scout": True,
        "spawn": flags.objective or flags.focus or explored,
    }
    enabled = {
        "explore": flags.explore,
        "pr_watcher": flags.watching,
        "issue_solving": flags.solving,
        "issue_scout": flags.scouting,
        "spawn": True,
    }
    sends = {"explore": "scout", "pr_watcher": "verify_pr", "issue_solving": "fix_issue"}
    said: dict[str, str] = {}
    winner = None
    for check, has_work in work.items():
        if not enabled[check]:
            said[check] = "disabled"
        elif flags.objective and check not in {"pr_watcher", "spawn"}:
            said[check] = "blocked_by_objective"
        elif flags.capped and check != "pr_watcher":
            said[check] = "capped"
        elif not has_work:
            said[check] = "fell_through" if check == "explore" else "nothing_to_do"
        elif winner is not None:
            said[check] = f"shadowed_by: {winner}"
        else:
            said[check] = "dispatched"
            winner = sends.get(check, check)
    return said


def test_every_combination_of_flags_is_decided_as_the_document_draws_it() -> None:
    names = Flags.__dataclass_fields__
    for values in product((False, True), repeat=len(names)):
        flags = Flags(*values)
        decision = decide(state_of(flags), NOW)

        assert (kind_of(decision), decision.select is not None) == naive_cycle(flags), flags
        assert trace(decision) == naive_trace(flags), flags
        assert list(trace(decision).values()).count("dispatched") <= 1
