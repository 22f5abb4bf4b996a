"""Hypotheses over rankings and recorded decisions."""

from dataclasses import replace
from datetime import timedelta

from app.fleet import DecisionId, FactoryId, Priority
from app.replay import Recorded
from app.runtime.ids import new_id
from app.scheduler import Theorem, Weights, rank
from app.what_if import Hypothesis, Move, Past, flips, moves, warnings
from tests.strategies import HOUR, NOW, job_id, make_context, make_factory, make_job

WARM = make_factory(warm_repos=frozenset({"shop"}))
IN_SHOP, OLDER = make_job(1, repo="shop", created_at=NOW), make_job(2, created_at=NOW - HOUR)


def test_weights_that_break_a_theorem_are_said_to() -> None:
    assert warnings(Weights()) == ()
    said = warnings(Weights(affinity=4))[0]
    assert said.startswith(Theorem.NO_STARVATION)


def test_moves_name_who_gains_and_who_waits() -> None:
    ctx = make_context()
    before = rank([IN_SHOP, OLDER], WARM, ctx)
    after = rank([IN_SHOP, OLDER, make_job(3)], WARM, ctx, Weights(affinity=0))
    assert moves(before, before) == ()
    assert set(moves(before, after)) == {
        Move(job_id=job_id(1), before=1, after=3),
        Move(job_id=job_id(2), before=2, after=1),
        Move(job_id=job_id(3), before=None, after=2),
    }


def past(minutes: int, picked: int, other: int) -> Past:
    at = NOW + timedelta(minutes=minutes)
    return Past(
        id=DecisionId(new_id()),
        at=at,
        facts=Recorded(
            factory=WARM,
            picked=replace(IN_SHOP, id=job_id(picked)),
            runners_up=(replace(OLDER, id=job_id(other)),),
            ctx=make_context(at),
        ),
    )


def test_past_decisions_flip_and_waits_grow() -> None:
    first, second = past(0, 1, 2), past(5, 2, 9)
    assert flips([second, first], Hypothesis()) == ()
    one, two = flips([second, first], Hypothesis(weights=Weights(affinity=0)))
    assert (one.job_id, one.instead) == (job_id(1), job_id(2))
    assert (one.longer, one.shorter) == (timedelta(minutes=5), timedelta(minutes=5))
    assert (two.instead, two.longer, two.shorter) == (job_id(9), None, None)


def test_a_changed_job_or_factory_flips_what_it_is_part_of() -> None:
    one = past(0, 1, 2)
    cold = Hypothesis(factory_id=WARM.id, factory_fields={"warm_repos": frozenset()})
    full = Hypothesis(factory_id=WARM.id, factory_fields={"seat_limit": 0})
    other = Hypothesis(factory_id=FactoryId("f9"), factory_fields={"seat_limit": 0})
    assert [each.instead for each in flips([one], cold)] == [job_id(2)]
    assert [each.instead for each in flips([one], full)] == [None]
    assert flips([one], other) == ()
    urgent = Hypothesis(
        job_id=job_id(2), job_fields={"repo": "shop"}, class_fields={"priority": Priority.HIGH}
    )
    assert [each.instead for each in flips([one], urgent)] == [job_id(2)]
