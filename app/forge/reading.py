"""What GitHub writes, read with care: objects of its API and of its webhooks as facts.

The same objects come in both ways. Whatever is not as GitHub documents it is :class:`Unreadable`,
never a guess.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from app.fleet import Json, JsonObject
from app.forge.port import IssueFacts, PullFacts
from app.instants import taken
from app.pull import PullNews, PullState, Verdict
from app.workflow import Review

SCORE_LABEL: Final = re.compile(r"score:\s*(-?\d{1,9}(?:\.\d{1,9})?)", re.IGNORECASE)
"""A label that says how much an issue matters, such as ``score:80``."""

KNOWN: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
"""Whose word counts: on a public repository anybody may write a review, or propose a change."""

COMMENTS_MAX: Final = 100
COMMENT_CHARACTERS_MAX: Final = 4000

_CLOSES: Final = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+"
    r"(?:(?:([\w.-]+/[\w.-]+)?#|GH-)|https?://[^/\s]+/([\w.-]+/[\w.-]+)/issues/)(\d{1,9})\b",
    re.IGNORECASE,
)
_DECIDED: Final = {
    "approved": Review.APPROVED,
    "changes_requested": Review.CHANGES_REQUESTED,
    "dismissed": Review.PENDING,
}


class Unreadable(ValueError):  # noqa: N818 - a finding about what was sent
    """It is not what GitHub documents."""


def pull_facts(pull: Json, repository: str) -> PullFacts:
    """Read a pull request; one whose head repository was deleted, too."""
    read = an_object(pull)
    title = _text(read.get("title")) or ""
    said = f"{title}\n{_text(read.get('body')) or ''}"
    return PullFacts(
        number=number(read.get("number")),
        head_sha=_needed(an_object(read.get("head")).get("sha")),
        state=pull_state(read),
        title=title,
        closes=closes(said, repository),
        strange=_is_strange(read, repository),
    )


def pull_state(pull: JsonObject) -> PullState:
    """Tell what became of it: GitHub says when it was merged, in whichever way."""
    if pull.get("merged_at") is not None or pull.get("merged") is True:
        return PullState.MERGED
    return PullState.CLOSED if pull.get("state") == "closed" else PullState.OPEN


def issue_facts(issue: Json) -> IssueFacts | None:
    """Read an issue; None if it is a pull request, which GitHub lists among issues."""
    read = an_object(issue)
    if read.get("pull_request") is not None:
        return None
    labels = label_names(read.get("labels"))
    return IssueFacts(
        number=number(read.get("number")),
        title=_text(read.get("title")) or "",
        open=read.get("state") != "closed",
        labels=labels,
        score=score_of(labels),
    )


def pull_news(pull: JsonObject, ended_by: str | None, verdict: Verdict | None) -> PullNews:
    """Put together what is new of a pull request."""
    state = pull_state(pull)
    ended_at = time(pull.get("merged_at") or pull.get("closed_at"))
    return PullNews(
        state=state,
        ended_at=None if state is PullState.OPEN else ended_at,
        ended_by=None if state is PullState.OPEN else ended_by,
        verdict=verdict,
    )


def verdict_of(reviews: Iterable[Json], remarks: Iterable[Json] = ()) -> Verdict | None:
    """Take the reviewers' words together: each one's last decides, and one objection is enough.

    A mere comment is no decision, and a dismissed review is none any more. Strangers are not heard:
    a verdict moves a workflow on, and what is remarked with it is told to an agent.
    """
    last: dict[str, tuple[Review, datetime, JsonObject]] = {}
    for each in reviews:
        review = an_object(each)
        if not _is_of_a_reviewer(review):
            continue
        decided = _DECIDED.get(str(review.get("state")).lower())
        at = time(review.get("submitted_at"))
        if decided is None or at is None:
            continue
        who = login(review.get("user")) or ""
        if who not in last or last[who][1] <= at:
            last[who] = (decided, at, review)
    for wanted in (Review.CHANGES_REQUESTED, Review.APPROVED):
        said = [(at, review) for decided, at, review in last.values() if decided is wanted]
        if said:
            at = max(at for at, _ in said)
            comments = _comments([review for _, review in said], remarks)
            return Verdict(review=wanted, at=at, comments=comments)
    return None


def closes(text: str, repository: str) -> frozenset[int]:
    """Find the issues that a pull request says it solves, by GitHub's closing keywords."""
    return frozenset(
        int(found)
        for short, long, found in _CLOSES.findall(text)
        if (short or long or repository).lower() == repository.lower()
    )


def closing_words(text: str) -> list[str]:
    """Find the words by which a pull request says what it solves, and leave all else."""
    return [match.group(0) for match in _CLOSES.finditer(text)]


def score_of(labels: Iterable[str]) -> float | None:
    """Find the score that a label says; of several the highest."""
    found = [match for each in labels if (match := SCORE_LABEL.fullmatch(each.strip()))]
    return max((float(match.group(1)) for match in found), default=None)


def label_names(labels: Json) -> frozenset[str]:
    """Read the names of labels, which come as objects or as texts."""
    if not isinstance(labels, list):
        return frozenset()
    names = (each if isinstance(each, str) else _name(each) for each in labels)
    return frozenset(name for name in names if name)


def an_object(value: Json) -> JsonObject:
    """Return an object.

    Raises:
        Unreadable: it is none.
    """
    if not isinstance(value, dict):
        message = "an object was expected"
        raise Unreadable(message)
    return value


def number(value: Json) -> int:
    """Return the number of an issue or a pull request.

    Raises:
        Unreadable: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        message = "a number was expected"
        raise Unreadable(message)
    return value


def time(value: Json) -> datetime | None:
    """Return a time, or None.

    Raises:
        Unreadable: it is something else.
    """
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(str(value))
    except ValueError as error:
        message = "a time was expected"
        raise Unreadable(message) from error
    instant = taken(read if read.tzinfo is not None else read.replace(tzinfo=UTC))
    if instant is None:
        message = "a time of our days was expected"
        raise Unreadable(message)
    return instant


def login(user: Json) -> str | None:
    """Return the name of a user; of one who is gone, None."""
    return _text(user.get("login")) if isinstance(user, dict) else None


def _comments(reviews: Sequence[Mapping[str, Json]], remarks: Iterable[Json]) -> tuple[str, ...]:
    said = [text for each in reviews if (text := _text(each.get("body")))]
    ids = {each.get("id") for each in reviews}
    for each in remarks:
        remark = an_object(each)
        text = _text(remark.get("body"))
        of_these = remark.get("pull_request_review_id") in ids
        if text and of_these and _is_of_a_reviewer(remark):
            said.append(f"{remark.get('path')}: {text}")
    return tuple(each[:COMMENT_CHARACTERS_MAX] for each in said[:COMMENTS_MAX])


def _is_of_a_reviewer(said: Mapping[str, Json]) -> bool:
    return said.get("author_association") in KNOWN


def _is_strange(pull: JsonObject, repository: str) -> bool:
    """Tell whether it comes from a fork of a stranger: who may push here needs no fork."""
    author = pull.get("author_association")
    if not isinstance(author, str) or author in KNOWN:
        return False
    head = an_object(pull.get("head")).get("repo")
    whose = head.get("full_name") if isinstance(head, dict) else None
    return not isinstance(whose, str) or whose.lower() != repository.lower()


def _name(label: Json) -> str | None:
    return _text(label.get("name")) if isinstance(label, dict) else None


def _text(value: Json) -> str | None:
    # What cannot be stored as text is not carried on.
    return value.replace("\0", "").strip() or None if isinstance(value, str) else None


def _needed(value: Json) -> str:
    text = _text(value)
    if text is None:
        message = "a text was expected"
        raise Unreadable(message)
    return text
