"""The scheduler priority document: every row of its tables and every example, cycle by cycle."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.feature_chain import Check, Decision, Skip, decide, next_issue
from app.fleet import JobState
from app.repo import (
    Candidate,
    CandidateStatus,
    ExploreLevel,
    Issue,
    IssueStatus,
    PullStatus,
    Repo,
    RepoState,
)
from app.tick_jobs import JobKind
from tests.core.chain_world import (
    RepoWorld,
    candidate_id,
    kind_of,
    make_candidate,
    make_issue,
    make_pull,
    make_repo,
    trace,
)
from tests.strategies import HOUR, NOW, make_standing

ALL_ON = make_repo(
    explore_enabled=True,
    pr_watching_enabled=True,
    issue_solving_enabled=True,
    issue_scout_enabled=True,
)
QUEUED, SELECTED = CandidateStatus.QUEUED, CandidateStatus.SELECTED
BUSY = RepoState(
    repo=replace(ALL_ON, focus="old focus"),
    candidates=(make_candidate(),),
    pulls=(make_pull(),),
    issues=(make_issue(),),
)


def decided(state: RepoState) -> Decision:
    return decide(state, NOW)


def chosen(*candidates: Candidate) -> int | None:
    picked = decided(RepoState(repo=ALL_ON, candidates=candidates)).select
    return picked.id.int if picked else None


# ---------------------------------------------------------------------------- priority order


def test_1st_explore_auto_select_falls_through_the_candidate_runs_as_a_normal_spawn() -> None:
    decision = decided(RepoState(repo=make_repo(explore_enabled=True), candidates=BUSY.candidates))

    assert decision.select == make_candidate()
    assert decision.dispatch is not None
    assert decision.dispatch.kind is JobKind.SPAWN
    assert (decision.dispatch.prompt, decision.dispatch.focus) == ("idea 1", "idea 1")
    assert decision.dispatch.candidate == make_candidate(status=SELECTED)


def test_explore_scout_takes_the_cycle_when_the_queue_is_empty() -> None:
    decision = decided(replace(BUSY, candidates=()))

    assert kind_of(decision) is JobKind.SCOUT
    assert trace(decision) == {
        "explore": "dispatched",
        "pr_watcher": "shadowed_by: scout",
        "issue_solving": "shadowed_by: scout",
        "issue_scout": "shadowed_by: scout",
        "spawn": "shadowed_by: scout",
    }


def test_2nd_pr_watcher_takes_the_cycle_and_consumes_no_run_slot() -> None:
    decision = decided(BUSY)

    assert kind_of(decision) is JobKind.VERIFY_PR
    assert decision.dispatch is not None
    assert not decision.dispatch.is_run
    assert trace(decision) == {
        "explore": "fell_through",
        "pr_watcher": "dispatched",
        "issue_solving": "shadowed_by: verify_pr",
        "issue_scout": "shadowed_by: verify_pr",
        "spawn": "shadowed_by: verify_pr",
    }


def test_3rd_issue_solving_spawns_a_fix_run_one_issue_per_cycle() -> None:
    decision = decided(replace(BUSY, pulls=()))

    assert kind_of(decision) is JobKind.FIX_ISSUE
    assert decision.dispatch is not None
    assert decision.dispatch.is_run
    assert decision.dispatch.issue == make_issue()


def test_4th_issue_scout_spawns_an_audit_run_and_a_starved_spawn_can_be_seen() -> None:
    decision = decided(replace(BUSY, pulls=(), issues=()))

    assert kind_of(decision) is JobKind.ISSUE_SCOUT
    assert trace(decision)["issue_solving"] == "nothing_to_do"
    assert trace(decision)["spawn"] == "shadowed_by: issue_scout"


def test_5th_normal_spawn_uses_the_repos_objective_or_focus() -> None:
    for repo, prompt in (
        (make_repo(objective="Bump deps", focus="tests"), "Bump deps"),
        (make_repo(objective="  ", focus=" tests "), "tests"),
    ):
        decision = decided(RepoState(repo=repo))
        assert kind_of(decision) is JobKind.SPAWN
        assert decision.dispatch is not None
        assert decision.dispatch.prompt == prompt


def test_neither_objective_nor_focus_is_idle() -> None:
    decision = decided(RepoState(repo=make_repo(focus=" ")))

    assert decision.dispatch is None
    assert trace(decision) == {
        "explore": "disabled",
        "pr_watcher": "disabled",
        "issue_solving": "disabled",
        "issue_scout": "disabled",
        "spawn": "nothing_to_do",
    }


# ---------------------------------------------------------------------------- explore mode


def test_the_selected_candidates_focus_becomes_the_repos_current_focus() -> None:
    world = RepoWorld(ALL_ON, candidates=[make_candidate()], pulls=[make_pull()])

    world.cycle()

    assert (world.repo.focus, world.repo.focus_candidate_id) == ("idea 1", candidate_id(1))
    assert world.candidates[candidate_id(1)].status is SELECTED


def test_the_best_candidate_is_selected_by_score_then_age() -> None:
    worst, best = make_candidate(1, score=1, age_h=9), make_candidate(2, score=2, age_h=1)

    assert chosen(worst, best) == 2
    assert chosen(worst, best, make_candidate(3, score=2, age_h=2)) == 3
    assert chosen(worst, make_candidate(5, score=2), make_candidate(4, score=2)) == 4


def test_at_most_one_candidate_is_selected_at_a_time_and_nobody_scouts_meanwhile() -> None:
    repo = make_repo(explore_enabled=True, focus="idea 2", focus_candidate_id=candidate_id(2))
    in_progress = make_candidate(2, status=SELECTED)

    for others in ((make_candidate(1, score=9),), ()):
        decision = decided(RepoState(repo=repo, candidates=(*others, in_progress)))
        assert decision.select is None
        assert trace(decision)["explore"] == "fell_through"
        assert decision.dispatch is not None
        assert decision.dispatch.candidate == in_progress


def test_a_focus_that_people_set_carries_no_candidate() -> None:
    for status in (CandidateStatus.DONE, QUEUED):
        repo = make_repo(focus="tests", focus_candidate_id=candidate_id(1))
        decision = decided(RepoState(repo=repo, candidates=(make_candidate(status=status),)))
        assert decision.dispatch is not None
        assert decision.dispatch.candidate is None


# ---------------------------------------------------------------------------- objective overrides


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (Check.EXPLORE, "blocked_by_objective"),
        (Check.ISSUE_SOLVING, "blocked_by_objective"),
        (Check.ISSUE_SCOUT, "blocked_by_objective"),
        (Check.PR_WATCHER, "dispatched"),
        (Check.SPAWN, "shadowed_by: verify_pr"),
    ],
)
def test_blocked_by_objective(check: Check, said: str) -> None:
    repo = replace(ALL_ON, objective="Bump deps")

    decision = decided(replace(BUSY, repo=repo))

    assert trace(decision)[check] == said
    assert decision.select is None
    assert kind_of(decided(replace(BUSY, repo=repo, pulls=()))) is JobKind.SPAWN


# ---------------------------------------------------------------------------- why no parallelism


@pytest.mark.parametrize(
    ("state", "skip"),
    [
        (replace(BUSY, repo=replace(ALL_ON, enabled=False)), Skip.DISABLED),
        (replace(BUSY, repo=replace(ALL_ON, paused=make_standing())), Skip.PAUSED),
        (replace(BUSY, run_active=True), Skip.RUN_ACTIVE),
        (replace(BUSY, repo=replace(ALL_ON, last_run_at=NOW, cooldown_s=1)), Skip.COOLDOWN),
        (replace(BUSY, placeable=False), Skip.NO_FACTORY),
    ],
)
def test_a_repo_is_skipped_whole(state: RepoState, skip: Skip) -> None:
    assert decided(state) == Decision(skipped=skip)


def test_a_pause_and_a_cooldown_end_by_themselves() -> None:
    paused = replace(ALL_ON, paused=make_standing(until=NOW))
    cooled = replace(ALL_ON, last_run_at=NOW - timedelta(seconds=60), cooldown_s=60)

    for repo in (paused, cooled):
        assert decided(replace(BUSY, repo=repo)).skipped is None


# ---------------------------------------------------------------------------- PR watcher


def test_the_smallest_numbered_pull_that_needs_verifying_is_verified() -> None:
    pulls = [make_pull(n) for n in (3, 2)] + [
        make_pull(1, status) for status in PullStatus if status is not PullStatus.NEEDS_VERIFY
    ]

    for some in (pulls, pulls[::-1]):
        decision = decided(RepoState(repo=ALL_ON, pulls=tuple(some), candidates=BUSY.candidates))
        assert decision.dispatch is not None
        assert decision.dispatch.pull == make_pull(2)


def test_verify_pr_can_run_even_when_the_daily_run_cap_is_reached() -> None:
    capped = replace(BUSY, runs_today=10)

    assert trace(decided(capped)) == {
        "explore": "capped",
        "pr_watcher": "dispatched",
        "issue_solving": "capped",
        "issue_scout": "capped",
        "spawn": "capped",
    }
    assert decided(capped).select is None
    assert decided(replace(capped, pulls=())).dispatch is None


def test_verify_pr_does_not_count_against_the_cap_nor_start_the_cooldown_nor_block_a_spawn() -> (
    None
):
    repo = make_repo(pr_watching_enabled=True, focus="tests", daily_run_cap=1, cooldown_s=3600)
    world = RepoWorld(repo, pulls=[make_pull(1)])

    assert kind_of(world.cycle()) is JobKind.VERIFY_PR
    assert (world.repo.last_run_at, world.runs_today()) == (None, 0)
    world.later()
    assert kind_of(world.cycle()) is JobKind.SPAWN
    assert world.pulls[1].status is PullStatus.VERIFYING


def test_verify_pr_is_still_subject_to_the_per_repo_cooldown() -> None:
    repo = replace(ALL_ON, last_run_at=NOW - HOUR, cooldown_s=2 * 3600)

    assert decided(replace(BUSY, repo=repo)).skipped is Skip.COOLDOWN


# ---------------------------------------------------------------------------- issue solving


@pytest.mark.parametrize(
    ("issues", "number"),
    [
        ([make_issue(1, score=1), make_issue(2, score=2)], 2),
        ([make_issue(2), make_issue(1)], 1),
        ([make_issue(1, score=9), make_issue(2, status=IssueStatus.IN_PROGRESS)], 2),
        ([make_issue(1, next_try_at=NOW + HOUR), make_issue(2)], 2),
        ([make_issue(1, next_try_at=NOW)], 1),
        ([make_issue(1, status=IssueStatus.IN_PROGRESS, solutions_done=1)], None),
        ([make_issue(1, status=IssueStatus.SOLVED), make_issue(2, solutions_wanted=0)], None),
        ([make_issue(1, status=IssueStatus.NEEDS_HUMAN)], None),
    ],
)
def test_the_highest_scored_issue_or_one_in_progress_needing_additional_solutions(
    issues: list[Issue], number: int | None
) -> None:
    found = next_issue(issues, NOW)

    assert (found and found.number) == number


def test_multiple_solutions_per_issue_are_spread_across_consecutive_cycles() -> None:
    issues = [make_issue(1, score=5, solutions_wanted=3), make_issue(2, score=9)]
    world = RepoWorld(make_repo(issue_solving_enabled=True), issues=issues)
    solved = []
    for _ in range(4):
        decision = world.cycle()
        assert decision.dispatch is not None
        assert decision.dispatch.issue is not None
        solved.append((decision.dispatch.issue.number, decision.dispatch.issue.solutions_done))
        assert world.cycle().skipped is Skip.RUN_ACTIVE
        world.finish()
        world.later()
        if len(solved) == 1:  # Another with a higher score does not come before the one begun.
            world.issues[3] = make_issue(3, score=99, status=IssueStatus.SOLVED)

    assert solved == [(2, 0), (1, 0), (1, 1), (1, 2)]
    assert world.cycle().dispatch is None


# ---------------------------------------------------------------------------- examples


def cycles(world: RepoWorld, count: int) -> list[JobKind | None]:
    found = []
    for _ in range(count):
        found.append(kind_of(world.cycle()))
        if world.active_run() is not None:
            world.finish(JobState.SUCCEEDED, {"candidates": [], "issues": []})
        world.later()
    return found


def test_example_1_objective_and_explore_enabled() -> None:
    repo = make_repo(objective="Bump deps", explore_enabled=True, pr_watching_enabled=True)
    world = RepoWorld(repo, candidates=[make_candidate()], pulls=[make_pull()])

    first = world.cycle()

    assert kind_of(first) is JobKind.VERIFY_PR
    assert trace(first)["explore"] == "blocked_by_objective"
    world.later()
    second = world.cycle()
    assert second.dispatch is not None
    assert (second.dispatch.kind, second.dispatch.prompt) == (JobKind.SPAWN, "Bump deps")
    assert world.candidates[candidate_id(1)].status is QUEUED


def test_example_2_explore_issue_solving_and_pr_watcher_no_objective() -> None:
    repo = make_repo(
        objective="",
        explore_enabled=True,
        explore_level=ExploreLevel.MAX,
        issue_solving_enabled=True,
        pr_watching_enabled=True,
    )
    world = RepoWorld(
        repo, candidates=[make_candidate()], pulls=[make_pull()], issues=[make_issue()]
    )

    first = world.cycle()
    assert first.select == make_candidate()
    assert kind_of(first) is JobKind.VERIFY_PR
    assert world.repo.focus == "idea 1"

    world.verified()
    world.later()
    second = world.cycle()
    assert trace(second)["explore"] == "fell_through"
    assert trace(second)["pr_watcher"] == "nothing_to_do"
    assert kind_of(second) is JobKind.FIX_ISSUE

    world.finish()
    done = replace(world.candidates[candidate_id(1)], status=CandidateStatus.DONE)
    world.candidates[done.id] = done
    world.later()
    assert kind_of(world.cycle()) is JobKind.SCOUT


def test_example_3_issue_solving_only() -> None:
    repo = make_repo(objective="", issue_solving_enabled=True)
    issues = [make_issue(n, score=n) for n in (1, 2)]

    fix = JobKind.FIX_ISSUE
    assert cycles(RepoWorld(repo, issues=issues), 4) == [fix, fix, None, None]


def test_an_explore_selected_focus_that_nothing_intercepts_is_spawned_then_the_queue_refills() -> (
    None
):
    world = RepoWorld(make_repo(explore_enabled=True), candidates=[make_candidate()])

    assert cycles(world, 2) == [JobKind.SPAWN, JobKind.SCOUT]
    assert world.candidates[candidate_id(1)].status is CandidateStatus.DONE
    assert world.repo.focus is None
    assert isinstance(world.repo, Repo)
