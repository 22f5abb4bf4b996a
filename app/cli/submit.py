"""``fleet submit``: a job by flags, by JSON, or as a Markdown file; flags win over the file."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import typer
from pydantic import BaseModel, ValidationError

from app.cli.connection import AsJson, DataDir, ask
from app.cli.durations import duration_s
from app.cli.errors import CliError, NobodyCanTakeItError
from app.cli.job_flags import (
    After,
    Capability,
    Cost,
    Cwd,
    DedupeKey,
    Engine,
    IdempotencyKey,
    IfParentFails,
    JobFile,
    JsonFile,
    Kind,
    Label,
    Lock,
    MaxAttempts,
    Payload,
    Priority,
    Prompt,
    Repo,
    RunAfter,
    Timeout,
    Yolo,
)
from app.cli.jobfile import JobFileError, parse_job_file, require_yolo
from app.cli.screen import emit_json, warn
from app.fleet import Json, JsonObject
from app.sdk import FleetClient
from app.wire.faults import faults_of
from app.wire.jobs import JobBatch, JobSubmit, SubmittedBatch, SubmittedJob

_STDIN: Final = "-"


def submit(  # noqa: PLR0913 - a flag is an argument
    *,
    file: JobFile = None,
    json_file: JsonFile = None,
    kind: Kind = None,
    repo: Repo = None,
    prompt: Prompt = None,
    payload: Payload = None,
    cwd: Cwd = None,
    yolo: Yolo = None,
    engine: Engine = None,
    capability: Capability = None,
    priority: Priority = None,
    cost: Cost = None,
    lock: Lock = None,
    after: After = None,
    if_parent_fails: IfParentFails = None,
    run_after: RunAfter = None,
    timeout: Timeout = None,
    max_attempts: MaxAttempts = None,
    dedupe_key: DedupeKey = None,
    label: Label = None,
    idempotency_key: IdempotencyKey = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Submit a job: by flags, as JSON, or as a Markdown file.

    Exit code 0: accepted. 1: not accepted. 2: accepted, but nobody known could ever take it.
    """
    flags: dict[str, Json] = {
        "kind": kind,
        "repo": repo,
        "prefers_engine": engine,
        "required_capabilities": list(capability) if capability else None,
        "priority": priority,
        "cost_class": cost,
        "lock": lock,
        "depends_on": list(after) if after else None,
        "if_parent_fails": if_parent_fails,
        "run_after": run_after,
        "timeout_s": _seconds(timeout),
        "max_attempts": max_attempts,
        "dedupe_key": dedupe_key,
        "labels": _labels(label),
    }
    extra: dict[str, Json] = {"prompt": prompt, "cwd": cwd, "yolo": yolo}
    body = _body(_document(file, json_file), _given(flags), {**_payload(payload), **_given(extra)})
    _show(_send(body, idempotency_key, data_dir), as_json=as_json)


def _given(flags: Mapping[str, Json]) -> JsonObject:
    return {name: value for name, value in flags.items() if value is not None}


def _body(
    document: JsonObject | list[Json], flags: JsonObject, payload: JsonObject
) -> JobSubmit | JobBatch:
    if not isinstance(document, list):
        return _valid(JobSubmit, _merged(document, flags, payload))
    if flags or payload:
        message = "flags describe one job, and the JSON is a list of jobs"
        raise CliError(message)
    return _valid(JobBatch, {"jobs": document})


def _document(file: Path | None, json_file: str | None) -> JsonObject | list[Json]:
    """Read what the job is made of, apart from flags."""
    if file is not None and json_file is not None:
        message = "give a Markdown file or --json-file, not both"
        raise CliError(message)
    if json_file is not None:
        return _jobs(_parsed(_text(json_file), "the JSON"))
    if file is None:
        return {}
    try:
        return parse_job_file(_text(str(file)))
    except JobFileError as error:
        message = f"{file}: {error}"
        raise CliError(message) from None


def _jobs(found: Json) -> JsonObject | list[Json]:
    if isinstance(found, dict) and set(found) == {"jobs"}:
        found = found["jobs"]
    if isinstance(found, dict | list):
        return found
    message = "the JSON must be a job or a list of jobs"
    raise CliError(message)


def _text(path: str) -> str:
    try:
        if path == _STDIN:
            return sys.stdin.buffer.read().decode()
        return Path(path).expanduser().read_bytes().decode()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise CliError(message) from None
    except UnicodeDecodeError:
        message = f"{path} is not text in UTF-8"
        raise CliError(message) from None


def _parsed(text: str, what: str) -> Json:
    try:
        found: Json = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{what} is not JSON: {error}"
        raise CliError(message) from None
    return found


def _payload(text: str | None) -> JsonObject:
    if text is None:
        return {}
    found = _parsed(text, "--payload")
    if isinstance(found, dict):
        return found
    message = "--payload must be a JSON object"
    raise CliError(message)


def _seconds(text: str | None) -> int | None:
    try:
        return None if text is None else duration_s(text)
    except ValueError as error:
        message = f"--timeout: {error}"
        raise CliError(message) from None


def _labels(given: list[str] | None) -> Json:
    if not given:
        return None
    labels: JsonObject = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not (name and sign):
            message = f"--label must be name=value, not {each!r}"
            raise CliError(message)
        labels[name] = value
    return labels


def _merged(document: JsonObject, flags: Mapping[str, Json], payload: JsonObject) -> JsonObject:
    """Lay flags over the document; payloads and labels are joined member by member."""
    job: JsonObject = {**document, **flags}
    for name, more in (("payload", payload), ("labels", flags.get("labels") or {})):
        base = document.get(name)
        if isinstance(base, dict) and isinstance(more, dict):
            job[name] = {**base, **more}
        elif more:
            job[name] = more
    if payload.get("yolo") is True:
        require_yolo(job)
    if "kind" not in job:
        message = "what kind of job is it? Give --kind, a Markdown file, or --json-file"
        raise CliError(message)
    return job


def _valid(model: type[JobSubmit] | type[JobBatch], given: JsonObject) -> JobSubmit | JobBatch:
    """Check it here as the coordinator would, so that the answer comes at once."""
    try:
        return model.model_validate_json(json.dumps(given))
    except ValidationError as error:
        message = f"this is not a job: {'; '.join(faults_of(error))}"
        raise CliError(message) from None


def _send(
    body: JobSubmit | JobBatch, key: str | None, data_dir: Path | None
) -> SubmittedJob | SubmittedBatch:
    async def act(fleet: FleetClient) -> SubmittedJob | SubmittedBatch:
        if isinstance(body, JobBatch):
            return await fleet.jobs.submit_batch(body, key=key)
        return await fleet.jobs.submit(body, key=key)

    try:
        return ask("client", data_dir, act)
    except ValueError as error:
        raise CliError(str(error)) from None


def _show(answer: SubmittedJob | SubmittedBatch, *, as_json: bool) -> None:
    jobs = answer.jobs if isinstance(answer, SubmittedBatch) else [answer]
    if as_json:
        shown: BaseModel = answer
        emit_json(shown)
    else:
        for job in jobs:
            typer.echo(f"{job.id} {job.kind} {job.state}")
    warnings = [f"warning: {job.id}: {each}" for job in jobs for each in job.warnings]
    for each in warnings:
        warn(each)
    if warnings:
        raise NobodyCanTakeItError
