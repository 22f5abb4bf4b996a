"""What the chain does while the forge cannot be read."""

from app.feature_chain import decide
from app.repo import RepoState
from app.tick_jobs import JobKind
from tests.core.chain_world import kind_of, make_issue, make_pull, make_repo, trace
from tests.strategies import NOW


def test_no_issue_is_dispatched_while_the_forge_is_silent_and_all_else_goes_on() -> None:
    repo = make_repo(issue_solving_enabled=True, focus="tests")
    state = RepoState(repo=repo, issues=(make_issue(7),), forge_silent="page 4 is missing")
    decision = decide(state, NOW)
    assert kind_of(decision) is JobKind.SPAWN
    assert trace(decision)["issue_solving"] == "nothing_to_do"
    assert "page 4 is missing" in {line.why for line in decision.trace}


def test_what_is_known_of_pull_requests_is_verified_all_the_same() -> None:
    repo = make_repo(pr_watching_enabled=True)
    state = RepoState(repo=repo, pulls=(make_pull(1),), forge_silent="no answer")
    assert kind_of(decide(state, NOW)) is JobKind.VERIFY_PR
