"""How a repo's jobs begin, and what their ends change."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from app import runs
from app.feature_chain import Skip
from app.fleet import JobState, JsonObject
from app.repo import (
    CandidateStatus,
    Dispatch,
    ExploreLevel,
    IssueStatus,
    PullStatus,
    Repo,
    Run,
    RunId,
    RunStatus,
)
from app.tick_jobs import End, JobKind
from tests.core.chain_world import (
    RepoWorld,
    candidate_id,
    ended,
    kind_of,
    make_candidate,
    make_issue,
    make_pull,
    make_repo,
)
from tests.strategies import HOUR, NOW

RUN = RunId(UUID(int=1))
REPO = make_repo(required_capabilities=frozenset({"docker"}), explore_level=ExploreLevel.MAX)
SELECTED = CandidateStatus.SELECTED
BAD = (End.FAILED, End.MALFORMED, End.CANCELLED)


def payload(dispatch: Dispatch, repo: Repo = REPO) -> JsonObject:
    return runs.job_of(repo, dispatch, RUN).payload


# ---------------------------------------------------------------------------- beginning


def test_a_run_carries_the_lock_of_its_repo_and_a_key_of_its_own() -> None:
    job = runs.job_of(REPO, Dispatch(kind=JobKind.SPAWN, prompt="Bump deps"), RUN)

    assert (job.kind, job.repo, job.labels) == ("spawn", "shop", {"repo_id": "shop"})
    assert job.job_class.lock == "repo:shop"
    assert job.job_class.required == {"docker"}
    assert job.dedupe_key == f"\x1frepo:shop:run:{RUN}"
    assert job.payload == {
        "repo_id": "shop",
        "stage": "spawn",
        "prompt": "Bump deps",
        "repo": "shop",
    }


def test_a_verify_job_has_no_lock_and_a_key_by_its_pull_commit_and_attempt() -> None:
    pull = replace(make_pull(7), attempt=2)
    dispatch = Dispatch(kind=JobKind.VERIFY_PR, prompt="Verify it.", pull=pull)

    job = runs.job_of(REPO, dispatch, None)

    assert job.job_class.lock is None
    assert job.dedupe_key == f"\x1frepo:shop:pull:7:{pull.id}:abc:3"
    assert job.payload["pull"] == {"number": 7, "head_sha": "abc"}
    assert runs.verifying(pull) == replace(pull, status=PullStatus.VERIFYING, attempt=3)


def test_a_payload_says_what_its_kind_is_about() -> None:
    fix = Dispatch(kind=JobKind.FIX_ISSUE, prompt="Solve it.", issue=make_issue(5))

    assert payload(fix)["issue"] == {"number": 5, "title": "bug 5"}
    assert payload(Dispatch(kind=JobKind.SCOUT, prompt="Look."))["explore_level"] == "max"
    assert payload(Dispatch(kind=JobKind.ISSUE_SCOUT, prompt="Look."))["read_only"] is True
    assert payload(Dispatch(kind=JobKind.SPAWN, prompt="a", focus="a"))["focus"] == "a"
    assert runs.taken_up(make_issue(5)).status is IssueStatus.IN_PROGRESS


def test_a_run_is_recorded_with_what_it_carries_and_starts_the_cooldown() -> None:
    spawn = Dispatch(kind=JobKind.SPAWN, prompt="a", candidate=make_candidate(3))
    fix = Dispatch(kind=JobKind.FIX_ISSUE, prompt="b", issue=make_issue(5))

    assert runs.run_of(spawn, RUN, NOW) == Run(
        id=RUN, kind=JobKind.SPAWN, started_at=NOW, candidate_id=candidate_id(3)
    )
    assert runs.run_of(fix, RUN, NOW).issue_number == 5
    assert runs.run_started(REPO, NOW).last_run_at == NOW


# ---------------------------------------------------------------------------- the end


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (End.SUCCEEDED, RunStatus.SUCCEEDED),
        (End.FAILED, RunStatus.FAILED),
        (End.MALFORMED, RunStatus.FAILED),
        (End.CANCELLED, RunStatus.CANCELLED),
        (End.WITHDRAWN, RunStatus.WITHDRAWN),
    ],
)
def test_a_run_ends_as_its_job_did(end: End, status: RunStatus) -> None:
    run = Run(id=RUN, kind=JobKind.SPAWN, started_at=NOW)

    assert runs.run_ended(run, ended(end)) == replace(run, status=status, finished_at=NOW)


def test_spawn_success_makes_its_candidate_done_and_clears_the_focus_with_it() -> None:
    repo = make_repo(focus="idea 1", focus_candidate_id=candidate_id(1))
    selected = make_candidate(status=SELECTED)

    done = runs.candidate_ended(selected, ended(End.SUCCEEDED))

    assert done.status is CandidateStatus.DONE
    assert runs.focus_cleared(repo, done) == make_repo()
    assert runs.focus_cleared(repo, selected) is repo
    other = make_repo(focus="tests", focus_candidate_id=candidate_id(2))
    assert runs.focus_cleared(other, done) is other


@pytest.mark.parametrize("end", BAD)
def test_spawn_failure_queues_its_candidate_again_and_after_3_rejects_it(end: End) -> None:
    candidate = make_candidate()
    seen = []
    for _ in range(3):
        selected = replace(candidate, status=SELECTED)
        candidate = runs.candidate_ended(selected, ended(end))
        seen.append(candidate.status.value)

    assert seen == ["queued", "queued", "rejected"]


def test_a_candidate_that_somebody_moved_or_whose_spawn_was_withdrawn_stays() -> None:
    moved = make_candidate(status=CandidateStatus.REJECTED)
    selected = make_candidate(status=SELECTED)

    assert runs.candidate_ended(moved, ended(End.SUCCEEDED)) is moved
    assert runs.candidate_ended(selected, ended(End.WITHDRAWN)) is selected


def test_people_put_candidates_and_issues_where_they_want_them() -> None:
    selected = make_candidate(status=SELECTED, failures=1)
    parked = make_issue(status=IssueStatus.NEEDS_HUMAN, failures=3, next_try_at=NOW)

    assert runs.deselected(selected) == make_candidate(failures=1)
    assert runs.deselected(make_candidate()) == make_candidate()
    assert runs.candidate_put(selected, CandidateStatus.QUEUED) == make_candidate()
    assert runs.issue_put(parked, IssueStatus.OPEN) == make_issue()


def test_a_solution_counts_when_its_job_succeeds_and_enough_of_them_solve_the_issue() -> None:
    begun = make_issue(
        solutions_wanted=2, status=IssueStatus.IN_PROGRESS, failures=2, next_try_at=NOW
    )

    once = runs.issue_ended(begun, ended(End.SUCCEEDED))
    twice = runs.issue_ended(once, ended(End.SUCCEEDED))

    assert (once.solutions_done, once.status) == (1, IssueStatus.IN_PROGRESS)
    assert (once.failures, once.next_try_at) == (0, None)
    assert (twice.solutions_done, twice.status) == (2, IssueStatus.SOLVED)


@pytest.mark.parametrize("end", BAD)
def test_failures_of_an_issue_back_off_then_need_a_human(end: End) -> None:
    issue = make_issue(status=IssueStatus.IN_PROGRESS)
    waits, statuses = [], []
    for _ in range(3):
        issue = runs.issue_ended(issue, ended(end))
        assert issue.next_try_at is not None
        waits.append((issue.next_try_at - NOW) / timedelta(minutes=1))
        statuses.append(issue.status.value)

    assert waits == [30, 60, 120]
    assert statuses == ["in_progress", "in_progress", "needs_human"]


def test_an_issue_somebody_parked_meanwhile_stays_parked_and_a_withdrawal_is_nothing() -> None:
    parked = make_issue(status=IssueStatus.NEEDS_HUMAN)

    assert runs.issue_ended(parked, ended(End.SUCCEEDED)).status is IssueStatus.NEEDS_HUMAN
    assert runs.issue_ended(parked, ended(End.FAILED)).status is IssueStatus.NEEDS_HUMAN
    assert runs.issue_ended(parked, ended(End.WITHDRAWN)) is parked
    solved = make_issue(status=IssueStatus.SOLVED, failures=2)
    assert runs.issue_ended(solved, ended(End.FAILED)).status is IssueStatus.SOLVED


@pytest.mark.parametrize(
    ("end", "result", "status"),
    [
        (End.SUCCEEDED, {"verified": True}, PullStatus.VERIFIED),
        (End.SUCCEEDED, {"verified": False}, PullStatus.FAILED),
        (End.FAILED, None, PullStatus.FAILED),
        (End.MALFORMED, None, PullStatus.FAILED),
        (End.CANCELLED, None, PullStatus.FAILED),
        (End.WITHDRAWN, None, PullStatus.NEEDS_VERIFY),
    ],
)
def test_a_verify_job_tells_the_status_of_the_commit_it_looked_at(
    end: End, result: JsonObject | None, status: PullStatus
) -> None:
    pull = make_pull(status=PullStatus.VERIFYING)

    assert runs.pull_ended(pull, "abc", ended(end, result)).status is status


def test_a_new_head_sha_needs_verifying_whatever_was_known_of_the_old_one() -> None:
    for status in PullStatus:
        pull = replace(make_pull(status=status), attempt=1)
        assert runs.pull_seen(pull, "abc") is pull
        newer = runs.pull_seen(pull, "def")
        assert newer == replace(make_pull(), head_sha="def", attempt=1)
        late = runs.verifying(newer)
        assert runs.pull_ended(late, "abc", ended(End.FAILED)) is late
        assert runs.pull_ended(newer, "def", ended(End.FAILED)) is newer


# ---------------------------------------------------------------------------- over cycles


def test_a_failing_item_is_not_sent_out_on_every_tick() -> None:
    """Growing waits, a small written maximum, then parked; the healthy one beside it is served."""
    repo = make_repo(issue_solving_enabled=True, daily_run_cap=99)
    world = RepoWorld(repo, issues=[make_issue(5, score=9), make_issue(6)])
    tried = []
    for minute in range(300):
        decision = world.cycle()
        if decision.dispatch is not None and decision.dispatch.issue is not None:
            number = decision.dispatch.issue.number
            tried.append((minute, number))
            world.finish(JobState.DEAD if number == 5 else JobState.SUCCEEDED)
        world.later(timedelta(minutes=1))

    assert tried == [(0, 5), (1, 6), (30, 5), (90, 5)]
    assert world.issues[5].status is IssueStatus.NEEDS_HUMAN
    assert world.issues[6].status is IssueStatus.SOLVED


def test_nothing_is_dispatched_twice_between_the_job_and_its_pull_request() -> None:
    world = RepoWorld(make_repo(issue_solving_enabled=True), issues=[make_issue(12)])
    seen = [world.cycle()]
    for _ in range(3):
        world.later(timedelta(minutes=1))
        seen.append(world.cycle())
    world.finish()
    world.later(timedelta(minutes=1))
    seen.append(world.cycle())

    assert [kind_of(each) for each in seen] == [JobKind.FIX_ISSUE, None, None, None, None]
    assert [each.skipped for each in seen[1:4]] == [Skip.RUN_ACTIVE] * 3


def test_runs_of_yesterday_do_not_count_towards_the_cap_of_today() -> None:
    world = RepoWorld(make_repo(objective="Bump deps", daily_run_cap=2))
    kinds = []
    for _ in range(5):
        kinds.append(kind_of(world.cycle()))
        if world.active_run() is not None:
            world.finish()
        world.later(4 * HOUR)

    spawn = JobKind.SPAWN
    assert kinds == [spawn, spawn, None, spawn, spawn]
