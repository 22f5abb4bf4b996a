"""GitHub's webhooks: is it really from there, and what does it say?

The signature is over the body as it was sent, and is compared in constant time. Events that say
nothing to us are ``None``, whatever is in them.
"""

import hashlib
import hmac
from dataclasses import dataclass

from app.fleet import Json, JsonObject
from app.forge import reading
from app.forge.port import IssueFacts, PullFacts
from app.pull import PullNews, PullState, Verdict

_PREFIX = "sha256="
_GONE = frozenset({"deleted", "transferred"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PullEvent:
    """Something happened to a pull request, or a reviewer spoke (then ``verdict`` may be set)."""

    repository: str
    url: str
    pull: PullFacts
    news: PullNews


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueEvent:
    """Something happened to an issue; one that was deleted or moved away is ``gone``."""

    repository: str
    issue: IssueFacts
    gone: bool = False


def is_signed(body: bytes, signature: str, secret: str) -> bool:
    """Tell whether a body was signed with our secret."""
    expected = _PREFIX + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


def read(event: str, payload: Json) -> PullEvent | IssueEvent | None:
    """Read what a delivery says; None if it is nothing to us.

    Raises:
        Unreadable: it is not what GitHub documents for this event.
    """
    if event not in {"pull_request", "pull_request_review", "issues"}:
        return None
    said = reading.an_object(payload)
    name = reading.an_object(said.get("repository")).get("full_name")
    if not isinstance(name, str):
        message = "a repository was expected"
        raise reading.Unreadable(message)
    if event == "issues":
        return _issue_event(name, said)
    return _pull_event(name, said)


def _pull_event(repository: str, said: JsonObject) -> PullEvent:
    pull = reading.an_object(said.get("pull_request"))
    verdict: Verdict | None = None
    if said.get("review") is not None:
        verdict = reading.verdict_of([said["review"]])
    who = reading.login(pull.get("merged_by")) or reading.login(said.get("sender"))
    ended_by = None if reading.pull_state(pull) is PullState.OPEN else who
    return PullEvent(
        repository=repository,
        url=str(pull.get("html_url") or ""),
        pull=reading.pull_facts(pull, repository),
        news=reading.pull_news(pull, ended_by, verdict),
    )


def _issue_event(repository: str, said: JsonObject) -> IssueEvent | None:
    issue = reading.issue_facts(said.get("issue"))
    if issue is None:
        return None
    return IssueEvent(repository=repository, issue=issue, gone=said.get("action") in _GONE)
