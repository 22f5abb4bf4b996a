"""What the jobs of a repo bring back, well-formed or not."""

from dataclasses import replace

import pytest

from app import findings
from app.findings import NUMBER_MAX, Filed, Proposal
from app.fleet import Json, JsonObject
from app.repo import Candidate, CandidateStatus, Issue, IssueStatus
from app.tick_jobs import End, JobKind, Malformed
from tests.core.chain_world import ended, make_candidate, make_issue


def judged(kind: JobKind, result: JsonObject) -> End:
    return findings.judged(kind, ended(End.SUCCEEDED, result)).end


@pytest.mark.parametrize(
    ("kind", "result", "end"),
    [
        (JobKind.VERIFY_PR, {"verified": True}, End.SUCCEEDED),
        (JobKind.VERIFY_PR, {"verified": False}, End.SUCCEEDED),
        (JobKind.VERIFY_PR, {}, End.MALFORMED),
        (JobKind.VERIFY_PR, {"verified": "yes"}, End.MALFORMED),
        (JobKind.SCOUT, {"candidates": []}, End.SUCCEEDED),
        (JobKind.SCOUT, {"candidates": [{"focus": "a", "score": 1.5}]}, End.SUCCEEDED),
        (JobKind.SCOUT, {"candidates": [{"focus": "a"}]}, End.MALFORMED),
        (JobKind.SCOUT, {"candidates": [{"focus": " ", "score": 1}]}, End.MALFORMED),
        (JobKind.SCOUT, {"candidates": ["a"]}, End.MALFORMED),
        (JobKind.SCOUT, {"candidates": {}}, End.MALFORMED),
        (JobKind.SCOUT, {}, End.MALFORMED),
        (JobKind.ISSUE_SCOUT, {"issues": []}, End.SUCCEEDED),
        (JobKind.ISSUE_SCOUT, {"issues": [{"title": "a", "score": 1}]}, End.SUCCEEDED),
        (JobKind.ISSUE_SCOUT, {"issues": [{"title": "a", "score": True}]}, End.MALFORMED),
        (JobKind.ISSUE_SCOUT, {"issues": [{"score": 1}]}, End.MALFORMED),
        (JobKind.ISSUE_SCOUT, {"issues": None}, End.MALFORMED),
        (JobKind.FIX_ISSUE, {}, End.SUCCEEDED),
        (JobKind.SPAWN, {"anything": 1}, End.SUCCEEDED),
    ],
)
def test_a_success_must_bring_what_its_kind_has_to(
    kind: JobKind, result: JsonObject, end: End
) -> None:
    assert judged(kind, result) is end


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "7", NUMBER_MAX + 1])
def test_an_issue_number_is_a_whole_number_above_0(number: Json) -> None:
    issue: JsonObject = {"title": "a", "score": 1, "number": number}

    assert judged(JobKind.ISSUE_SCOUT, {"issues": [issue]}) is End.MALFORMED


def test_a_failure_stays_what_it_is() -> None:
    failed = ended(End.FAILED)

    assert findings.judged(JobKind.SCOUT, failed) is failed


def test_what_was_brought_is_read() -> None:
    idea: JsonObject = {"focus": " tests ", "score": 3}
    issue: JsonObject = {"title": "bug", "score": 2, "number": 7}
    nameless: JsonObject = {"title": "bug", "score": 2, "number": None}

    assert findings.proposals({"candidates": [idea]}) == (Proposal(focus="tests", score=3),)
    assert findings.filed({"issues": [issue, nameless]}) == (
        Filed(title="bug", score=2, number=7),
        Filed(title="bug", score=2),
    )
    assert isinstance(findings.proposals({}), Malformed)


def test_a_proposal_that_waits_or_was_rejected_is_not_taken_up_again() -> None:
    def known(number: int, status: CandidateStatus) -> Candidate:
        return make_candidate(number, status=status)

    candidates = [known(n, status) for n, status in enumerate(CandidateStatus)]
    proposed = [Proposal(focus=f"idea {n}", score=n) for n in (0, 1, 2, 3, 4, 4)]

    fresh = findings.new_proposals(candidates, proposed)

    assert [each.focus for each in fresh] == ["idea 2", "idea 4"]
    assert list(CandidateStatus)[2] is CandidateStatus.DONE


def test_a_report_is_upserted_by_number_and_how_far_an_issue_is_solved_stays() -> None:
    known = make_issue(7, status=IssueStatus.SOLVED, solutions_done=1)

    found = findings.issues_after(
        [known, make_issue(8)],
        [Filed(title="new title", score=5, number=7), Filed(title="bug 8", score=1, number=8)],
    )

    assert found == (replace(known, title="new title", score=5),)


def test_without_a_forge_an_issue_is_known_by_its_title_or_gets_the_next_number() -> None:
    reported = [
        Filed(title="new", score=1),
        Filed(title="new", score=2),
        Filed(title="bug 7", score=3),
        Filed(title="other", score=1),
        Filed(title="filed", score=1, number=9),
    ]

    found = findings.issues_after([make_issue(7)], reported)

    assert {each.number: (each.title, each.score) for each in found} == {
        7: ("bug 7", 3),
        9: ("filed", 1),
        10: ("new", 2),
        11: ("other", 1),
    }
    first = Issue(number=1, title="a", score=1)
    assert findings.issues_after([], [Filed(title="a", score=1)]) == (first,)
