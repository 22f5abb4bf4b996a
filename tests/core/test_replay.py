"""A record, read back and decided again."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given

from app.explanation import decision_record
from app.fleet import Context, Job
from app.replay import Difference, decide, recorded, replay
from app.scheduler import Seeker, Weights, match
from tests.strategies import crowds, make_context, make_factory, make_job, queues


def stored(record: Any) -> Any:  # noqa: ANN401 - JSON
    return json.loads(json.dumps(record))


@given(queue=queues(max_size=20), crowd=crowds(min_size=1))
def test_every_decision_of_a_batch_replays_identically(
    queue: list[Job], crowd: list[Seeker]
) -> None:
    ctx: Context = make_context()
    factories = {seeker.factory.id: seeker.factory for seeker in crowd}
    for pick in match(crowd, queue, ctx):
        factory = factories[pick.factory_id]
        record = stored(decision_record(pick, factory, ctx))
        assert replay(record) == ()
        assert recorded(record).factory == replace(
            factory, last_seen_at=ctx.now, drain=None, pause=None, quarantined_until=None
        )
        factories[pick.factory_id] = replace(factory, seats_used=factory.seats_used + 1)


def test_other_weights_say_what_differs() -> None:
    factory, ctx = make_factory(warm_repos=frozenset({"shop"})), make_context()
    queue = [make_job(1, repo="shop"), make_job(2, repo="blog")]
    (pick,) = match([Seeker(factory=factory)], queue, ctx)
    record = stored(decision_record(pick, factory, ctx))
    found = replay(record, Weights(affinity=0))
    assert [each.field for each in found] == ["score", "margin"]
    assert found[1] == Difference(field="margin", recorded=100, now=0)


def test_a_record_that_nobody_could_have_made_is_said_to_differ() -> None:
    factory, ctx = make_factory(), make_context()
    (pick,) = match([Seeker(factory=factory)], [make_job(1)], ctx)
    record = stored(decision_record(pick, factory, ctx))
    record["factory"]["seats_used"] = 1
    assert decide(recorded(record)) is None
    assert [each.field for each in replay(record)] == ["job_id", "score"]
