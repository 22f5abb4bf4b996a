"""Plain values against the models of the wire: the same members, the same JSON."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from app.api import plain
from app.api.calls import written
from app.coordinator.claim import Claim
from app.coordinator.heartbeat import HeartbeatAnswer
from app.coordinator.receipts import FinishOutcome, Settled
from app.coordinator.renew import LeaseAnswer, RenewOutcome
from app.coordinator.submit import Submitted
from app.fleet import (
    DecisionId,
    FactoryId,
    IfParentFails,
    JobId,
    JobRecord,
    JobState,
    Json,
    Standing,
)
from app.scoring import Score, Terms
from app.wire.claims import ClaimsReply, CompleteLeasesReply, CompleteReply, SettledReply
from app.wire.factories import HeartbeatReply, LeaseReply
from app.wire.jobs import SubmittedJob
from tests.strategies import job_classes

_times = st.datetimes(datetime(1970, 1, 2), datetime(9998, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
_perhaps_times = st.none() | _times
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
_perhaps_texts = st.none() | _texts
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts
)
_json: st.SearchStrategy[Json] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_numbers = st.integers(0, 2**62)
_job_ids = st.uuids().map(JobId)
_factories = st.sampled_from(["f1", "f é/2"]).map(FactoryId)
_records = st.builds(
    JobRecord,
    id=_job_ids,
    version=_numbers,
    kind=_texts,
    state=st.sampled_from(JobState),
    job_class=job_classes,
    repo=_perhaps_texts,
    payload=st.dictionaries(_texts, _json, max_size=3),
    labels=st.dictionaries(_texts, _texts, max_size=2),
    depends_on=st.lists(_job_ids, max_size=2).map(tuple),
    if_parent_fails=st.sampled_from(IfParentFails),
    run_after=_perhaps_times,
    timeout_s=_numbers,
    attempts=_numbers,
    attempts_max=_numbers,
    dedupe_key=_perhaps_texts,
    hold=st.none() | st.builds(Standing, reason=_texts, by=_texts, until=_perhaps_times),
    factory_id=st.none() | _factories,
    fence=_numbers,
    fence_open=st.booleans(),
    claimed_at=_perhaps_times,
    lease_expires_at=_perhaps_times,
    cancel_requested=st.booleans(),
    result=_json,
    error=_perhaps_texts,
    created_at=_times,
    updated_at=_times,
    finished_at=_perhaps_times,
)
_terms = st.builds(Terms, **dict.fromkeys(Terms.__dataclass_fields__, st.integers(-600, 600)))
_claims = st.builds(
    Claim,
    job=_records,
    fence=_numbers,
    expires_at=_times,
    next_heartbeat_s=_numbers,
    score=st.builds(Score, total=st.integers(-5000, 5000), breakdown=_terms, percents=_terms),
    decision_id=st.uuids().map(DecisionId),
)
_settled = st.builds(
    FinishOutcome,
    job_id=_job_ids,
    outcome=st.sampled_from(Settled),
    state=st.sampled_from(JobState),
    version=_numbers,
    replayed=st.booleans(),
)
_unknown = st.builds(FinishOutcome, job_id=_job_ids, outcome=st.just(Settled.NOT_FOUND))
_renewed = st.builds(
    LeaseAnswer,
    job_id=_job_ids,
    fence=_numbers,
    outcome=st.sampled_from(RenewOutcome),
    expires_at=_perhaps_times,
)


def _assert_is(reply: object, model: type[BaseModel]) -> None:
    """What is written reads as the model, and the model writes the same of it."""
    body = written(reply).body
    again = model.model_validate_json(body).model_dump_json()
    assert json.loads(body) == json.loads(again)


@given(won=st.lists(_claims, min_size=1, max_size=2))
def test_claims(won: list[Claim]) -> None:
    _assert_is({"claims": [plain.claim(each) for each in won]}, ClaimsReply)


@given(record=_records, warnings=st.lists(_texts, max_size=2).map(tuple))
def test_submissions(record: JobRecord, warnings: tuple[str, ...]) -> None:
    taken = Submitted(job=record, created=True, warnings=warnings)
    _assert_is(plain.submitted(taken), SubmittedJob)


@given(outcome=_settled, won=st.lists(_claims, max_size=1))
def test_reports(outcome: FinishOutcome, won: list[Claim]) -> None:
    settled = plain.settled(outcome)
    _assert_is(settled, SettledReply)
    _assert_is({**settled, "claims": [plain.claim(each) for each in won]}, CompleteReply)


@given(outcomes=st.lists(_settled | _unknown, max_size=3))
def test_several_reports(outcomes: list[FinishOutcome]) -> None:
    listed = [plain.lease_outcome(each) for each in outcomes]
    _assert_is({"outcomes": listed, "claims": []}, CompleteLeasesReply)


@given(renewed=_renewed)
def test_renewals(renewed: LeaseAnswer) -> None:
    _assert_is(plain.lease(renewed), LeaseReply)


@given(
    heard=st.builds(
        HeartbeatAnswer,
        leases=st.lists(_renewed, max_size=3).map(tuple),
        drain=st.booleans(),
        next_heartbeat_s=_numbers,
    )
)
def test_heartbeats(heard: HeartbeatAnswer) -> None:
    _assert_is(plain.heartbeat(heard), HeartbeatReply)


def test_times_are_written_as_people_read_them() -> None:
    at = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    renewed = LeaseAnswer(
        job_id=JobId(UUID(int=1)),
        fence=1,
        outcome=RenewOutcome.RENEWED,
        expires_at=at + timedelta(microseconds=120_000),
    )
    assert json.loads(written(plain.lease(renewed)).body) == {
        "job_id": "00000000-0000-0000-0000-000000000001",
        "outcome": "renewed",
        "expires_at": "2026-03-01T09:30:00.120000Z",
    }
