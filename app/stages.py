"""What executing a workflow means: submit the job of its stage, poll it, and where its end leads.

**Terms.** A *stage* is a status of a workflow of some kind in which a job does the work; which one
is :data:`STAGES`. To *execute* a workflow is to :func:`poll` its job if it is processing, else to
:func:`begin`, which submits one if there is one to submit. Nothing here waits, and nothing here
asks whether a workflow *may* start now: that is :mod:`app.planner`'s.

**The way of a development workflow**::

    implementing ──► reviewing ──approved──► local_testing ──► done ──merge confirmed──► merged
                      │  ▲ pending                                                         │
        changes       ▼  │ again                 closed ◄── uat_testing ◄── uat_waiting ◄──┤
        requested:  address_review                 ▲                                       │
                                                   └──────────── without UAT ──────────────┘

A pull request review is ``reviewing`` and then closed, a runbook ``implementing`` and then closed.

**Each failure and its answer.**

- *The job is dead, gone, or its result is not what the stage needs.* One failure: the workflow
  stays where it is and the next tick may try again, until :data:`FAILURES_MAX` of one stage set
  ``needs_human_reason``. That is a flag: the status stays, and the head keeps its clone.
- *The job was cancelled by hand, or the pull request closed unmerged.* The flag at once, with the
  name of who or what: somebody meant something by it that a machine cannot guess.
- *No registered factory may ever take the job, and nobody has begun.* It is withdrawn: no failure,
  and the slot, the clone and the gate are free.
- *The workflow is cancelled while its job runs.* It stays processing until that job ends, so that
  no other agent is sent into its clone; what the job brings is ignored.
- *The tick dies between submission and save.* The dedupe key is (workflow, stage, attempt), so the
  next tick is given the same job. Attempts only grow, over changes of stage and retries too.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from app.fleet import JobSpec, Json, JsonObject
from app.instants import taken
from app.tick_jobs import (
    End,
    Ending,
    JobKind,
    JobReport,
    Malformed,
    class_of,
    dedupe_key,
    ending,
    malformed,
    text_of,
)
from app.workflow import Kind, Project, Reason, Review, Status, Workflow, moved

FAILURES_MAX: Final = 3

STAGES: Final = {
    (Kind.DEVELOPMENT, Status.IMPLEMENTING): JobKind.IMPLEMENT,
    (Kind.DEVELOPMENT, Status.REVIEWING): JobKind.ADDRESS_REVIEW,
    (Kind.DEVELOPMENT, Status.LOCAL_TESTING): JobKind.LOCAL_TEST,
    (Kind.DEVELOPMENT, Status.MERGED): JobKind.POST_MERGE,
    (Kind.DEVELOPMENT, Status.UAT_TESTING): JobKind.UAT_TEST,
    (Kind.PR_REVIEW, Status.REVIEWING): JobKind.PR_REVIEW,
    (Kind.RUNBOOK, Status.IMPLEMENTING): JobKind.RUNBOOK,
}
"""Which job does the work of each stage; any other status has none."""

_INSTRUCTIONS: Final = {
    JobKind.ADDRESS_REVIEW: "Address the comments of the review on the pull request.",
    JobKind.LOCAL_TEST: "Test the branch of the pull request locally. Fail if it does not pass.",
    JobKind.POST_MERGE: "The pull request is merged. Do what has to follow a merge.",
    JobKind.UAT_TEST: "Run the user acceptance test. Fail if it does not pass.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """There is no job to submit: ``reason`` says why, unless the workflow has no stage at all."""

    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """This job is to be submitted, and the workflow is ``after`` with the job's id added."""

    after: Workflow
    job: JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The job is not finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The job ended like ``ending``, and the workflow is ``after`` that."""

    after: Workflow
    ending: Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a workflow is executed: its project, and the key of its clone."""

    project: Project
    clone: str


def begin(workflow: Workflow, place: Place) -> Submit | Nothing:
    """Submit the job of the workflow's stage; an approved review leads to the next stage first."""
    if workflow.awaits_review:
        return Nothing(reason=Reason.REVIEW_PENDING)
    here = workflow
    if workflow.in_review and workflow.review is Review.APPROVED:
        here = moved(workflow, Status.LOCAL_TESTING)
    kind = STAGES.get((here.kind, here.status))
    if kind is None:
        return Nothing()
    after = replace(
        here,
        processing=True,
        run_requested=False,
        stage_attempt=here.stage_attempt + 1,
        clone_key=place.clone,
        job_id=None,
    )
    return Submit(after=after, job=_job(after, kind, place))


def poll(
    workflow: Workflow, job: JobReport | None, *, placeable: bool, now: datetime
) -> Running | Ended:
    """Read the outcome of the stage's job.

    An ``Ended`` that was withdrawn has to be written to the job as well: it is to be cancelled.
    """
    ended = ending(job, placeable=placeable, now=now)
    if ended is None:
        return Running()
    idle = replace(workflow, processing=False)
    kind = STAGES.get((workflow.kind, workflow.status))
    if kind is None:  # It was cancelled, or moved by hand, while its job was running.
        return Ended(after=idle, ending=ended)
    if ended.result is not None:
        after = _succeeded(idle, kind, ended.result, ended.at)
        if isinstance(after, Workflow):
            return Ended(after=after, ending=ended)
        ended = malformed(ended, after)
    return Ended(after=_ended_badly(idle, kind, ended), ending=ended)


def _closed(workflow: Workflow, at: datetime) -> Workflow:
    return replace(moved(workflow, Status.CLOSED), finished_at=at)


def _ended_badly(workflow: Workflow, kind: JobKind, ended: Ending) -> Workflow:
    if ended.end is End.WITHDRAWN:
        # A runbook that was started had been asked for, and nothing has come of it yet.
        return replace(workflow, run_requested=workflow.kind is Kind.RUNBOOK)
    if ended.end is End.CANCELLED:
        return replace(workflow, needs_human_reason=f"{kind}: {ended.why}")
    failures = workflow.stage_failures + 1
    reason = workflow.needs_human_reason
    if failures >= FAILURES_MAX:
        reason = f"{kind} failed {failures} times, at last with: {ended.why}"
    return replace(workflow, stage_failures=failures, needs_human_reason=reason)


def _succeeded(
    workflow: Workflow, kind: JobKind, result: JsonObject, at: datetime
) -> Workflow | Malformed:
    pr_url = text_of(result.get("pr_url"))
    here = replace(workflow, pr_url=pr_url or workflow.pr_url)
    match kind:
        case JobKind.IMPLEMENT if pr_url is None:
            return Malformed(why="implement must bring a pr_url: any text but an empty one")
        case JobKind.IMPLEMENT:
            return replace(
                moved(here, Status.REVIEWING),
                review=Review.PENDING,
                review_at=None,
                review_comments=(),
                merged_at=here.merged_at if pr_url == workflow.pr_url else None,
            )
        case JobKind.ADDRESS_REVIEW:
            return _addressed(here, at)
        case JobKind.LOCAL_TEST:
            tested = moved(here, Status.DONE)
            return tested if tested.awaits_merge else replace(tested, finished_at=at)
        case JobKind.POST_MERGE:
            return _after_merge(here, result.get("uat_test_at"), at)
        case _:
            return _closed(here, at)


def _addressed(workflow: Workflow, at: datetime) -> Workflow:
    """Ask for review anew, unless somebody has reviewed the new state already."""
    again = replace(workflow, stage_failures=0)
    if workflow.review_at is not None and workflow.review_at > at:
        return again
    return replace(again, review=Review.PENDING, review_at=at, review_comments=())


def _after_merge(workflow: Workflow, asked: Json, at: datetime) -> Workflow | Malformed:
    brought = _time_of(asked)
    if asked is not None and brought is None:
        return Malformed(why=f"uat_test_at is not a usable time with its zone: {asked!r}")
    if not workflow.has_uat:
        return _closed(workflow, at)
    when = workflow.uat_test_at or brought or at
    return replace(moved(workflow, Status.UAT_WAITING), uat_test_at=when)


def _time_of(value: Json) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if found is None else taken(found)


def _job(workflow: Workflow, kind: JobKind, place: Place) -> JobSpec:
    project = place.project
    lock = None if kind is JobKind.UAT_TEST else place.clone
    return JobSpec(
        kind=kind.value,
        job_class=class_of(project.required_capabilities, project.job_defaults, lock),
        repo=project.repo,
        payload=_payload(workflow, kind, project),
        labels={"workflow_id": str(workflow.id), "project_id": str(project.id)},
        timeout_s=project.job_defaults.timeout_s,
        attempts_max=project.job_defaults.attempts_max,
        dedupe_key=dedupe_key("workflow", workflow.id, kind, workflow.stage_attempt),
    )


def _payload(workflow: Workflow, kind: JobKind, project: Project) -> JsonObject:
    words = (_INSTRUCTIONS.get(kind, ""), workflow.prompt or workflow.title)
    payload: JsonObject = {
        "workflow_id": str(workflow.id),
        "stage": kind.value,
        "prompt": "\n\n".join(each for each in words if each),
        "repo": project.repo,
    }
    if project.local_directory:
        payload["local_directory"] = project.local_directory
    if workflow.pr_url is not None:
        payload["pr_url"] = workflow.pr_url
    if kind is JobKind.ADDRESS_REVIEW:
        payload["review_comments"] = list(workflow.review_comments)
    return payload
