"""GitHub as the ticks see it, GitHub Enterprise too: pull requests, issues, merges, verdicts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx

from app.fleet import Json, JsonObject
from app.forge import reading
from app.forge.github_api import PER_PAGE, Api, AppKey
from app.forge.port import ForgeSilent, IssueFacts, PullFacts
from app.pull import PullNews, PullState

T = TypeVar("T")

TIMEOUT_S: Final = 15.0
READS_MAX: Final = 4
"""How often a list of several pages is read until two reads agree."""

_PULL_PATH: Final = re.compile(r"/([\w.-]+)/([\w.-]+)/pull/(\d{1,9})(?:/.*)?")


class GitHub:
    """One GitHub; close it at the end."""

    def __init__(
        self,
        *,
        base_url: str,
        way_in: str | AppKey | None,
        label: str,
        now: Callable[[], datetime],
    ) -> None:
        """Prepare; nothing is asked before the first question.

        Args:
            base_url: of its REST API.
            way_in: a token, or the key of an app.
            label: what an issue has to be labelled with to be for us.
            now: tells the time.
        """
        self._base_url = base_url.rstrip("/")
        self._label = label
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=True)
        self._api = Api(self._http, base_url=self._base_url, way_in=way_in, now=now)

    async def open_pulls(self, repository: str) -> tuple[PullFacts, ...]:
        """Read all open pull requests."""
        query = f"state=open&sort=created&direction=asc&per_page={PER_PAGE}"
        found = await self._whole(f"/repos/{_quoted(repository)}/pulls?{query}")
        return _read(lambda: tuple(reading.pull_facts(each, repository) for each in found))

    async def labelled_issues(self, repository: str) -> tuple[IssueFacts, ...]:
        """Read all open issues with our label."""
        label = quote(self._label, safe="")
        query = f"state=open&labels={label}&sort=created&direction=asc&per_page={PER_PAGE}"
        found = await self._whole(f"/repos/{_quoted(repository)}/issues?{query}")
        read = _read(lambda: [reading.issue_facts(each) for each in found])
        return tuple(each for each in read if each is not None)

    async def pull(self, repository: str, number: int) -> PullFacts | None:
        """Read one pull request; None if there is none."""
        found = await self._api.one(f"/repos/{_quoted(repository)}/pulls/{number}")
        if found is None:
            return None
        pull = _read(lambda: reading.pull_facts(found, repository))
        return pull if pull.number == number else None

    async def issue(self, repository: str, number: int) -> IssueFacts | None:
        """Read one issue; None if there is none."""
        found = await self._api.one(f"/repos/{_quoted(repository)}/issues/{number}")
        if found is None:
            return None
        issue = _read(lambda: reading.issue_facts(found))
        if issue is None or issue.number == number:
            return issue
        # It was transferred: what answers is another repository's issue. Here it is over.
        return replace(issue, number=number, open=False)

    async def look(self, pr_url: str) -> PullNews | None:
        """Read what became of a pull request, and what its reviewers say.

        Returns:
            None if the address is none of this forge's, or nothing is there.
        """
        place = self.place_of(pr_url)
        if place is None:
            return None
        repository, number = place
        path = f"/repos/{_quoted(repository)}/pulls/{number}"
        found = await self._api.one(path)
        if found is None:
            return None
        pull = _read(lambda: reading.an_object(found))
        ended_by = await self._ended_by(repository, number, pull)
        reviews = await self._api.all(f"{path}/reviews?per_page={PER_PAGE}")
        verdict = _read(lambda: reading.verdict_of(reviews))
        if verdict is not None:
            remarks = await self._api.all(f"{path}/comments?per_page={PER_PAGE}")
            verdict = _read(lambda: reading.verdict_of(reviews, remarks))
        return _read(lambda: reading.pull_news(pull, ended_by, verdict))

    def place_of(self, pr_url: str) -> tuple[str, int] | None:
        """Tell which repository and number an address means; None if it is none of this forge."""
        try:
            address = urlsplit(pr_url.strip())
        except ValueError:
            return None
        found = _PULL_PATH.fullmatch(address.path)
        if address.scheme not in {"http", "https"} or found is None:
            return None
        if address.netloc.lower() not in self._web_hosts:
            return None
        return f"{found.group(1)}/{found.group(2)}", int(found.group(3))

    async def close(self) -> None:
        """Give up its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    @property
    def _web_hosts(self) -> frozenset[str]:
        """Where people see it: github.com beside api.github.com, else the API's own host."""
        host = urlsplit(self._base_url).netloc.lower()
        plain = host.removeprefix("api.")
        return frozenset({host, plain, f"www.{plain}"})

    async def _ended_by(self, repository: str, number: int, pull: JsonObject) -> str | None:
        match reading.pull_state(pull):
            case PullState.MERGED:
                return reading.login(pull.get("merged_by"))
            case PullState.CLOSED:
                found = await self._api.one(f"/repos/{_quoted(repository)}/issues/{number}")
                return reading.login(found.get("closed_by")) if isinstance(found, dict) else None
            case PullState.OPEN:
                return None

    async def _whole(self, path: str) -> Sequence[Json]:
        """Read a list of which nothing slipped through between two pages.

        Whoever leaves a list moves all after it, so that one may be on no page. A list of several
        pages is therefore read until two reads agree; unchanged pages cost nothing.
        """
        found = await self._api.all(path)
        if len(found) < PER_PAGE:
            return found
        for _ in range(READS_MAX - 1):
            again = await self._api.all(path)
            if _numbers(again) == _numbers(found):
                return again
            found = again
        message = "a list kept changing while it was read"
        raise ForgeSilent(message)


def _numbers(found: Sequence[Json]) -> list[Json]:
    return [each.get("number") if isinstance(each, dict) else None for each in found]


def _quoted(repository: str) -> str:
    return quote(repository, safe="/")


def _read(read: Callable[[], T]) -> T:
    try:
        return read()
    except reading.Unreadable as error:
        message = f"GitHub's answer cannot be read: {error}"
        raise ForgeSilent(message) from error
