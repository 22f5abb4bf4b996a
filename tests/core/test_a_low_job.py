"""Two hundred claims while important work keeps coming: the unimportant job is not forgotten."""

from datetime import timedelta

import pytest

from app.fleet import Job, Priority
from app.scheduler import select_job
from tests.strategies import NOW, make_class, make_context, make_factory, make_job

CLAIMS, WAITING = 200, 20
BOUND = timedelta(hours=24)
"""No job within its ceiling waits behind one that was created a day or more after it."""


@pytest.mark.parametrize("pause", [timedelta(minutes=10), timedelta(hours=1)])
def test_a_low_job_goes_out_within_the_bound(pause: timedelta) -> None:
    """C15: twenty important jobs wait at all times; each claim brings one more."""
    urgent = make_class(
        priority=Priority.CRITICAL, required=frozenset({"gpu"}), prefers_engine="claude"
    )
    machine = make_factory(
        capabilities=frozenset({"gpu"}),
        engines=frozenset({"claude"}),
        warm_repos=frozenset({"shop"}),
    )
    low = make_job(1, job_class=make_class(priority=Priority.LOW), created_at=NOW)
    queue: list[Job] = [low]
    taken: list[Job] = []
    for turn in range(CLAIMS):
        now = NOW + turn * pause
        while len(queue) < 1 + WAITING:
            number = 2 + turn * WAITING + len(queue)
            queue.append(make_job(number, job_class=urgent, repo="shop", created_at=now))
        best = select_job(queue, machine, make_context(now))
        assert best is not None
        queue.remove(best)
        if best is low:
            break
        taken.append(best)
    assert low not in queue
    assert [job for job in taken if job.created_at >= NOW + BOUND] == []
