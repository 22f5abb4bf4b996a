"""Random repos and cycles, random endings: what holds all the same."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from app import runs
from app.feature_chain import Skip, decide
from app.fleet import JobState, Json
from app.repo import CandidateStatus, IssueStatus, PullStatus, Repo
from app.tick_jobs import JobKind
from tests.core.chain_world import (
    RepoWorld,
    make_candidate,
    make_issue,
    make_pull,
    make_repo,
)
from tests.strategies import make_standing

AUTONOMOUS = {JobKind.SCOUT, JobKind.FIX_ISSUE, JobKind.ISSUE_SCOUT}
BROUGHT: list[Json] = [
    None,
    {},
    [],
    {"candidates": [{"focus": "idea 1", "score": 1}, {"focus": "idea 9", "score": 2}]},
    {"issues": [{"title": "bug 1", "score": 1}, {"title": "bug 9", "score": 2, "number": 9}]},
    {"candidates": "many", "issues": [1]},
]
STATES = (JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.DEAD, JobState.CANCELLED)
flags = st.booleans()

repos = st.builds(
    make_repo,
    objective=st.sampled_from((None, None, "", "Bump deps")),
    focus=st.sampled_from((None, "", "tests")),
    explore_enabled=flags,
    pr_watching_enabled=flags,
    issue_solving_enabled=flags,
    issue_scout_enabled=flags,
    daily_run_cap=st.integers(0, 4),
    cooldown_s=st.sampled_from((0, 600, 3600)),
)


def lists(least: int = 0) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, 5), min_size=least, max_size=3, unique=True)


def make_world(
    repo: Repo, ideas: list[int], pulls: list[int], issues: list[int], wanted: int
) -> RepoWorld:
    return RepoWorld(
        repo,
        candidates=[make_candidate(n, score=n % 2) for n in ideas],
        pulls=[make_pull(n) for n in pulls],
        issues=[make_issue(n, score=n % 2, solutions_wanted=wanted) for n in issues],
    )


worlds = st.builds(make_world, repos, lists(), lists(), lists(), st.integers(1, 2))


def meddle(world: RepoWorld, data: st.DataObject) -> None:
    """Let something happen between two cycles."""
    draw = data.draw
    match draw(st.integers(0, 7)):
        case 0 | 1 | 2 if world.active_run() is not None:
            world.finish(draw(st.sampled_from(STATES)), draw(st.sampled_from(BROUGHT)))
        case 3 if world.verifies:
            world.verified(good=draw(flags))
        case 4:
            objective = draw(st.sampled_from((None, "Bump deps")))
            world.repo = replace(world.repo, objective=objective)
        case 5:
            for number, pull in world.pulls.items():
                sha = draw(st.sampled_from(("abc", "def")))
                world.pulls[number] = runs.pull_seen(pull, sha)
        case 6:
            standing = draw(st.sampled_from((None, make_standing())))
            world.repo = replace(world.repo, paused=standing)
        case _:
            world.later(timedelta(minutes=draw(st.sampled_from((1, 10, 90, 1440)))))


@given(worlds, st.data())
def test_the_chain_keeps_its_word_over_any_cycles(world: RepoWorld, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 15))):
        meddle(world, data)
        before, cap = world.state(), world.repo.daily_run_cap
        sent = len(world.dedupe_keys)
        decision = world.cycle()

        assert len(world.dedupe_keys) - sent <= 1, "at most one dispatch per repo per cycle"
        assert len(set(world.dedupe_keys)) == len(world.dedupe_keys), "nothing is sent twice"
        selected = [
            each for each in world.candidates.values() if each.status is CandidateStatus.SELECTED
        ]
        assert len(selected) <= 1
        assert sum(each.finished_at is None for each in world.runs) <= 1
        dispatch = decision.dispatch
        if dispatch is None:
            continue
        assert decision.skipped is None
        assert not before.run_active, "never a run while one is active"
        assert before.repo.cools_until(world.now) is None, "never inside the cooldown"
        if dispatch.is_run:
            assert before.runs_today < cap, "never above the cap"
            assert world.runs_today() <= cap
        if before.repo.standing_objective is not None:
            assert dispatch.kind not in AUTONOMOUS, "an objective lets none of them through"
            assert decision.select is None
        assert decide(world.state(), world.now).dispatch != dispatch, "unfinished, not sent again"


@given(worlds)
def test_while_a_job_is_unfinished_its_thing_is_not_dispatched_again(world: RepoWorld) -> None:
    """With nothing ever finishing, a cycle a minute sends each pull once and one run at most."""
    for _ in range(30):
        world.cycle()
        world.later(timedelta(minutes=1))

    assert len(world.runs) <= 1
    assert len(world.verifies) == len({each.number for each in world.verifies})
    if world.active_run() is not None:
        assert world.cycle().skipped is Skip.RUN_ACTIVE


@given(worlds)
def test_whatever_keeps_failing_is_parked_in_the_end(world: RepoWorld) -> None:
    """Explore is on while it has candidates: with none it would scout, and take every cycle."""
    world.repo = replace(
        world.repo,
        objective=None,
        issue_scout_enabled=False,
        issue_solving_enabled=True,
        daily_run_cap=99,
    )
    for _ in range(60):
        parked = (CandidateStatus.REJECTED, CandidateStatus.DONE)
        explore = any(each.status not in parked for each in world.candidates.values())
        world.repo = replace(world.repo, explore_enabled=explore)
        world.cycle()
        if world.active_run() is not None:
            world.finish(JobState.DEAD)
        while world.verifies:
            world.verified(good=False)
        world.later(timedelta(hours=3))

    assert all(each.status is IssueStatus.NEEDS_HUMAN for each in world.issues.values())
    assert all(each.status is CandidateStatus.REJECTED for each in world.candidates.values())
    watched = world.repo.pr_watching_enabled
    left = PullStatus.FAILED if watched else PullStatus.NEEDS_VERIFY
    assert all(each.status is left for each in world.pulls.values())
    sent = [key for key in world.dedupe_keys if ":run:" not in key]
    assert len(sent) == (len(world.pulls) if watched else 0)


@given(worlds)
def test_a_disabled_or_unplaceable_repo_sends_nothing(world: RepoWorld) -> None:
    world.placeable = False
    assert world.cycle().skipped is Skip.NO_FACTORY
    world.repo = replace(world.repo, enabled=False)
    assert world.cycle().skipped is Skip.DISABLED
    assert world.dedupe_keys == []
