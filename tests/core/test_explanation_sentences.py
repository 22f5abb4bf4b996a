"""Where a job is in its life, and what a claim would get, in words."""

from app.explanation import claim_headline, pair_headline, state_sentence
from app.fleet import FactoryId, JobState
from app.scheduler import rejections
from tests.strategies import (
    HOUR,
    NOW,
    job_id,
    make_context,
    make_factory,
    make_job,
    make_standing,
)

F1 = FactoryId("f1")


def test_where_a_job_is() -> None:
    later, at = NOW + HOUR, (NOW + HOUR).isoformat()
    parents = (job_id(7), job_id(8))
    said = {
        state_sentence(make_job(), None): "It is ready, and waits for a factory.",
        state_sentence(make_job(state=JobState.LEASED, lease_expires_at=later), F1): (
            f"It runs at f1; the lease runs until {at} unless it is renewed."
        ),
        state_sentence(make_job(state=JobState.LEASED), None): "It runs at a factory.",
        state_sentence(make_job(state=JobState.SCHEDULED, run_after=later), None): (
            f"It waits for its time, {at}."
        ),
        state_sentence(make_job(state=JobState.BLOCKED, unfinished_parents=parents), None): (
            "It waits for 2 jobs to end."
        ),
        state_sentence(make_job(state=JobState.HELD, hold=make_standing()), None): (
            "It is on hold (upgrade, by ann)."
        ),
        state_sentence(make_job(state=JobState.HELD, hold=make_standing(later)), None): (
            f"It is on hold (upgrade, by ann) until {at}."
        ),
        state_sentence(make_job(state=JobState.SUCCEEDED), F1): "It succeeded at f1.",
    }
    for sentence, expected in said.items():
        assert sentence == expected


def test_what_a_claim_would_get() -> None:
    busy = make_factory(seats_used=1)
    full = rejections(make_job(), busy, make_context())
    assert claim_headline(None, None, full) == (
        "Its next claim would get nothing: the factory has no free seat."
    )
    assert claim_headline(None, None, ()).endswith("no job waits that it may take now.")
    assert claim_headline(job_id(1), None, ()).endswith("the only job that it may take now.")
    assert claim_headline(job_id(1), 20, ()).endswith("20 points ahead of the next.")
    assert claim_headline(job_id(1), 0, ()).endswith("by a tie-break, for the next ties.")


def test_whether_a_factory_takes_a_job() -> None:
    full = rejections(make_job(), make_factory(seats_used=1), make_context())
    assert "cannot take" in pair_headline(F1, job_id(1), full, None)
    assert "could take" in pair_headline(F1, job_id(1), (), job_id(2))
    assert pair_headline(F1, job_id(1), (), None).startswith("The next claim of f1 gets ")
