"""Where a job is in its life, and what a claim would get, in words."""

from dataclasses import replace

from app.eligibility import Reason
from app.fleet import Context, Factory, FactoryId, Job, JobState, LockHolder
from app.scheduler import rejections
from app.sentences import (
    claim_headline,
    decision_headline,
    headline,
    pair_headline,
    sentence,
    state_sentence,
    told,
)
from tests.strategies import (
    HOUR,
    NOW,
    job_id,
    make_class,
    make_context,
    make_factory,
    make_job,
    make_standing,
)

F1 = FactoryId("f1")


def test_where_a_job_is() -> None:
    later, at = NOW + HOUR, "2026-03-01 13:00:00Z"
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
    for found, expected in said.items():
        assert found == expected


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


def test_what_a_claim_got() -> None:
    assert decision_headline(F1, "j (x)", total=580, rank=1, margin=20) == (
        "f1 got j (x) with a score of 580, 20 points ahead of the next."
    )
    assert decision_headline(F1, "j", total=1, rank=1, margin=None) == (
        "f1 got j with a score of 1, the only job looked at."
    )
    assert decision_headline(F1, "j", total=580, rank=2, margin=1) == (
        "f1 got j with a score of 580, 1 point ahead of the next, ranked 2 after lost races."
    )


def test_who_can_take_a_job() -> None:
    free, full = make_factory(), make_factory("f2", seats_used=1)
    lacking = make_factory("f3", seats_used=1)
    needs = make_class(required=frozenset({"git", "docker"}))

    def said(job: Job, *fleet: Factory, holder: FactoryId | None = None) -> str:
        verdicts = [rejections(job, each, make_context()) for each in fleet]
        return headline(job, verdicts, holder)

    assert said(make_job()) == "No factory is registered."
    assert said(make_job(), free) == "1 of 1 factory can take it."
    assert said(make_job(), free, full) == "1 of 2 factories can take it: 1 has no free seat."
    assert said(make_job(job_class=needs), full, lacking) == (
        "0 of 2 factories can take it: 2 have no free seat, 2 lack docker and git."
    )
    held = make_job(state=JobState.HELD, hold=make_standing())
    assert said(held, free, full) == (
        "No factory can take it now: the job is on hold (upgrade, by ann). Otherwise 1 of 2 could: "
        "1 has no free seat."
    )
    running = make_job(state=JobState.LEASED, lease_expires_at=NOW + HOUR)
    assert said(running, holder=F1) == "f1 has it."
    assert said(running, free, full, holder=F1) == (
        "f1 has it. Were it free, 1 of 2 others could take it: 1 has no free seat."
    )
    assert said(running, full, holder=F1).startswith("f1 has it. Were it free, 0 of 1 other could")
    assert said(make_job(state=JobState.SUCCEEDED), free) == (
        "No factory takes it any more: it succeeded."
    )
    assert said(make_job(state=JobState.DEAD), free) == (
        "Only a retry revives it. 1 of 1 factory could take it then."
    )


def test_that_a_job_is_not_ready_is_told_only_if_nothing_says_why() -> None:
    later = NOW + HOUR
    jobs = {
        (Reason.NOT_BEFORE,): make_job(state=JobState.SCHEDULED, run_after=later),
        (Reason.ON_HOLD,): make_job(state=JobState.HELD, hold=make_standing()),
        (Reason.PARENT_UNFINISHED,): make_job(
            state=JobState.BLOCKED, unfinished_parents=(job_id(7),)
        ),
        (Reason.NOT_READY,): make_job(state=JobState.SCHEDULED, run_after=NOW),
        (): make_job(),
    }
    for reasons, job in jobs.items():
        found = told(rejections(job, make_factory(), make_context()))
        assert tuple(each.reason for each in found) == reasons
    running = make_job(state=JobState.LEASED, lease_expires_at=later)
    (reason,) = told(rejections(running, make_factory(), make_context()))
    assert sentence(reason) == "it is running, until 2026-03-01 13:00:00Z"


def test_a_lock_is_told_with_whoever_holds_it() -> None:
    job = make_job(job_class=make_class(lock="clone"))
    holder = LockHolder(job_id=job_id(9), factory_id=F1)
    for holds, said in ((holder, f"{job_id(9)} at f1"), (replace(holder, factory_id=None), "")):
        context = Context(now=NOW, locks={"clone": holds})
        (reason,) = rejections(job, make_factory(), context)
        assert sentence(reason).startswith(f"its lock clone is held by {said or job_id(9)}")


def test_whether_a_factory_takes_a_job() -> None:
    full = rejections(make_job(), make_factory(seats_used=1), make_context())
    assert "cannot take" in pair_headline(F1, job_id(1), full, None)
    assert "could take" in pair_headline(F1, job_id(1), (), job_id(2))
    assert pair_headline(F1, job_id(1), (), None).startswith("The next claim of f1 gets ")
