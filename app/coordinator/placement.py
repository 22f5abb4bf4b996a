"""Where a job belongs, given its parents: the rule for jobs that are new."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.fleet import FINISHED, IfParentFails, JobId, JobState
from app.life import rest_state

FAILED = frozenset({JobState.DEAD, JobState.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A state, how many parents are unfinished, and the parent that cancels the job, if any."""

    state: JobState
    parents_left: int
    because_of: JobId | None = None


def place(
    parents: Mapping[JobId, JobState],
    *,
    if_parent_fails: IfParentFails,
    run_after: datetime | None,
    now: datetime,
) -> Place:
    """Place a new job under ``parents``, as they are now.

    A parent that is dead or cancelled already cancels it as one that ends so later would.
    """
    left = sum(state not in FINISHED for state in parents.values())
    failed = min((parent for parent, state in parents.items() if state in FAILED), default=None)
    if failed is not None and if_parent_fails is IfParentFails.CANCEL:
        return Place(state=JobState.CANCELLED, parents_left=left, because_of=failed)
    state = rest_state(unfinished_parents=left, run_after=run_after, now=now)
    return Place(state=state, parents_left=left)
