"""Down the chain of what a job waits for, to the jobs that really hold it up.

A job waits for its unfinished parents and for the holder of its lock; those wait for others in
turn. What waits for nobody else is a *blocker*: until it moves, nothing in between does.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from app.fleet import JobId

BLOCKERS_MAX = 10


def blockers(
    job_id: JobId, waits_for: Mapping[JobId, Sequence[JobId]]
) -> tuple[tuple[JobId, ...], ...]:
    """The nearest blockers of a job, each as the shortest way to it, the job itself left out.

    A job that nothing holds up has none. Rings, which cannot be, end the search without harm.
    """
    ways: dict[JobId, tuple[JobId, ...]] = {job_id: ()}
    queue = deque([job_id])
    found: list[tuple[JobId, ...]] = []
    while queue and len(found) < BLOCKERS_MAX:
        here = queue.popleft()
        further = waits_for.get(here, ())
        if not further and here != job_id:
            found.append(ways[here])
        for each in further:
            if each not in ways:
                ways[each] = (*ways[here], each)
                queue.append(each)
    return tuple(found)
