"""One cycle of one repo, in one transaction: poll, take in, decide, dispatch, write.

What the pure files decide is decided on the book as this transaction read it, and a job is
submitted together with the record that it was, or not at all.
"""

from dataclasses import dataclass, field, replace
from typing import assert_never

from app import findings, runs
from app.coordinator import tick_jobs
from app.coordinator.repo_book import RepoBook, open_book, write_book
from app.coordinator.repo_forge import Sight, take_in
from app.feature_chain import Decision, decide
from app.fleet import Json, JsonObject
from app.repo import Candidate, CandidateId, PullStatus, RepoId, Run, RunId
from app.runtime.ids import new_id
from app.store import repo_work, repos
from app.store.session import Connection
from app.tick_jobs import End, Ending, JobKind, Malformed, ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """What a cycle came to; ``complaints`` are results that were not what they have to be."""

    repo_id: RepoId
    decision: Decision
    job_id: str | None = None
    complaints: tuple[str, ...] = field(default=())

    def as_json(self) -> JsonObject:
        """Write it as reports and explanations show it."""
        dispatch, skipped = self.decision.dispatch, self.decision.skipped
        trace: list[Json] = [
            {"check": line.check.value, "outcome": line.said, "why": line.why}
            for line in self.decision.trace
        ]
        return {
            "repo_id": self.repo_id,
            "dispatched": None if dispatch is None else dispatch.kind.value,
            "job_id": self.job_id,
            "skipped": None if skipped is None else skipped.value,
            "trace": trace,
        }


async def run_cycle(conn: Connection, repo_id: RepoId, sight: Sight) -> Cycle:
    """Do one cycle of a repo in the caller's transaction.

    Raises:
        NotFound: the repo is not there any more.
        Moved: something changed meanwhile.
    """
    book = await open_book(conn, repo_id)
    complaints = [*await _poll_run(conn, book), *await _poll_pulls(conn, book)]
    take_in(book, sight)
    decision = decide(await book.state(conn, sight.silent), book.now)
    job_id = await _dispatch(conn, book, decision)
    await write_book(conn, book)
    cycle = Cycle(repo_id=repo_id, decision=decision, job_id=job_id, complaints=tuple(complaints))
    await repos.keep_cycle(conn, repo_id, {"at": book.now.isoformat(), **cycle.as_json()})
    return cycle


# ---------------------------------------------------------------------------- what ended


async def _poll_run(conn: Connection, book: RepoBook) -> list[str]:
    run = book.run
    if run is None:
        return []
    found = await tick_jobs.find(conn, run.job_id, book.factories)
    over = ending(found.report, placeable=found.placeable, now=book.now)
    if over is None:
        return []
    over = findings.judged(run.kind, over)
    if over.end is End.WITHDRAWN and run.job_id is not None:
        await tick_jobs.withdraw(conn, run.job_id, found.version)
    await repo_work.end_run(conn, runs.run_ended(run, over))
    book.run = None
    _run_over(book, run, over)
    return [f"{run.kind} {run.id}: {over.why}"] if over.end is End.MALFORMED else []


async def _poll_pulls(conn: Connection, book: RepoBook) -> list[str]:
    complaints: list[str] = []
    for pull in [each for each in book.pulls.values() if each.status is PullStatus.VERIFYING]:
        found = await tick_jobs.find(conn, pull.job_id, book.factories)
        over = ending(found.report, placeable=found.placeable, now=book.now)
        if over is None:
            continue
        over = findings.judged(JobKind.VERIFY_PR, over)
        if over.end is End.WITHDRAWN and pull.job_id is not None:
            await tick_jobs.withdraw(conn, pull.job_id, found.version)
        book.pulls[pull.number] = runs.pull_ended(pull, pull.head_sha, over)
        if over.end is End.MALFORMED:
            complaints.append(f"verify_pr of #{pull.number}: {over.why}")
    return complaints


def _run_over(book: RepoBook, run: Run, over: Ending) -> None:
    """Write what the end of a run changes beside its own record."""
    candidate = None if run.candidate_id is None else book.candidates.get(run.candidate_id)
    if candidate is not None:
        book.put_candidate(runs.candidate_ended(candidate, over))
    issue = None if run.issue_number is None else book.issues.get(run.issue_number)
    if issue is not None:
        book.issues[issue.number] = runs.issue_ended(issue, over)
    if over.result is not None:
        _take_over(book, run.kind, over.result)


def _take_over(book: RepoBook, kind: JobKind, result: JsonObject) -> None:
    match kind:
        case JobKind.SCOUT:
            _queue(book, findings.proposals(result))
        case JobKind.ISSUE_SCOUT:
            _file(book, findings.filed(result))
        case _:
            pass


def _queue(book: RepoBook, proposed: tuple[findings.Proposal, ...] | Malformed) -> None:
    match proposed:
        case Malformed():
            return
        case tuple():
            for each in findings.new_proposals(book.candidates.values(), proposed):
                new = Candidate(
                    id=CandidateId(new_id()),
                    focus=each.focus,
                    score=each.score,
                    created_at=book.now,
                )
                book.candidates[new.id] = new
        case _:
            assert_never(proposed)


def _file(book: RepoBook, reported: tuple[findings.Filed, ...] | Malformed) -> None:
    match reported:
        case Malformed():
            return
        case tuple():
            for each in findings.issues_after(book.issues.values(), reported):
                book.issues[each.number] = each
        case _:
            assert_never(reported)


# ---------------------------------------------------------------------------- what begins


async def _dispatch(conn: Connection, book: RepoBook, decision: Decision) -> str | None:
    if decision.select is not None:
        book.select(decision.select)
    dispatch = decision.dispatch
    if dispatch is None:
        return None
    run_id = RunId(new_id()) if dispatch.is_run else None
    job_id = await tick_jobs.submit_once(conn, runs.job_of(book.repo, dispatch, run_id))
    if dispatch.pull is not None:
        book.pulls[dispatch.pull.number] = replace(runs.verifying(dispatch.pull), job_id=job_id)
    if dispatch.issue is not None:
        book.issues[dispatch.issue.number] = runs.taken_up(dispatch.issue)
    if run_id is not None:
        run = replace(runs.run_of(dispatch, run_id, book.now), job_id=job_id)
        await repo_work.add_run(conn, book.repo.id, run)
        book.repo = runs.run_started(book.repo, book.now)
    return str(job_id)
