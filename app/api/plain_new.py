"""Replies to submissions, written: what :mod:`app.api.plain` says, for many jobs at once.

The first job of a class is shown in full; those that follow differ from it in few members. Where
all are new, the reply is written while PostgreSQL stores them.
"""

from collections.abc import Sequence
from datetime import datetime

from app.api import plain
from app.api.calls import as_json
from app.api.plain import Plain
from app.coordinator.submit import NewJob, Shown, Submitted, View, as_inserted
from app.fleet import ClassId, JobRecord, JobState
from app.tick_jobs import shown_key


class Reply:
    """The reply to one submission, as :class:`app.wire.jobs.SubmittedBatch` says."""

    def __init__(self) -> None:
        """Know nothing yet; :attr:`view` is what tells."""
        self.view = View(new=self._new, stored=_stored, all_new=self._all_new)
        self._like: dict[ClassId, Plain] = {}
        self._written = b""

    def written(self, taken: Shown[Plain]) -> bytes:
        """Write the reply as JSON."""
        return self._written if taken.all_new else _write(taken.answers)

    def _all_new(self, jobs: Sequence[Plain]) -> None:
        self._written = _write(jobs)

    def _new(self, job: NewJob, now: datetime, warnings: tuple[str, ...]) -> Plain:
        first = self._like.get(job.class_id)
        spec = job.spec
        if job.state is JobState.CANCELLED or spec.run_after is not None:
            return _whole(job, now, warnings)
        if first is None:
            first = self._like[job.class_id] = _whole(job, now, warnings)
        return {
            **first,
            "id": job.id,
            "kind": spec.kind,
            "state": job.state,
            "repo": spec.repo,
            "payload": spec.payload,
            "depends_on": sorted(job.depends_on),
            "if_parent_fails": spec.if_parent_fails,
            "timeout_s": spec.timeout_s,
            "max_attempts": spec.attempts_max,
            "dedupe_key": shown_key(spec.dedupe_key),
            "labels": spec.labels,
            "warnings": warnings,
        }


def _write(jobs: Sequence[Plain]) -> bytes:
    return as_json({"jobs": jobs})


def _whole(job: NewJob, now: datetime, warnings: tuple[str, ...]) -> Plain:
    return plain.submitted(Submitted(job=as_inserted(job, now), created=True, warnings=warnings))


def _stored(job: JobRecord) -> Plain:
    return plain.submitted(Submitted(job=job, created=False))
