"""Submit many jobs that have nothing to do with each other: most of all bulk submissions.

They wait for nobody and have no dedupe key, so that nothing about them has to be looked up but
their classes. Each piece of them is read and placed while the pieces before it are stored.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.coordinator.placement import place
from app.coordinator.submit import Shown, T, View, classed, show
from app.fleet import IfParentFails, JobClass, JobId, JobSpec, JobState, Principal
from app.runtime.ids import new_id
from app.store.newcomers import NewJob, insert_in_steps, steps
from app.store.offers import ClassKey
from app.store.session import Connection
from app.store.wake import wake

_NOBODY: frozenset[JobId] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Jobs that wait for nobody and have no dedupe key, each read when it is its turn."""

    job_classes: Sequence[JobClass]
    spec: Callable[[int], JobSpec]


async def submit_apart(conn: Connection, jobs: Apart, *, by: Principal, view: View[T]) -> Shown[T]:
    """Take in such jobs, all or none; they are answered as a view shows them, in their order.

    Raises:
        Moved: a class of theirs was pruned meanwhile; the caller's transaction must begin again.
    """
    key_of, prospects = await classed(conn, jobs.job_classes)
    made: list[NewJob] = []
    shown: list[T] = []

    def pieces() -> Iterator[Sequence[NewJob]]:
        for step in steps(len(jobs.job_classes)):
            piece = _new(jobs, key_of, step, prospects.now)
            made.extend(piece)
            yield piece

    def meanwhile() -> None:
        show(made, prospects, view, shown)
        view.all_new(shown)

    await insert_in_steps(conn, pieces(), prospects.now, by=by.name, meanwhile=meanwhile)
    await wake(conn, {job.class_id for job in made if job.state is JobState.READY})
    return Shown(answers=tuple(shown), any_new=True, all_new=True)


def _new(jobs: Apart, key_of: dict[int, ClassKey], step: range, now: datetime) -> list[NewJob]:
    """Read and place the jobs of a step."""
    made = []
    for number in step:
        spec = jobs.spec(number)
        state = JobState.READY
        if spec.run_after is not None:
            state = place(
                {}, if_parent_fails=IfParentFails.CANCEL, run_after=spec.run_after, now=now
            ).state
        key = key_of[id(jobs.job_classes[number])]
        made.append(NewJob(JobId(new_id()), *key, spec, _NOBODY, state, 0, None))
    return made
