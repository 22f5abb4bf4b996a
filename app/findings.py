"""What the jobs of a repo bring back, and what becomes of it.

A result is written by an agent, so it is read with care: whatever is not as its kind of job has to
bring it is one complaint, fails the run, and nothing of it is taken over (:func:`judged`).

Scouts look at the same repo again and again, and find the same things. A proposal that is queued,
selected or was rejected before is not taken up again, and an issue that is known, by its number or
for want of one by its title, is the same issue, however far it is solved.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from app.fleet import Json, JsonObject
from app.repo import Candidate, CandidateStatus, Issue
from app.tick_jobs import Ending, JobKind, Malformed, malformed, number_of, text_of

NUMBER_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A candidate as a scout reports it."""

    focus: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """An issue as an issue scout reports it; without a forge it has no number."""

    title: str
    score: float
    number: int | None = None


def judged(kind: JobKind, ended: Ending) -> Ending:
    """Make a success without the result its kind has to bring the failure it is."""
    if ended.result is None:
        return ended
    complaint: object = None
    match kind:
        case JobKind.VERIFY_PR if not isinstance(ended.result.get("verified"), bool):
            complaint = Malformed(why="verify_pr must bring verified: true or false")
        case JobKind.SCOUT:
            complaint = proposals(ended.result)
        case JobKind.ISSUE_SCOUT:
            complaint = filed(ended.result)
        case _:
            pass
    return malformed(ended, complaint) if isinstance(complaint, Malformed) else ended


def proposals(result: JsonObject) -> tuple[Proposal, ...] | Malformed:
    """Read what a scout proposes: ``{candidates: [{focus, score}]}``."""
    if not isinstance(result.get("candidates"), list):
        return Malformed(why="scout must bring candidates: a list")
    found: list[Proposal] = []
    for each in _members(result["candidates"]):
        focus, score = text_of(each.get("focus")), number_of(each.get("score"))
        if focus is None or score is None:
            return Malformed(why="a candidate has a focus, which is a text, and a numeric score")
        found.append(Proposal(focus=focus, score=score))
    return tuple(found)


def filed(result: JsonObject) -> tuple[Filed, ...] | Malformed:
    """Read what an issue scout has filed: ``{issues: [{number?, title, score}]}``."""
    if not isinstance(result.get("issues"), list):
        return Malformed(why="issue_scout must bring issues: a list")
    found: list[Filed] = []
    for each in _members(result["issues"]):
        title, score = text_of(each.get("title")), number_of(each.get("score"))
        number = each.get("number")
        if title is None or score is None:
            return Malformed(why="an issue has a title, which is a text, and a numeric score")
        if number is not None and not _is_issue_number(number):
            return Malformed(why=f"an issue's number is a whole number above 0, not {number!r}")
        found.append(Filed(title=title, score=score, number=_whole(number)))
    return tuple(found)


def new_proposals(known: Iterable[Candidate], proposed: Iterable[Proposal]) -> tuple[Proposal, ...]:
    """Return what is worth queueing: each focus once, and none that waits or was rejected."""
    taken = {each.focus.strip() for each in known if each.status is not CandidateStatus.DONE}
    fresh = {each.focus: each for each in proposed if each.focus not in taken}
    return tuple(fresh.values())


def issues_after(known: Iterable[Issue], reported: Iterable[Filed]) -> tuple[Issue, ...]:
    """Return the issues that are new or changed by a report; how far one is solved stays.

    An issue without a number is the known one of its title, or gets the next free number.
    """
    by_number = {each.number: each for each in known}
    before = dict(by_number)
    reports = sorted(reported, key=lambda each: each.number is None)
    for each in reports:
        number = each.number or _number_for(each.title, by_number.values())
        issue = by_number.get(number, Issue(number=number, title=each.title, score=each.score))
        by_number[number] = replace(issue, title=each.title, score=each.score)
    return tuple(issue for number, issue in by_number.items() if issue != before.get(number))


def _number_for(title: str, known: Iterable[Issue]) -> int:
    issues = tuple(known)
    same = (each.number for each in issues if each.title.strip() == title)
    return next(same, 1 + max((each.number for each in issues), default=0))


def _is_issue_number(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= NUMBER_MAX


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) else None


def _members(value: Json) -> Iterator[JsonObject]:
    """Yield the members of a list, with an empty object for each that is none."""
    for each in value if isinstance(value, list) else ():
        yield each if isinstance(each, dict) else {}
