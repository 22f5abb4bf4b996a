"""Down the chain, to the jobs that really hold one up."""

from app.blockers import BLOCKERS_MAX, blockers
from tests.strategies import job_id


def test_a_job_that_waits_for_nobody_has_no_blocker() -> None:
    assert blockers(job_id(1), {}) == ()


def test_the_nearest_blockers_come_first_each_by_its_shortest_way() -> None:
    waits_for = {
        job_id(1): [job_id(2), job_id(3)],
        job_id(2): [job_id(4)],
        job_id(4): [job_id(5), job_id(3)],
    }
    ways = blockers(job_id(1), waits_for)
    assert ways == ((job_id(3),), (job_id(2), job_id(4), job_id(5)))


def test_rings_and_crowds_end_the_search() -> None:
    assert blockers(job_id(1), {job_id(1): [job_id(2)], job_id(2): [job_id(1)]}) == ()
    many = {job_id(1): [job_id(number) for number in range(2, 50)]}
    assert len(blockers(job_id(1), many)) == BLOCKERS_MAX
