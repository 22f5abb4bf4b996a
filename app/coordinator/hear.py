"""Hear: take in what the forge delivers by itself, once, and sooner than a tick would ask for it.

A delivery is remembered in the transaction that takes it in, so that repeating it changes nothing.
A reviewer's objection counts at once. An approval does not say whether another still objects, so
the forge is asked for all of them first, outside of the transaction; if it gives no answer, the
approval waits for a tick to ask. Without a forge to ask, it is taken at its word.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from logging import getLogger

from app import workflow
from app.coordinator.forge_news import News
from app.coordinator.forge_port import Forge
from app.coordinator.repo_book import RepoBook, in_book
from app.coordinator.repo_forge import UNSOLVED, issue_seen, pull_seen
from app.errors import NotFound
from app.forge.port import ForgeSilent
from app.forge.webhook import IssueEvent, PullEvent
from app.pull import PullNews, PullState
from app.store import factories, repos, workflows
from app.store.retrying import settled
from app.store.session import Connection, Database
from app.workflow import Review

_LOG = getLogger(__name__)


class Heard(StrEnum):
    """What came of a delivery."""

    TAKEN = "taken"
    REPEATED = "repeated"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A delivery of the forge: its id, its event, and what it says, if that is anything to us."""

    id: str
    event: str
    said: PullEvent | IssueEvent | None


async def hear(db: Database, delivery: Delivery, *, forge: Forge | None, label: str) -> Heard:
    """Take in a delivery, unless it was before.

    Raises:
        LostRace: others kept changing what it is about.
    """
    said = delivery.said
    if said is None:
        return Heard.IGNORED
    if isinstance(said, PullEvent):
        said = replace(said, news=await _all_reviewers(said, forge))
    taken = await settled(db, lambda conn: _take(conn, delivery, said, label))
    return Heard.TAKEN if taken else Heard.REPEATED


async def _take(
    conn: Connection, delivery: Delivery, said: PullEvent | IssueEvent, label: str
) -> bool:
    if not await repos.take_delivery(conn, delivery.id, delivery.event):
        return False
    if isinstance(said, PullEvent):
        await _tell_workflows(conn, said)
        tell = partial(_pull, said=said)
    else:
        tell = partial(_issue, said=said, label=label)
    for repo_id in await repos.by_github(conn, said.repository):
        try:
            await in_book(conn, repo_id, tell)
        except NotFound:
            continue
    return True


def _pull(book: RepoBook, said: PullEvent) -> None:
    pull_seen(book, said.pull)


def _issue(book: RepoBook, said: IssueEvent, label: str) -> None:
    known = book.issues.get(said.issue.number)
    if said.gone:
        if known is not None and known.status in UNSOLVED:
            del book.issues[known.number]
    elif known is not None or label in said.issue.labels:
        issue_seen(book, said.issue)


async def _tell_workflows(conn: Connection, said: PullEvent) -> None:
    merged = said.news.state is PullState.MERGED
    now = await factories.now(conn)
    merged_at = (said.news.ended_at or now) if merged else None
    for each in await workflows.board(conn):
        if not _is_about(each, said.url):
            continue
        after = News(pr_url=each.pr_url, pull=said.news, merged_at=merged_at).apply(each)
        if after != each:
            await workflows.write(conn, after)


def _is_about(found: workflow.Workflow, url: str) -> bool:
    return found.pr_url is not None and bool(url) and _plain(found.pr_url) == _plain(url)


def _plain(url: str) -> str:
    return url.strip().rstrip("/").lower()


async def _all_reviewers(said: PullEvent, forge: Forge | None) -> PullNews:
    verdict = said.news.verdict
    if forge is None or verdict is None or verdict.review is not Review.APPROVED:
        return said.news
    try:
        found = await forge.look(said.url)
    except ForgeSilent as silent:
        _LOG.info("an approval waits for a tick: the forge was not read", extra={"why": silent.why})
        return replace(said.news, verdict=None)
    return said.news if found is None else found
