"""Jobs: submit, read and change them."""

from typing import Annotated

import orjson
from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api import accept, plain, plain_new, present
from app.api.answers import IfMatch, OnceKey, answer, etag, kept_plain, kept_written, of_kept, row
from app.api.calls import BODY_MAX, Call, Hot, Reply
from app.api.deps import Cursor, Db, JobIdPath, Limit, OpsOrClient
from app.api.document import headers_of, refusals
from app.api.routing import CheckedRoute
from app.coordinator.database import Connection, Database
from app.coordinator.edit import edit
from app.coordinator.once import Answer, Key, once
from app.coordinator.reads import JobFilter, get_job, job_events, list_jobs
from app.coordinator.submit import submit, submit_shown
from app.coordinator.submit_apart import submit_apart
from app.errors import (
    DependencyCycle,
    IdempotencyMismatch,
    ImpossibleTransition,
    Invalid,
    LostRace,
    NotFound,
    UnknownDependency,
    VersionMismatch,
    VersionRequired,
)
from app.fleet import FactoryId, JobId, JobState, Principal, Role
from app.wire.jobs import (
    JobBatch,
    JobEventPage,
    JobEventReply,
    JobPage,
    JobPatch,
    JobReply,
    JobSubmit,
    SubmittedBatch,
    SubmittedJob,
)
from app.wire.values import PAGE_DEFAULT, Name, PersonalId, Timestamp, Word

router = APIRouter(tags=["jobs"], route_class=CheckedRoute)

_SUBMITTING = refusals(DependencyCycle, UnknownDependency, IdempotencyMismatch, LostRace)

Label = Annotated[str, Query(min_length=3, max_length=700)]


@router.post(
    "/jobs",
    summary="Submit a job",
    status_code=201,
    response_model=SubmittedJob,
    responses=_SUBMITTING
    | {200: {"model": SubmittedJob, "description": "The job that has this `dedupe_key` already"}}
    | {201: {"headers": headers_of({"Location": "Where the job is."})}},
)
async def submit_job(body: JobSubmit, by: OpsOrClient, key: OnceKey, db: Db) -> Response:
    """Take in a job. A job that nobody can take is accepted all the same, with a warning."""
    return of_kept(await _take_in(db, body, by, key))


async def _take_in(db: Database, body: JobSubmit, by: Principal, key: Key | None) -> Answer:
    spec = accept.job(body)

    async def act(conn: Connection) -> Answer:
        taken = await submit(conn, spec, by=by)
        headers = {"Location": f"/jobs/{taken.job.id}", "ETag": etag(taken.job.version)}
        status = 201 if taken.created else 200
        return kept_plain(plain.submitted(taken), status=status, headers=headers)

    return await once(db, key, act)


async def _submit_job(call: Call[JobSubmit]) -> Reply | None:
    if call.key is not None:
        return None
    return _reply(await _take_in(call.tools.db, call.body, call.by, None))


@router.post(
    "/jobs/batch",
    summary="Submit up to 1,000 jobs, all or nothing",
    status_code=201,
    response_model=SubmittedBatch,
    responses=_SUBMITTING
    | {200: {"model": SubmittedBatch, "description": "Each has its `dedupe_key`'s job already"}},
)
async def submit_jobs(body: JobBatch, by: OpsOrClient, key: OnceKey, db: Db) -> Response:
    """Take in jobs that may depend on each other by `ref`; if one cannot be taken, none is."""
    return of_kept(await _take_in_all(db, body, by, key))


async def _take_in_all(db: Database, body: JobBatch, by: Principal, key: Key | None) -> Answer:
    apart = accept.apart(body.jobs)
    specs = () if apart else accept.batch(body.jobs)

    async def act(conn: Connection) -> Answer:
        reply = plain_new.Reply()
        if apart:
            taken = await submit_apart(conn, apart, by=by, view=reply.view)
        else:
            taken = await submit_shown(conn, specs, by=by, view=reply.view)
        status = 201 if taken.any_new else 200
        return kept_written(reply.written(taken), status=status, headers={})

    return await once(db, key, act)


async def _submit_jobs(call: Call[JobBatch]) -> Reply | None:
    if call.key is not None:
        return None
    return _reply(await _take_in_all(call.tools.db, call.body, call.by, None))


_SUBMITTERS = frozenset({Role.OPS, Role.CLIENT})

HOT = (
    Hot(
        path="/jobs",
        model=JobSubmit,
        act=_submit_job,
        roles=_SUBMITTERS,
        free=lambda body: (body.payload,),
        free_depth=1,
        free_texts=lambda body: (body.labels,),
    ),
    Hot(
        path="/jobs/batch",
        model=JobBatch,
        act=_submit_jobs,
        roles=_SUBMITTERS,
        free=lambda body: [job.payload for job in body.jobs],
        free_depth=3,
        free_texts=lambda body: [job.labels for job in body.jobs],
        bytes_max=BODY_MAX,
    ),
)


@router.get("/jobs", summary="List jobs", response_model=JobPage)
async def jobs_page(  # noqa: PLR0913 - each is a parameter of the call
    *,
    _by: OpsOrClient,
    db: Db,
    state: Annotated[
        JobState | None, Query(description="In this state; `dead` is the dead letter.")
    ] = None,
    kind: Annotated[Word | None, Query(description="Of this kind.")] = None,
    repo: Annotated[Name | None, Query(description="Of this repository.")] = None,
    factory_id: Annotated[
        PersonalId | None, Query(description="Held by this factory, now or last.")
    ] = None,
    label: Annotated[
        list[Label] | None,
        Query(
            max_length=16,
            description="With this label, as `name=value`; repeat it to ask for several.",
            examples=[["team=web"]],
        ),
    ] = None,
    since: Annotated[
        Timestamp | None, Query(description="Submitted at this time or later.")
    ] = None,
    until: Annotated[Timestamp | None, Query(description="Submitted before this time.")] = None,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """List jobs, newest first, with everything that is known of each."""
    wanted = JobFilter(
        state=state,
        kind=kind,
        repo=repo,
        factory_id=None if factory_id is None else FactoryId(factory_id),
        labels=dict(_label(each) for each in label or ()),
        since=since,
        until=until,
    )
    page = await list_jobs(db, wanted, cursor, limit)
    items = [present.job(each) for each in page.items]
    return answer(JobPage(items=items, next_cursor=page.next_cursor))


@router.get(
    "/jobs/{job_id}",
    summary="Read a job",
    response_model=JobReply,
    responses=refusals(NotFound),
)
async def job_read(job_id: JobIdPath, _by: OpsOrClient, db: Db) -> Response:
    """Read a job with everything that is known of it; `ETag` is its version."""
    return _job(present.job(await get_job(db, JobId(job_id))))


@router.get(
    "/jobs/{job_id}/events",
    summary="Read the history of a job",
    response_model=JobEventPage,
    responses=refusals(NotFound),
)
async def job_history(
    job_id: JobIdPath,
    _by: OpsOrClient,
    db: Db,
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response:
    """Read what happened to a job, oldest first: each claim and each end of a lease included."""
    page = await job_events(db, JobId(job_id), cursor, limit)
    items = [
        JobEventReply(
            at=each.at,
            event=each.event,
            factory_id=each.factory_id,
            fence=each.fence,
            outcome=each.outcome,
            by=each.by,
            detail=each.detail,
        )
        for each in page.items
    ]
    return answer(JobEventPage(items=items, next_cursor=page.next_cursor))


@router.patch(
    "/jobs/{job_id}",
    summary="Change a job",
    response_model=JobReply,
    responses=refusals(
        NotFound,
        VersionMismatch,
        VersionRequired,
        ImpossibleTransition,
        DependencyCycle,
        UnknownDependency,
        LostRace,
    ),
)
async def job_patch(
    job_id: JobIdPath, body: JobPatch, version: IfMatch, by: OpsOrClient, db: Db
) -> Response:
    """Change a job at the version that `If-Match` names; fields left out stay as they are.

    Priority and labels can be changed of any job, everything else only while no lease runs; such a
    change closes a fence that is still open. Its kind can never be changed.
    """
    changed = await edit(db, JobId(job_id), accept.patch(body), if_match=version, by=by)
    return _job(present.job(changed))


def _job(reply: JobReply) -> Response:
    return row(reply, reply.version)


def _reply(given: Answer) -> Reply:
    return Reply(
        status=given.status, body=orjson.dumps(given.body), headers=tuple(given.headers.items())
    )


def _label(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=" if "=" in text else ":")
    if not name or not found:
        message = "must read name=value"
        detail = f"label {message}."
        raise Invalid(detail, errors=[{"field": "label", "message": message}])
    return name, value
