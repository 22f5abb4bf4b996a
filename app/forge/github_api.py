"""GitHub's REST API over httpx: who we are, what was seen before, when it wants to be left alone.

gidgethub knows the protocol (headers, pages, entity tags, the token of an app); this adds:

**Limits.** After a refusal for too many requests nothing is asked until the time that GitHub names:
``Retry-After``, else the reset of the primary limit, else, for a secondary limit that is only said
in the body, a minute that doubles. Nobody sleeps meanwhile: every question is answered at once with
:class:`app.forge.port.ForgeSilent`, and asked again on a later tick. An unreachable forge is left
alone for a little while too.

**Pages.** What was seen is kept with its entity tag, cut down to what is read of it, so that an
unchanged list costs no request of the limit. A last page that is full is not kept: whether another
follows it by now is not in its tag.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import httpx
from gidgethub import HTTPException
from gidgethub.abc import GitHubAPI
from gidgethub.apps import get_installation_access_token

from app.forge.port import ForgeSilent
from app.forge.reading import COMMENT_CHARACTERS_MAX, closing_words, time

PER_PAGE: Final = 100
PAGES_MAX: Final = 200
KEPT_MAX: Final = 500
SECONDARY: Final = timedelta(minutes=1)
SECONDARY_MAX: Final = timedelta(minutes=16)
UNREACHABLE: Final = timedelta(seconds=30)
SILENCE_MAX: Final = timedelta(hours=2)
ANSWER_S: Final = 30.0
"""How long a whole answer may take."""
TOKEN_SPARE: Final = timedelta(minutes=2)

_LIMITED: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
_READ: Final = frozenset(
    {"number", "title", "body", "state", "merged", "merged_at", "closed_at", "pull_request", "path"}
    | {"submitted_at", "id", "pull_request_review_id", "labels", "user", "head"}
    | {"merged_by", "closed_by", "author_association"}
)
_PEOPLE_AND_HEADS: Final = frozenset({"user", "head", "merged_by", "closed_by"})
_READ_BELOW: Final = frozenset({"name", "login", "sha", "repo", "full_name"})

Page: TypeAlias = tuple[str | None, str | None, Any, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppKey:
    """An app's way in: its id, its private key, and where it is installed."""

    app_id: str
    private_key: str
    installation_id: str


class KeptPages(OrderedDict[str, Page]):
    """Pages by address: entity tag, time, content, next page; the longest unused are let go."""

    def __getitem__(self, url: str) -> Page:
        """Read a page, which is used by that."""
        page = super().__getitem__(url)
        self.move_to_end(url)
        return page

    def __setitem__(self, url: str, page: Page) -> None:
        """Keep a page, unless its tag does not tell all."""
        etag, modified, data, more = page
        if isinstance(data, list) and more is None and len(data) >= PER_PAGE:
            self.pop(url, None)
            return
        super().__setitem__(url, (etag, modified, _cut(data), more))
        self.move_to_end(url)
        while len(self) > KEPT_MAX:
            self.popitem(last=False)


class Api(GitHubAPI):
    """Questions to one GitHub, under one name."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        base_url: str,
        way_in: str | AppKey | None,
        now: Callable[[], datetime],
    ) -> None:
        """Ask over ``http``; ``way_in`` is a token, or an app's key; ``now`` tells the time."""
        token = way_in if isinstance(way_in, str) else None
        super().__init__(
            "fleet-coordinator", oauth_token=token, cache=KeptPages(), base_url=base_url
        )
        self._http = http
        self._app = way_in if isinstance(way_in, AppKey) else None
        self._now = now
        self._token_until: datetime | None = None
        self._renewing = asyncio.Lock()
        self._silence: ForgeSilent | None = None
        self._secondary = SECONDARY

    async def one(self, path: str) -> Any | None:  # noqa: ANN401 - whatever GitHub wrote
        """Read one thing; None if there is none.

        Raises:
            ForgeSilent: there was no answer.
        """
        data, _ = await self._get(path)
        return data

    async def all(self, path: str) -> list[Any]:
        """Read a list to its end.

        Raises:
            ForgeSilent: there was no answer, or it had no end.
        """
        items: list[Any] = []
        for _ in range(PAGES_MAX):
            data, more = await self._get(path)
            if data is None:
                message = "GitHub knows no such repository, or hides it from us"
                raise ForgeSilent(message)
            if not isinstance(data, list):
                message = "GitHub did not send a list"
                raise ForgeSilent(message)
            items += data
            if more is None:
                return items
            if urlsplit(more)[:2] != urlsplit(self.base_url)[:2]:
                message = "GitHub's list goes on at another address"
                raise ForgeSilent(message)
            path = more
        message = f"a list has more than {PAGES_MAX} pages"
        raise ForgeSilent(message)

    async def _get(self, path: str) -> tuple[Any, str | None]:
        """Read a page, and where the next one is; None if there is nothing there."""
        self._check_silence()
        try:
            await self._enter()
            data, more, _ = await self._make_request(
                "GET", path, None, b"", "application/vnd.github+json"
            )
        except HTTPException as error:
            if error.status_code in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
                return None, None
            if error.status_code is HTTPStatus.UNAUTHORIZED:
                self._token_until = None
            message = f"GitHub answered {error.status_code.value} {error.status_code.phrase}"
            raise ForgeSilent(message) from error
        except ForgeSilent:
            raise
        except Exception as error:
            # An answer that is none, or a key that opens nothing: no fault of whoever asked.
            message = f"GitHub's answer cannot be read: {type(error).__name__}"
            raise ForgeSilent(message) from error
        self._secondary = SECONDARY
        return data, more

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send a request."""
        try:
            # Of the whole answer: one that trickles would be in time, byte by byte.
            async with asyncio.timeout(ANSWER_S):
                response = await self._http.request(
                    method, url, headers=dict(headers), content=body
                )
        except (httpx.HTTPError, TimeoutError) as error:
            message = f"GitHub cannot be reached: {type(error).__name__}"
            raise self._silent(message, UNREACHABLE) from error
        if response.status_code == HTTPStatus.NOT_MODIFIED and self.rate_limit is not None:
            # What is unchanged costs nothing, but was counted when it was asked.
            self.rate_limit.remaining += 1
        return response.status_code, response.headers, response.content

    async def sleep(self, seconds: float) -> None:
        """Wait, as gidgethub would have it; nothing here does."""
        await asyncio.sleep(seconds)

    async def manage_rate_limit(self, *, method: str, url: str) -> None:
        """Ask nothing more while GitHub wants to be left alone, or once all is used up."""
        del method, url
        self._check_silence()
        limit = self.rate_limit
        if limit is not None and limit.remaining < 0 and limit.reset_datetime > self._now():
            message = "the hour's requests to GitHub are used up"
            raise self._silent(message, limit.reset_datetime - self._now())

    async def handle_rate_limit_error(
        self, *, method: str, url: str, exception: HTTPException, attempt: int
    ) -> bool:
        """Take down until when GitHub wants to be left alone, if it said that we ask too much."""
        del method, url, attempt
        if exception.status_code not in _LIMITED:
            return False
        headers = exception.headers or {}
        wait = self._asked_to_wait(headers)
        if wait is None and _says_limit(exception):
            wait = timedelta(0)
            # Of those that were asked at the same time only the first says something new.
            if self._silence is None:
                wait = self._secondary
                self._secondary = min(2 * self._secondary, SECONDARY_MAX)
        if wait is None:
            return False
        message = "GitHub asks for fewer requests"
        raise self._silent(message, wait) from exception

    def _asked_to_wait(self, headers: Mapping[str, str]) -> timedelta | None:
        after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
        if after.isdigit():
            return timedelta(seconds=int(after))
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return datetime.fromtimestamp(int(reset), UTC) - self._now()
        return None

    def _silent(self, why: str, wait: timedelta) -> ForgeSilent:
        """Take down a silence; one that lasts longer stays, and none is for ever."""
        until = self._now() + min(max(wait, timedelta(seconds=1)), SILENCE_MAX)
        before = self._silence
        if before is None or before.until is None or before.until < until:
            self._silence = ForgeSilent(why, until)
            return self._silence
        return before

    def _check_silence(self) -> None:
        silence = self._silence
        if silence is None or silence.until is None:
            return
        if self._now() < silence.until:
            raise ForgeSilent(silence.why, silence.until)
        self._silence = None
        self.rate_limit = None

    async def _enter(self) -> None:
        """See that an app has a token that is good for a while."""
        app = self._app
        if app is None:
            return
        async with self._renewing:
            if self._token_until is not None and self._now() < self._token_until - TOKEN_SPARE:
                return
            self.oauth_token = None
            granted = await get_installation_access_token(
                self,
                installation_id=app.installation_id,
                app_id=app.app_id,
                private_key=app.private_key,
            )
            self.oauth_token = str(granted["token"])
            self._token_until = time(granted.get("expires_at"))


def _says_limit(exception: HTTPException) -> bool:
    said = str(exception).lower()
    limited = exception.status_code is HTTPStatus.TOO_MANY_REQUESTS
    return limited or "rate limit" in said or "abuse detection" in said


def _cut(data: Any) -> Any:  # noqa: ANN401 - whatever GitHub wrote
    if isinstance(data, list):
        return [_cut(each) for each in data]
    if not isinstance(data, dict):
        return data
    kept = {name: each for name, each in data.items() if name in _READ}
    for name in _PEOPLE_AND_HEADS & kept.keys():
        kept[name] = _cut_below(kept[name])
    if isinstance(kept.get("body"), str):
        kept["body"] = _cut_text(kept["body"], whole="submitted_at" in kept or "path" in kept)
    return kept


def _cut_text(body: str, *, whole: bool) -> str:
    """Keep what reviewers say; of what a pull request says, which issues it closes."""
    return body[:COMMENT_CHARACTERS_MAX] if whole else " ".join(closing_words(body))


def _cut_below(value: Any) -> Any:  # noqa: ANN401 - whatever GitHub wrote
    if not isinstance(value, dict):
        return value
    return {name: _cut_below(each) for name, each in value.items() if name in _READ_BELOW}
