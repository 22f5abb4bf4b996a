"""What the outcomes of a factory say is one rule, in SQL and in :mod:`app.health`.

``factory_read`` counts what :func:`app.health.derived_health` looks at: which outcomes, within
which time, how many of the newest. Over random histories, what is read is what the law says.
"""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.fleet import FactoryId, Outcome
from app.health import DEGRADED_OUTCOMES_MAX, DEGRADED_WINDOW, PastLease, derived_health
from app.runtime.ids import new_id
from app.store import factories
from app.store.session import Connection, Database
from tests.support.factories import database_now, register
from tests.support.postgres import Databases

MINUTE = timedelta(minutes=1)
DAY = DEGRADED_WINDOW // MINUTE

Histories: TypeAlias = Sequence[Sequence[tuple[Outcome, int]]]

about_a_day = st.one_of(
    st.integers(0, 30), st.integers(DAY - 5, DAY - 1), st.integers(DAY + 1, DAY + 5)
)
"""Minutes ago: lately, or about when it is forgotten; that moment is over before it is read."""

histories = st.one_of(
    st.lists(
        st.tuples(st.sampled_from(Outcome), about_a_day), max_size=9, unique_by=lambda each: each[1]
    ),
    st.lists(
        st.tuples(st.sampled_from((Outcome.SUCCEEDED, Outcome.FAILED)), st.integers(0, 99)),
        min_size=DEGRADED_OUTCOMES_MAX + 1,
        max_size=DEGRADED_OUTCOMES_MAX + 5,
        unique_by=lambda each: each[1],
    ),
)
"""How leases ended and when: any few, or more than count. No two at once: neither is the older."""


@pytest.fixture(scope="module")
def runner(databases: Databases) -> Iterator[tuple[asyncio.Runner, Database]]:
    """One database for all examples; each of them is undone."""
    with databases.fresh() as url, asyncio.Runner() as running:
        db = running.run(Database.open(url))
        yield running, db
        running.run(db.close())


@given(given_histories=st.lists(histories, min_size=4, max_size=6))
def test_what_is_read_of_factories_is_the_law(
    runner: tuple[asyncio.Runner, Database], given_histories: Histories
) -> None:
    async def work() -> None:
        past: dict[FactoryId, list[PastLease]] = {}
        async with db.connection() as conn:
            undone = conn.transaction()
            await undone.start()
            try:
                for number, history in enumerate(given_histories):
                    factory_id = await register(conn, f"f{number}")
                    past[factory_id] = await put(conn, factory_id, history)
                found = await factories.snapshot(conn, [*past])
                records = await factories.records(conn, [*past])
            finally:
                await undone.rollback()
        for facts, record in zip(found.factories, records, strict=True):
            due = derived_health(past[facts.factory.id], found.now)
            assert facts.factory.health is record.health is due

    running, db = runner
    running.run(work())


async def put(
    conn: Connection, factory_id: FactoryId, history: Sequence[tuple[Outcome, int]]
) -> list[PastLease]:
    """Store how leases ended, and that others began, which says nothing."""
    now = await database_now(conn)
    past = [
        PastLease(
            outcome=outcome,
            claimed_at=now - (minutes + 5) * MINUTE,
            ended_at=now - minutes * MINUTE,
        )
        for outcome, minutes in history
    ]
    await conn.executemany(
        "insert into job_event (job_id, event, factory_id, fence, outcome, claimed_at, at)"
        " values ($1, 'ended', $2, 1, $3, $4, $5), ($1, 'leased', $2, 1, null, null, $5)",
        [
            (new_id(), factory_id, each.outcome.value, each.claimed_at, each.ended_at)
            for each in past
        ],
    )
    return past
