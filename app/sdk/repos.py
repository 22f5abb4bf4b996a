"""Repos: set up, fed with what may be done in them, and read."""

from typing import Literal, TypeAlias
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel

from app.sdk.transport import Call, Transport, key_header, new_key
from app.wire.repo_items import (
    CandidateCreate,
    CandidatePage,
    CandidatePatch,
    CandidateReply,
    IssueCreate,
    IssuePage,
    IssuePatch,
    IssueReply,
    PullCreate,
    PullPage,
    PullPatch,
    PullReply,
    RunPage,
)
from app.wire.repos import RepoPage, RepoPatch, RepoPut, RepoReply
from app.wire.values import StandingRequest

Noun: TypeAlias = Literal["candidates", "pulls", "issues"]


class Repos:
    """The calls under ``/repos``, for clients and ops."""

    def __init__(self, transport: Transport) -> None:
        """Send through ``transport``."""
        self._transport = transport

    async def put(self, repo_id: str, settings: RepoPut) -> RepoReply:
        """Set all settings of a repo; without ``focus`` it keeps the one it has."""
        call = Call(method="PUT", path=_path(repo_id), body=settings, repeatable=True)
        return await self._transport.reply(call, RepoReply)

    async def get(self, repo_id: str) -> RepoReply:
        """Read a repo."""
        return await self._transport.reply(_read(_path(repo_id)), RepoReply)

    async def page(self, *, cursor: str | None = None, limit: int | None = None) -> RepoPage:
        """Read one page of repos, by id."""
        return await self._transport.reply(_read("/repos", cursor, limit), RepoPage)

    async def patch(self, repo_id: str, patch: RepoPatch, *, version: int) -> RepoReply:
        """Change a repo, if it still has the version that the caller read."""
        return await self._transport.reply(_change(_path(repo_id), patch, version), RepoReply)

    async def delete(self, repo_id: str) -> None:
        """Forget a repo with all that belongs to it; its unfinished jobs are cancelled."""
        await self._transport.send(Call(method="DELETE", path=_path(repo_id)))

    async def pause(self, repo_id: str, standing: StandingRequest) -> RepoReply:
        """Dispatch nothing more for a repo until somebody resumes it, or until its time."""
        path = _path(repo_id, "/pause")
        call = Call(method="POST", path=path, body=standing, repeatable=True)
        return await self._transport.reply(call, RepoReply)

    async def resume(self, repo_id: str) -> RepoReply:
        """Let a repo go on."""
        call = Call(method="POST", path=_path(repo_id, "/resume"), repeatable=True)
        return await self._transport.reply(call, RepoReply)

    async def add_candidate(self, repo_id: str, candidate: CandidateCreate) -> CandidateReply:
        """Queue an idea of what to work on."""
        return await self._transport.reply(_bring(repo_id, "candidates", candidate), CandidateReply)

    async def bring_pull(self, repo_id: str, pull: PullCreate) -> PullReply:
        """Tell of a pull request, or of its newest commit."""
        return await self._transport.reply(_bring(repo_id, "pulls", pull), PullReply)

    async def bring_issue(self, repo_id: str, issue: IssueCreate) -> IssueReply:
        """Tell of an issue to solve, or what is new of it."""
        return await self._transport.reply(_bring(repo_id, "issues", issue), IssueReply)

    async def candidates(
        self, repo_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> CandidatePage:
        """Read one page of candidates, oldest first."""
        call = _read(_path(repo_id, "/candidates"), cursor, limit)
        return await self._transport.reply(call, CandidatePage)

    async def pulls(
        self, repo_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> PullPage:
        """Read one page of pull requests, by number."""
        call = _read(_path(repo_id, "/pulls"), cursor, limit)
        return await self._transport.reply(call, PullPage)

    async def issues(
        self, repo_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> IssuePage:
        """Read one page of issues, by number."""
        call = _read(_path(repo_id, "/issues"), cursor, limit)
        return await self._transport.reply(call, IssuePage)

    async def runs(
        self, repo_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> RunPage:
        """Read one page of runs, newest first."""
        call = _read(_path(repo_id, "/runs"), cursor, limit)
        return await self._transport.reply(call, RunPage)

    async def candidate(self, repo_id: str, candidate_id: UUID) -> CandidateReply:
        """Read a candidate."""
        path = _path(repo_id, f"/candidates/{candidate_id}")
        return await self._transport.reply(_read(path), CandidateReply)

    async def pull(self, repo_id: str, number: int) -> PullReply:
        """Read a pull request."""
        return await self._transport.reply(_read(_path(repo_id, f"/pulls/{number}")), PullReply)

    async def issue(self, repo_id: str, number: int) -> IssueReply:
        """Read an issue."""
        return await self._transport.reply(_read(_path(repo_id, f"/issues/{number}")), IssueReply)

    async def patch_candidate(
        self, repo_id: str, candidate_id: UUID, patch: CandidatePatch, *, version: int
    ) -> CandidateReply:
        """Change a candidate, if it still has the version that the caller read."""
        path = _path(repo_id, f"/candidates/{candidate_id}")
        return await self._transport.reply(_change(path, patch, version), CandidateReply)

    async def patch_pull(
        self, repo_id: str, number: int, patch: PullPatch, *, version: int
    ) -> PullReply:
        """Change a pull request, if it still has the version that the caller read."""
        path = _path(repo_id, f"/pulls/{number}")
        return await self._transport.reply(_change(path, patch, version), PullReply)

    async def patch_issue(
        self, repo_id: str, number: int, patch: IssuePatch, *, version: int
    ) -> IssueReply:
        """Change an issue, if it still has the version that the caller read."""
        path = _path(repo_id, f"/issues/{number}")
        return await self._transport.reply(_change(path, patch, version), IssueReply)

    async def remove(self, repo_id: str, noun: Noun, key: UUID | int) -> None:
        """Forget a candidate, a pull request or an issue."""
        await self._transport.send(Call(method="DELETE", path=_path(repo_id, f"/{noun}/{key}")))


def _path(repo_id: str, rest: str = "") -> str:
    return f"/repos/{quote(repo_id, safe='')}{rest}"


def _read(path: str, cursor: str | None = None, limit: int | None = None) -> Call:
    params = {"cursor": cursor, "limit": limit}
    return Call(method="GET", path=path, params=params, repeatable=True)


def _bring(repo_id: str, noun: Noun, body: BaseModel) -> Call:
    path, headers = _path(repo_id, f"/{noun}"), key_header(new_key())
    return Call(method="POST", path=path, body=body, headers=headers, repeatable=True)


def _change(path: str, body: BaseModel, version: int) -> Call:
    return Call(method="PATCH", path=path, body=body, headers={"If-Match": f'"{version}"'})
