"""The demo from beginning to end: hire, submit, watch, and say who got what, and why."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

from app.cli.connection import Connection
from app.cli.demo.crew import Crew, Member, hired
from app.cli.demo.plan import COSTLY, FACTORIES, SUMMARY, costly_job, first_jobs
from app.cli.demo.source import Source, clone, find_source
from app.cli.errors import CliError
from app.cli.factory_report import score_line
from app.cli.welcome import program, where_it_is
from app.eligibility import Reason
from app.fleet import FINISHED, JobState, JsonObject
from app.runtime.clock import now_utc
from app.sdk import FleetClient, FleetError
from app.wire.claims import ScoreReply
from app.wire.explain_job import VerdictReply
from app.wire.jobs import JobBatch, JobReply, SubmittedJob

_SETTLED: Final = frozenset({"succeeded", "failed", "released", "lost"})

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a demo is played."""

    connection: Connection
    repo: Path | None
    here: Path
    say: Say

    @property
    def folder(self) -> Path:
        """Where its clones and reports lie."""
        return self.connection.data_dir / "demo"


@dataclass(slots=True, kw_only=True)
class _Play:
    """A demo that runs: whom it watches, and what is still to be finished."""

    fleet: FleetClient
    crew: Crew
    say: Say
    data_dir: Path
    open_jobs: dict[UUID, str] = field(default_factory=dict)
    finished: list[JobReply] = field(default_factory=list)


@asynccontextmanager
async def demo(stage: Stage) -> AsyncIterator[None]:
    """Play the demo, then let the factories work on for as long as the block lasts."""
    source = await asyncio.to_thread(
        find_source, stage.repo, here=stage.here, work=stage.folder / "source"
    )
    stage.say(f"demo: works on {source.path} ({source.why})")
    clones = [
        await asyncio.to_thread(clone, source, stage.folder / each.name / source.name)
        for each in FACTORIES
    ]
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(stage.connection.client("ops"))
        crew = await stack.enter_async_context(
            hired(FACTORIES, clones=clones, data_dir=stage.connection.data_dir)
        )
        data_dir = stage.connection.data_dir
        play = _Play(fleet=fleet, crew=crew, say=stage.say, data_dir=data_dir)
        await _perform(play, source, stage.folder)
        watching = asyncio.create_task(_watch(play), name="demo's factories")
        stack.push_async_callback(_end, watching)
        yield


async def _perform(play: _Play, source: Source, folder: Path) -> None:
    run = now_utc().strftime("%Y%m%dT%H%M%S")
    reports = folder / "reports" / run
    await _until_all_wait(play)
    for member in play.crew.members:
        play.say(f"demo: {_introduce(member)}")
    batch = JobBatch(jobs=first_jobs(repo=source.name, reports=reports, run=run))
    _submitted(play, (await play.fleet.jobs.submit_batch(batch)).jobs)
    await _until_finished(play)
    # Both wait at the desk: so the job that costs much goes to the one that is meant for it.
    await _until_all_wait(play)
    job = costly_job(repo=source.name, reports=reports, run=run)
    _submitted(play, [await play.fleet.jobs.submit(job)])
    await _until_finished(play)
    _conclude(play)


async def _until_all_wait(play: _Play) -> None:
    while not play.crew.waiting:
        await _follow(play)
    # Their claims are sent; an answer to a call sent after them says that they have arrived.
    await play.fleet.factories.page(limit=1)


async def _until_finished(play: _Play) -> None:
    while play.open_jobs:
        await _follow(play)


async def _watch(play: _Play) -> None:
    try:
        while True:
            await _follow(play)
    except (CliError, FleetError) as error:
        play.say(f"demo: {error}")


async def _follow(play: _Play) -> None:
    """Take in one event of the crew."""
    member, event = await play.crew.next_event()
    if event["event"] == "claimed":
        play.say(f"demo: {await _told_claim(play, member, event)}")
    elif event["event"] in _SETTLED:
        for job_id in list(play.open_jobs):
            job = await play.fleet.jobs.get(job_id)
            if job.state in FINISHED:
                del play.open_jobs[job_id]
                play.finished.append(job)


async def _told_claim(play: _Play, member: Member, event: JsonObject) -> str:
    """Say who got a job, by which score, and what the others would have scored."""
    score = ScoreReply.model_validate(event["score"])
    job_id = UUID(str(event["job_id"]))
    said = await play.fleet.explain.job(job_id)
    others = [
        _verdict(each, score.total)
        for each in said.verdicts
        if each.factory_id != member.factory.name
    ]
    lines = [f"{member.factory.name} got {event['kind']}: score {score_line(score)}", *others]
    return "\n      ".join(lines)


def _verdict(other: VerdictReply, winning: int) -> str:
    """Say of another factory why it was not the one."""
    permanent = [each.message for each in other.reasons if each.permanent]
    if permanent:
        return f"{other.factory_id} could not: {'; '.join(permanent)}"
    why = ""
    if any(each.reason is Reason.NO_SEAT for each in other.reasons):
        why = ", but it was busy"
    elif other.score.total > winning:
        why = ", but it was not asking for work at that moment"
    return f"{other.factory_id}: score {other.score.total}{why}"


def _submitted(play: _Play, jobs: list[SubmittedJob]) -> None:
    play.open_jobs |= {job.id: job.kind for job in jobs}
    for job in jobs:
        for warning in job.warnings:
            play.say(f"demo: warning: {job.kind}: {warning}")


def _introduce(member: Member) -> str:
    factory = member.factory
    offers = ", ".join([*factory.capabilities, f"engine:{factory.engine}"])
    return f"{factory.name} is here: offers {offers}; cost ceiling {factory.cost_ceiling}"


def _conclude(play: _Play) -> None:
    done = {job.kind: job for job in play.finished}
    for job in play.finished:
        if job.state is not JobState.SUCCEEDED:
            play.say(f"demo: {job.kind} is {job.state}: {job.error or 'see its parents'}")
    summary = done.get(SUMMARY)
    if summary is not None and isinstance(summary.result, dict):
        play.say(f"demo: {summary.result.get('summary')}")
    costly = done.get(COSTLY)
    if costly is not None:
        play.say(f"demo: {COSTLY} was above a ceiling, and {costly.factory_id} did it")
    succeeded = sum(job.state is JobState.SUCCEEDED for job in play.finished)
    finished = f"{succeeded} of {len(play.finished)} jobs succeeded"
    play.say(f"demo: {finished}; results: {program()} jobs{where_it_is(play.data_dir)}")


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
