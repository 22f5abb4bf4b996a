"""Replies to submissions, written for many at once, against the reply for each one."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from app.api import plain
from app.api.calls import as_json
from app.api.plain_new import Reply
from app.coordinator.submit import NewJob, Shown, Submitted, as_inserted
from app.fleet import ClassId, IfParentFails, JobClass, JobId, JobSpec, JobState
from tests.strategies import job_classes

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
_words = st.text("abcé ", max_size=4)
_perhaps = st.none() | _words
_times = st.none() | st.just(datetime(2030, 1, 1, tzinfo=UTC))
_ids = st.uuids().map(JobId)
_specs = st.builds(
    JobSpec,
    kind=_words,
    job_class=job_classes,
    repo=_perhaps,
    payload=st.dictionaries(_words, st.integers(0, 9), max_size=2),
    labels=st.dictionaries(_words, _words, max_size=2),
    if_parent_fails=st.sampled_from(IfParentFails),
    run_after=_times,
    timeout_s=st.integers(1, 9),
    attempts_max=st.integers(1, 9),
    dedupe_key=_perhaps,
)
_new = st.builds(
    NewJob,
    id=_ids,
    class_id=st.just(ClassId(0)),
    spec=_specs,
    depends_on=st.frozensets(_ids, max_size=2),
    state=st.sampled_from([JobState.READY, JobState.BLOCKED, JobState.CANCELLED]),
    parents_left=st.integers(0, 2),
    cancelled_by_parent=st.none(),
)


def _classed(jobs: list[NewJob]) -> list[NewJob]:
    """Give each class an id of its own, as they have in the database."""
    numbers = count()
    ids: dict[JobClass, ClassId] = {}
    for job in jobs:
        ids.setdefault(job.spec.job_class, ClassId(next(numbers)))
    return [job._replace(class_id=ids[job.spec.job_class]) for job in jobs]


@given(jobs=st.lists(_new, min_size=1, max_size=6).map(_classed), mixed=st.booleans())
def test_many_at_once_read_like_each_one(jobs: list[NewJob], *, mixed: bool) -> None:
    def warned(job: NewJob) -> tuple[str, ...]:
        return () if job.state is JobState.CANCELLED else (f"class {job.class_id}",)

    reply = Reply()
    shown: list[dict[str, Any]] = [reply.view.new(job, NOW, warned(job)) for job in jobs]
    each = [
        Submitted(job=as_inserted(job, NOW), created=True, warnings=warned(job)) for job in jobs
    ]
    if mixed:
        stored = as_inserted(jobs[0], NOW)
        shown.append(reply.view.stored(stored))
        each.append(Submitted(job=stored, created=False))
    else:
        reply.view.all_new(shown)
    taken = Shown(answers=tuple(shown), any_new=True, all_new=not mixed)
    expected = as_json({"jobs": [plain.submitted(one) for one in each]})
    assert orjson.loads(reply.written(taken)) == orjson.loads(expected)
